"""What a worker holds: rows, and the rank that folds them. It knows no engine, but only calls and their answers."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import warnings
import weakref
from collections import defaultdict, deque
from typing import Any, NamedTuple

import numpy as np

from .. import _shoal
from .._input import Data, as_data


# A rank that computes for longer says what it has to say so far: one that waits for nobody would else report at its end.
BUSY_SECONDS = 0.25


class Mapped(NamedTuple):
    """Rows [first, end) of a .npy file, which is mapped where they are needed."""

    path: str
    first: int
    end: int

    def rows(self) -> np.ndarray:
        return np.load(self.path, mmap_mode="r")[self.first : self.end]


class Slice(NamedTuple):
    """Rows [first, end) of a part, wherever it came from."""

    part: Any
    first: int
    end: int

    def rows(self) -> np.ndarray:
        array = self.part
        if hasattr(array, "rows"):
            array = array.rows()
        elif hasattr(array, "to_numpy"):
            array = array.to_numpy()
        array = np.asarray(array)
        cut = array[self.first : self.end]
        # A few rows must not keep a large part in memory.
        return cut.copy() if 2 * len(cut) < len(array) and not isinstance(array, np.memmap) else cut


class Task(NamedTuple):
    """A call of an estimator that all ranks make."""

    estimator: Any
    method: str
    size: int  # ranks, with the one that leads
    total: int  # rows of all
    columns: int
    float32: bool
    weighted: bool
    led: bool = True  # rank 0 is who leads; else the first holder is rank 0


class Heard(NamedTuple):
    """What a rank has said since it was asked last, and what it waits for."""

    words: list  # of (to, bytes)
    waits_for: int | None  # a rank; itself: it computes; None: it has ended
    error: BaseException | None
    missing: tuple[int, int] | None  # rows that a fold asked for, and that are not here


class Devices(NamedTuple):
    """The GPUs that a process sees."""

    number: int
    visible: str | None  # CUDA_VISIBLE_DEVICES


class Made(NamedTuple):
    """What the first rank's call gave, where no rank is who leads."""

    estimator: Any
    found: Any
    fitted: bool  # it returned the estimator
    warned: list  # of (message, category)


class Stopped(Exception):
    """Nobody waits for this rank's words any more."""


def shared_data(task: Task, ranks, rows=(), weights=(), first=0, weights_first=0) -> Data:
    """All rows, of which this rank holds those that are given, from `first` on."""
    scalar = np.float32 if task.float32 else np.float64
    parts = [as_data(part, None, scalar.__name__, None).rows for part in rows]
    columns = [as_data(part.reshape(-1, 1), None, "float64", None).rows for part in weights] if task.weighted else None
    made = _shoal.Rows(
        parts,
        columns,
        columns=task.columns,
        float32=task.float32,
        first=first,
        weights_first=weights_first,
        total=task.total,
        ranks=ranks,
    )
    return Data(made, task.total, task.columns, scalar, None, shared=True)


class Holder:
    """Rows on one worker. `slices` and `weights` lie one below the other, from row `first` and `weights_first` on."""

    def __init__(self, rank, slices, weights, first, weights_first, threads):
        self._run: _Run | None = None
        self._rank = rank
        self._rows = [part for part in (Slice(*each).rows() for each in slices) if len(part)]
        self._weights = [part for part in (Slice(*each).rows() for each in weights) if len(part)]
        self._place = (first, weights_first)
        self._threads = threads

    def __del__(self):
        # Whoever led may have been killed; the rank's thread would wait for words, and keep its rows.
        if self._run is not None:
            self._run.stop()

    def runner(self) -> tuple:
        return _shoal.runner()

    def devices(self) -> Devices:
        return Devices(len(_shoal.cuda_devices()), os.environ.get("CUDA_VISIBLE_DEVICES"))

    def begin(self, task: Task) -> Heard:
        """Makes the call, and returns as exchange() does."""
        self.stop()
        self._run = _Run(self._rank, task, self._rows, self._weights, self._place, self._threads)
        return self._run.exchange(())

    def exchange(self, words) -> Heard:
        """Hands over words, as (from, bytes), and returns when the rank waits for others, has ended, or is busy for long."""
        assert self._run is not None
        return self._run.exchange(words)

    def made(self) -> Made:
        """What a call that has ended gave."""
        assert self._run is not None and self._run.made is not None
        return self._run.made

    def stop(self) -> None:
        """Ends the call, if there is one, and waits until it has ended."""
        if self._run is not None:
            self._run.stop()
            self._run.thread.join()
            self._run = None


class _Warnings:
    """Keeps what each rank warns of. warnings.catch_warnings() is of all threads, and its users must end in the order
    of a stack; ranks that are threads of one process end in any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._warned: dict = {}  # [thread]
        self._outer = contextlib.ExitStack()

    @contextlib.contextmanager
    def of_this_thread(self):
        """A list of (message, category), which is filled meanwhile."""
        own, thread = [], threading.get_ident()
        with self._lock:
            if not self._warned:
                self._outer.enter_context(warnings.catch_warnings())
                warnings.simplefilter("always")
                warnings.showwarning = self._shown_by(warnings.showwarning)
            self._warned[thread] = own
        try:
            yield own
        finally:
            with self._lock:
                del self._warned[thread]
                if not self._warned:
                    self._outer.close()

    def _shown_by(self, others):
        def show(message, category, *place, **named):
            warned = self._warned.get(threading.get_ident())
            if warned is None:
                others(message, category, *place, **named)
            else:
                warned.append((str(message), category))

        return show


_warnings = _Warnings()
_runs: weakref.WeakSet = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    for run in list(_runs):
        run.stop()


class _Run:
    """A call on its way in a thread of its own, which speaks with the other ranks through exchange()."""

    def __init__(self, rank, task: Task, rows, weights, place, threads):
        self._changed = threading.Condition()
        self._heard: dict = defaultdict(deque)
        self._said: list = []
        self._waits_for: int | None = None
        self._stopped = False
        self._ended = False
        self._error: BaseException | None = None
        self._missing: tuple[int, int] | None = None
        self._rank = rank if task.led else rank - 1
        self.made: Made | None = None
        self._call = (task, rows, weights, place, threads)
        _runs.add(self)
        self.thread = threading.Thread(target=self._work, name=f"shoal rank {rank}", daemon=True)
        self.thread.start()

    def _work(self) -> None:
        task, rows, weights, place, threads = self._call
        try:
            ranks = _shoal.Ranks(self._rank, task.size, task.led, weakref.proxy(self))
            data = shared_data(task, ranks, rows, weights, *place)
            if task.estimator.threads is None and threads is not None:
                task.estimator.threads = threads
            with _warnings.of_this_thread() as warned:  # who leads says them
                found = getattr(task.estimator, task.method)(data)
            if self._rank == 0:
                fitted = found is task.estimator
                self.made = Made(task.estimator, None if fitted else found, fitted, warned)
        except LookupError as error:
            if len(error.args) != 2:
                self._error = error.with_traceback(None)
            self._missing = error.args if len(error.args) == 2 else None
        except BaseException as error:  # noqa: BLE001 - told to who leads
            self._error = error.with_traceback(None)
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    # Called by the library, in the call's thread.

    def send(self, to: int, words: bytes) -> None:
        with self._changed:
            if self._stopped:
                raise Stopped
            self._said.append((to, words))

    def receive(self, sender: int) -> bytes:
        with self._changed:
            heard = self._heard[sender]
            self._waits_for = sender
            self._changed.notify_all()
            self._changed.wait_for(lambda: heard or self._stopped)
            if self._stopped:
                raise Stopped
            self._waits_for = None
            return heard.popleft()

    # Called by whoever holds this rank.

    def exchange(self, words) -> Heard:
        with self._changed:
            for sender, each in words:
                self._heard[sender].append(each)
            self._changed.notify_all()
            idle = self._changed.wait_for(self._is_idle, BUSY_SECONDS)
            said, self._said = self._said, []
            waits_for = None if self._ended else self._waits_for if idle else self._rank
            return Heard(said, waits_for, self._error, self._missing)

    def _is_idle(self) -> bool:
        return self._ended or (self._waits_for is not None and not self._heard[self._waits_for])

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
