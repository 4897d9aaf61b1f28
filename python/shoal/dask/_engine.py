"""Workers of Dask, and actors on them."""

from __future__ import annotations

from typing import Any

import distributed
from distributed import Client, Future

from .._cluster.engine import Worker, WorkerLost
from .._cluster.holder import Holder, Mapped
from .._cluster.leader import POLL_SECONDS


# What Dask says when an actor's worker is not there; calls of a holder raise nothing of their own.
_GONE = (OSError, ValueError, RuntimeError)


class _Call:
    """A call of an actor on its way; `error` is why there is none."""

    def __init__(self, future, error: Exception | None = None):
        self._future, self._error = future, error

    def result(self, seconds: float) -> Any:
        if self._error is not None:
            raise WorkerLost(str(self._error)) from self._error
        try:
            return self._future.result(timeout=seconds)
        except (TimeoutError, distributed.TimeoutError):
            raise TimeoutError from None
        except _GONE as error:
            raise WorkerLost(str(error)) from error


class _Actor:
    def __init__(self, future: Future):
        self.future = future
        self.proxy = future.result()

    @property
    def lost(self) -> bool:
        return self.future.status != "finished"


class DaskEngine:
    def __init__(self, client: Client | None):
        if client is None:
            try:
                client = distributed.default_client()
            except ValueError:
                raise ValueError(
                    "there is no Dask client: begin one, such as dask.distributed.Client(), or hand over client="
                ) from None
        if client.asynchronous:
            raise ValueError("shoal.dask waits for its workers: begin the client without asynchronous=True")
        self.client = client

    def workers(self) -> list[Worker]:
        found = self.client.scheduler_info(n_workers=-1)["workers"]
        return [Worker(name, found[name]["nthreads"], found[name]["host"]) for name in sorted(found)]

    def _there(self, name: str) -> bool:
        return name in self.client.scheduler_info(n_workers=-1)["workers"]

    def place(self, worker: Worker, rank: int, slices: list, weights: list, first: int, weights_first: int) -> _Actor:
        # Parts are computed where they are needed, as far as that worker can.
        delayed = {id(part): part for part, *_ in (*slices, *weights) if not isinstance(part, (Mapped, Future))}
        computed = self.client.compute(list(delayed.values()), workers=[worker.name], allow_other_workers=True)
        futures = dict(zip(delayed, computed))

        def brought(each):
            return [(futures.get(id(part), part), begin, end) for part, begin, end in each]

        made = self.client.submit(
            Holder,
            rank,
            brought(slices),
            brought(weights),
            first,
            weights_first,
            worker.threads,
            workers=[worker.name],
            allow_other_workers=False,
            actor=True,
            pure=False,
        )
        while True:
            try:
                distributed.wait(made, timeout=POLL_SECONDS)
            except (TimeoutError, distributed.TimeoutError):
                if self._there(worker.name):
                    continue
                made.cancel()
                raise WorkerLost(worker.name) from None
            try:
                return _Actor(made)  # raises what a part's computation raised
            except Exception as error:
                if self._there(worker.name):
                    raise
                raise WorkerLost(worker.name) from error

    def call(self, holder: _Actor, method: str, *arguments: Any) -> _Call:
        try:
            return _Call(getattr(holder.proxy, method)(*arguments))
        except _GONE as error:
            return _Call(None, error)

    def lost(self, holder: _Actor) -> bool:
        return holder.lost

    def release(self, holder: _Actor) -> None:
        holder.proxy = None
        holder.future.release()
