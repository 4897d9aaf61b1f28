"""What a leader asks of an engine: workers, holders on them, and calls of these."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol


class WorkerLost(Exception):
    """The worker that a holder was on is gone."""


class Worker(NamedTuple):
    """Where a holder can be; equal names are the same process."""

    name: str
    threads: int
    host: str = ""  # workers of one host share its GPUs


class Pending(Protocol):
    """A call on its way."""

    def result(self, seconds: float) -> Any:
        """What it gives; raises TimeoutError when that takes longer, and WorkerLost."""


class Engine(Protocol):
    """Dask, Ray, or whatever else starts processes and calls them."""

    def workers(self) -> list[Worker]:
        """Those that are there now, always in the same order."""

    def place(self, worker: Worker, rank: int, slices: list, weights: list, first: int, weights_first: int) -> Any:
        """A holder of these rows on that worker; raises WorkerLost. Each slice is of the engine's own kind of part."""

    def call(self, holder: Any, method: str, *arguments: Any) -> Pending: ...

    def lost(self, holder: Any) -> bool:
        """Whether its worker is known to be gone."""

    def release(self, holder: Any) -> None: ...
