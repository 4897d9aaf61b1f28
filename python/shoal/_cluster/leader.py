"""Who leads ranks on workers: rank 0, which holds the model and the fitting loop, and remakes what is lost."""

from __future__ import annotations

import contextlib
import copy
import tempfile
import time
import warnings
import weakref
from collections import Counter, defaultdict, deque
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import _shoal
from .engine import Engine, Worker, WorkerLost
from .holder import Devices, Heard, Made, Task, shared_data

# A partition whose workers are lost so often is what they are lost of.
MOST_LOSSES = 3
# How long a call is waited for before its worker is asked after.
POLL_SECONDS = 0.25
# How long a holder is waited for that nobody needs any more.
STOP_SECONDS = 2
# How long a new worker is waited for when one was lost; then another one takes its rows too.
NEW_WORKER_SECONDS = 1.5
# How long any worker at all is waited for.
ANY_WORKER_SECONDS = 60


class Part(NamedTuple):
    """Consecutive rows that an engine can bring to a worker."""

    source: Any
    rows: int
    name: str  # how errors call it


class Parts:
    """Parts one below the other."""

    def __init__(self, parts: list[Part]):
        self.parts = parts
        self.ends = np.cumsum([part.rows for part in parts], dtype=np.int64).tolist()

    @property
    def rows(self) -> int:
        return self.ends[-1] if self.ends else 0

    def between(self, first: int, end: int) -> tuple[list, list[int]]:
        """Slices (source, begin, end) that hold rows [first, end), and the numbers of their parts."""
        slices, numbers = [], []
        for number, (part, stop) in enumerate(zip(self.parts, self.ends)):
            start = stop - part.rows
            low, high = max(first, start), min(end, stop)
            if low < high:
                slices.append((part.source, low - start, high - start))
                numbers.append(number)
        return slices, numbers


class _Lost(Exception):
    """A rank's worker is gone."""

    def __init__(self, rank: int):
        super().__init__(rank)
        self.rank = rank


class _Missing(Exception):
    """A fold of a rank asked for rows that it does not hold."""

    def __init__(self, rank: int, rows: tuple[int, int]):
        super().__init__(rank, rows)
        self.rank, self.rows = rank, rows


class Leader:
    """Calls estimators on rows that the workers of an engine hold. Rank r of the workers is r + 1 of all ranks."""

    def __init__(
        self, engine: Engine, rows: Parts, weights: Parts | None, columns: int, float32: bool, device: str | None = None
    ):
        if weights is not None and weights.rows != rows.rows:
            raise ValueError(f"sample_weight.shape == ({weights.rows},), expected ({rows.rows},)!")
        self._engine = engine
        self._rows, self._weights = rows, weights
        self._columns, self._float32 = columns, float32
        self._device = device
        # The steps of GPUs have bits of their own, so a process without one cannot lead their ranks.
        self.led = device in (None, "cpu", "auto")
        self._losses: Counter = Counter()
        self._lost_names: defaultdict = defaultdict(list)
        workers = self._some_workers()
        # With few rows there are fewer lanes than workers, and some would hold nothing.
        count = len(workers)
        while count > 1 and self._empty(count, count):
            count -= 1
        self._on: list[Worker] = workers[:count]
        self._held = [self._usual(rank, count) for rank in range(1, count + 1)]
        self._holders: list[Any] = [None] * count

    def _some_workers(self) -> list[Worker]:
        start = time.monotonic()
        while not (workers := self._engine.workers()):
            if time.monotonic() - start > ANY_WORKER_SECONDS:
                raise RuntimeError(f"the cluster has had no worker for {ANY_WORKER_SECONDS} seconds")
            time.sleep(POLL_SECONDS / 5)
        return workers

    def _usual(self, rank: int, count: int) -> tuple[int, int]:
        size = 4 if self._float32 else 8
        ranks = _shoal.Ranks(0, count + 1, True, self)
        lanes = ranks.rows_for(rank, rows=self._rows.rows, columns=self._columns, scalar_bytes=size)
        if self.led:
            return lanes
        shards = self._on_device(rank, count)
        return min(lanes[0], shards[0]), max(lanes[1], shards[1])

    def _on_device(self, rank: int, count: int) -> tuple[int, int]:
        """Rows of whole shards, which a GPU keeps."""
        row_bytes = self._columns * (4 if self._float32 else 8)
        return _shoal.Ranks(rank - 1, count, False, self).device_rows(rows=self._rows.rows, row_bytes=row_bytes)

    def _empty(self, rank: int, count: int) -> bool:
        if self.led:
            return self._usual(rank, count) == (0, 0)
        first, end = self._on_device(rank, count)
        return first == end

    def _weights_for(self, rank: int) -> tuple[int, int]:
        # Folds of the weights alone are cut as a matrix of one column is.
        ranks = _shoal.Ranks(0, len(self._on) + 1, True, self)
        bounds = [self._held[rank - 1]]
        for size in (4, 8):
            bounds.append(ranks.rows_for(rank, rows=self._rows.rows, columns=1, scalar_bytes=size))
        bounds = [bound for bound in bounds if bound != (0, 0)]
        return min(first for first, _ in bounds), max(end for _, end in bounds)

    def run(self, estimator, method: str):
        """The estimator on which `method` was called, and what it returned."""
        with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
            restarts = getattr(estimator, "n_init", 1)
            if method == "fit" and estimator.checkpoint is None and restarts in (1, "auto") and self.led:
                estimator.set_params(checkpoint=str(Path(folder) / "place"))
            while True:
                try:
                    self._fill()
                    return self._attempt(estimator, method)
                except _Lost as lost:
                    self._forget(lost.rank)
                except _Missing as missing:
                    held = self._held[missing.rank - 1]
                    self._held[missing.rank - 1] = min(held[0], missing.rows[0]), max(held[1], missing.rows[1])
                    self._drop(missing.rank)

    def close(self) -> None:
        for rank in range(1, len(self._holders) + 1):
            self._drop(rank)

    # The holders

    def _drop(self, rank: int) -> None:
        holder, self._holders[rank - 1] = self._holders[rank - 1], None
        if holder is None:
            return
        if not self._engine.lost(holder):
            # Its rank may wait for words, and would keep its rows.
            with contextlib.suppress(TimeoutError, WorkerLost):
                self._engine.call(holder, "stop").result(STOP_SECONDS)
        self._engine.release(holder)

    def _forget(self, rank: int) -> None:
        """Notes that a rank's worker is gone, and gives its rows to another."""
        worker = self._on[rank - 1]
        self._drop(rank)
        for number in self._rows.between(*self._held[rank - 1])[1]:
            self._losses[number] += 1
            self._lost_names[number].append(worker.name)
            if self._losses[number] >= MOST_LOSSES:
                part, end = self._rows.parts[number], self._rows.ends[number]
                raise RuntimeError(
                    f"{part.name} (rows {end - part.rows} to {end - 1}) was lost {MOST_LOSSES} times with its worker: "
                    f"{', '.join(self._lost_names[number])}; does the worker have memory enough for its rows?"
                )
        self._on[rank - 1] = self._another(worker)

    def _another(self, gone: Worker) -> Worker:
        """A worker that holds nothing yet, or else the one that holds the least."""
        start = time.monotonic()
        while True:
            there = [worker for worker in self._some_workers() if worker.name != gone.name]
            used = Counter(worker.name for worker in self._on)
            free = [worker for worker in there if not used[worker.name]]
            if free:
                return free[0]
            if there and time.monotonic() - start > NEW_WORKER_SECONDS:
                return min(there, key=lambda worker: used[worker.name])
            if time.monotonic() - start > ANY_WORKER_SECONDS:
                raise RuntimeError(f"no worker has taken the place of {gone.name} in {ANY_WORKER_SECONDS} seconds")
            time.sleep(POLL_SECONDS / 5)

    def _fill(self) -> None:
        for rank, holder in enumerate(self._holders, 1):
            if holder is not None and self._engine.lost(holder):
                raise _Lost(rank)
        new = [rank for rank, holder in enumerate(self._holders, 1) if holder is None]
        for rank in new:
            first, end = self._held[rank - 1]
            weights, weights_first = [], 0
            if self._weights is not None:
                weights_first, weights_end = self._weights_for(rank)
                weights = self._weights.between(weights_first, weights_end)[0]
            slices = self._rows.between(first, end)[0]
            try:
                self._holders[rank - 1] = self._engine.place(
                    self._on[rank - 1], rank, slices, weights, first, weights_first
                )
            except WorkerLost:
                raise _Lost(rank) from None
        if new:
            self._check_alike()

    def _check_alike(self) -> None:
        asked = [self._engine.call(holder, "runner") for holder in self._holders]
        _shoal.check_alike([_shoal.runner(), *(self._answer(rank, call) for rank, call in enumerate(asked, 1))])

    def _answer(self, rank: int, call) -> Any:
        """What a call of a rank's holder gives, looking after all workers meanwhile."""
        while True:
            try:
                return call.result(POLL_SECONDS)
            except TimeoutError:
                for other, holder in enumerate(self._holders, 1):
                    if self._engine.lost(holder):
                        raise _Lost(other) from None
            except WorkerLost:
                raise _Lost(rank) from None

    def _devices(self) -> list[str | None]:
        """The device of each holder."""
        if self._device != "cuda:local":
            return ["cpu" if self._device == "auto" else self._device] * len(self._on)
        asked = [self._engine.call(holder, "devices") for holder in self._holders]
        return [*local_devices(self._on, [self._answer(rank, call) for rank, call in enumerate(asked, 1)])]

    # One call on all ranks

    def _attempt(self, estimator, method: str):
        if not self.led:
            return self._attempt_of_equals(estimator, method)
        fresh = copy.copy(estimator)
        fresh.device = self._devices()[0]
        size = len(self._holders) + 1
        weighted = self._weights is not None
        task = Task(_quiet(fresh), method, size, self._rows.rows, self._columns, self._float32, weighted)
        words = _Words(self, [task] * (size - 1))
        data = shared_data(task, _shoal.Ranks(0, size, True, weakref.proxy(words)))
        made = getattr(fresh, method)(data)
        words.finish()
        fresh.device = estimator.device
        return fresh, made

    def _attempt_of_equals(self, estimator, method: str):
        """The same without a rank here: the first holder's has what all of them have made."""
        if estimator.callback is not None:
            raise ValueError("callback is called by who leads, and workers with GPUs lead themselves: leave it out")
        tasks = []
        for device in self._devices():
            own = _quiet(estimator)
            own.device = device
            size, weighted = len(self._holders), self._weights is not None
            tasks.append(Task(own, method, size, self._rows.rows, self._columns, self._float32, weighted, False))
        _Words(self, tasks).finish()
        made: Made = self._answer(1, self._engine.call(self._holders[0], "made"))
        for message, category in made.warned:
            warnings.warn(message, category, stacklevel=4)
        fresh = copy.copy(estimator)
        parameters = estimator.get_params(deep=False)
        fresh.__dict__.update({name: value for name, value in vars(made.estimator).items() if name not in parameters})
        return fresh, fresh if made.fitted else made.found

    def call(self, rank: int, method: str, *arguments):
        return self._engine.call(self._holders[rank - 1], method, *arguments)

    def answer(self, rank: int, call) -> Heard:
        heard: Heard = self._answer(rank, call)
        if heard.missing is not None:
            raise _Missing(rank, heard.missing)
        return heard

    def name(self, rank: int) -> str:
        return self._on[rank - 1].name


def _quiet(estimator):
    """The same estimator for ranks that do not speak."""
    quiet = copy.copy(estimator)
    quiet.callback, quiet.verbose = None, 0
    return quiet


def local_devices(workers: list[Worker], devices: list[Devices]) -> list[str]:
    """A GPU for each worker: those of one host take turns, unless somebody has shown each a first one of its own."""
    chosen = []
    for worker, seen in zip(workers, devices):
        if seen.number == 0:
            raise RuntimeError(f"worker {worker.name} was to compute on a GPU of {worker.host}, and sees none")
        neighbours = [(other, its) for other, its in zip(workers, devices) if other.host == worker.host]
        first = [its.visible and its.visible.split(",")[0] for _, its in neighbours]
        own = len(neighbours) > 1 and None not in first and len(set(first)) == len(first)
        place = 0 if own else [other for other, _ in neighbours].index(worker)
        chosen.append(f"cuda:{_shoal.local_device(place, seen.number)}")
    return chosen


class _Words:
    """What rank 0 says and hears, or nobody here. A call brings words to a holder, and its answer brings back what the
    rank has said. Holder n is rank n of those that are led, and n - 1 of others."""

    def __init__(self, leader: Leader, tasks: list[Task]):
        self._leader = leader
        self._ranks = range(1, len(tasks) + 1)
        self._offset = 0 if tasks[0].led else 1
        self._heard: dict = defaultdict(deque)  # [from], for rank 0
        self._to_say: dict = defaultdict(list)  # [to], as (from, bytes)
        self._waits_for: dict = {}  # [rank], of ranks that have answered
        self._calls = {rank: leader.call(rank, "begin", task) for rank, task in zip(self._ranks, tasks)}

    def send(self, to: int, words: bytes) -> None:
        self._to_say[to].append((0, words))
        self._say(to)  # at once: that rank goes on while this one steps, reports and writes its checkpoint

    def receive(self, sender: int) -> bytes:
        while not self._heard[sender]:
            self._turn(sender)
        return self._heard[sender].popleft()

    def finish(self) -> None:
        """Waits until all ranks have ended, too."""
        for rank in self._ranks:
            while rank in self._calls or self._waits_for[rank] is not None:
                self._turn(rank)

    def _say(self, to: int) -> None:
        """Says what there is for a rank, unless that has not answered what it was asked before."""
        if to not in self._calls:
            self._calls[to] = self._leader.call(to, "exchange", self._to_say.pop(to))

    def _turn(self, rank: int) -> None:
        """Says what is to be said, and hears the rank that this one, or whom it waits for, depends on."""
        for to in list(self._to_say):
            self._say(to)
        asked = {rank}
        while rank not in self._calls:
            waited_for = self._waits_for[rank]
            if waited_for == rank:
                self._calls[rank] = self._leader.call(rank, "exchange", ())
                break
            if not waited_for or waited_for in asked:
                raise RuntimeError(f"rank {rank} on {self._leader.name(rank)} waits for words that nobody says")
            rank = waited_for
            asked.add(rank)
        answer = self._leader.answer(rank, self._calls[rank])
        del self._calls[rank]
        if answer.error is not None:
            raise answer.error
        self._waits_for[rank] = None if answer.waits_for is None else answer.waits_for + self._offset
        for to, words in answer.words:
            if to + self._offset == 0:
                self._heard[rank].append(words)
            else:
                self._to_say[to + self._offset].append((rank - self._offset, words))
