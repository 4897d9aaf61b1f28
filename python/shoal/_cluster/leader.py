"""Who leads ranks on workers: rank 0, which holds the model and the fitting loop, and remakes what is lost."""

from __future__ import annotations

import contextlib
import copy
import tempfile
import time
import weakref
from collections import Counter, defaultdict, deque
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import _shoal
from .engine import Engine, Worker, WorkerLost
from .holder import Heard, Task, shared_data

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

    def __init__(self, engine: Engine, rows: Parts, weights: Parts | None, columns: int, float32: bool):
        if weights is not None and weights.rows != rows.rows:
            raise ValueError(f"sample_weight.shape == ({weights.rows},), expected ({rows.rows},)!")
        self._engine = engine
        self._rows, self._weights = rows, weights
        self._columns, self._float32 = columns, float32
        self._losses: Counter = Counter()
        self._lost_names: defaultdict = defaultdict(list)
        workers = self._some_workers()
        # With few rows there are fewer lanes than workers, and some would hold nothing.
        count = len(workers)
        while count > 1 and self._usual(count, count) == (0, 0):
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
        return ranks.rows_for(rank, rows=self._rows.rows, columns=self._columns, scalar_bytes=size)

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
            if method == "fit" and estimator.checkpoint is None and getattr(estimator, "n_init", 1) in (1, "auto"):
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

    # One call on all ranks

    def _attempt(self, estimator, method: str):
        fresh = copy.copy(estimator)
        size = len(self._holders) + 1
        weighted = self._weights is not None
        task = Task(_quiet(fresh), method, size, self._rows.rows, self._columns, self._float32, weighted)
        words = _Words(self, task)
        data = shared_data(task, _shoal.Ranks(0, size, True, weakref.proxy(words)))
        made = getattr(fresh, method)(data)
        words.finish()
        return fresh, made

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


class _Words:
    """What rank 0 says and hears. A call brings words to a holder, and its answer brings back what the rank has said."""

    def __init__(self, leader: Leader, task: Task):
        self._leader = leader
        self._ranks = range(1, task.size)
        self._heard: dict = defaultdict(deque)  # [from], for rank 0
        self._to_say: dict = defaultdict(list)  # [to], as (from, bytes)
        self._waits_for: dict = {}  # [rank], of ranks that have answered
        self._calls = {rank: leader.call(rank, "begin", task) for rank in self._ranks}

    def send(self, to: int, words: bytes) -> None:
        self._to_say[to].append((0, words))

    def receive(self, sender: int) -> bytes:
        while not self._heard[sender]:
            self._turn(sender)
        return self._heard[sender].popleft()

    def finish(self) -> None:
        """Waits until all ranks have ended, too."""
        for rank in self._ranks:
            while rank in self._calls or self._waits_for[rank] is not None:
                self._turn(rank)

    def _turn(self, rank: int) -> None:
        """Says what is to be said, and hears the rank that this one, or whom it waits for, depends on."""
        for to in [to for to, words in self._to_say.items() if words and to not in self._calls]:
            self._calls[to] = self._leader.call(to, "exchange", self._to_say.pop(to))
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
        self._waits_for[rank] = answer.waits_for
        for to, words in answer.words:
            if to == 0:
                self._heard[rank].append(words)
            else:
                self._to_say[to].append((rank, words))
