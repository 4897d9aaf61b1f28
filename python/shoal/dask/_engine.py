"""Workers of Dask, and actors on them."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any

import distributed
from distributed import Client, Future
from distributed.protocol import to_serialize

from .._cluster.engine import Worker, WorkerLost
from .._cluster.holder import Holder, Mapped
from .._cluster.leader import POLL_SECONDS


# How long a worker has to answer who leads directly; those that are out of reach are called through the scheduler.
REACH_SECONDS = 1

# What Dask says when an actor or its worker is not there; calls of a holder raise nothing of their own.
_GONE = (OSError, ValueError, RuntimeError, KeyError)
# A limit that has passed: of one kind only from Python 3.11 on.
_LATE = (TimeoutError, distributed.TimeoutError, concurrent.futures.TimeoutError)


class _Call:
    """A call of an actor on its way; `error` is why there is none."""

    def __init__(self, future, error: Exception | None = None):
        self._future, self._error = future, error

    def result(self, seconds: float) -> Any:
        if self._error is not None:
            raise WorkerLost(str(self._error)) from self._error
        try:
            return self._future.result(timeout=seconds)
        except _LATE:
            raise TimeoutError from None
        except _GONE as error:
            raise WorkerLost(str(error)) from error


class _Actor:
    """`address` is that of its worker where it is called directly."""

    def __init__(self, future: Future, address: str | None):
        self.future = future
        self.address = address
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
        self._loop: Any = client.loop
        self._direct: bool | None = client.direct_to_workers

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
            except _LATE:
                if self._there(worker.name):
                    continue
                made.cancel()
                raise WorkerLost(worker.name) from None
            try:
                made.result()  # raises what a part's computation raised
                return _Actor(made, worker.name if self._reaches(worker.name) else None)
            except Exception as error:
                if self._there(worker.name):
                    raise
                raise WorkerLost(worker.name) from error

    def call(self, holder: _Actor, method: str, *arguments: Any) -> _Call:
        try:
            if holder.address is None:
                return _Call(getattr(holder.proxy, method)(*arguments))
            asked = self._ask(holder.address, holder.future.key, method, arguments)
            return _Call(asyncio.run_coroutine_threadsafe(asked, self._loop.asyncio_loop))
        except _GONE as error:
            return _Call(None, error)

    def _reaches(self, address: str) -> bool:
        """Whether calls can go from here to the worker, over a connection that stays: one through the scheduler takes
        its processor, and begins a connection each time. A client that was told is believed."""
        if self._direct is None:
            try:
                self.client.sync(self.client.rpc(address).identity, callback_timeout=REACH_SECONDS)
            except (*_GONE, *_LATE, TypeError):  # a TypeError: it speaks TLS, and the client does not
                self._direct = False
        return self._direct is not False

    async def _ask(self, address: str, actor: Any, method: str, arguments: tuple) -> Any:
        """What the actor's proxy asks of its worker."""
        try:
            given = [to_serialize(each) for each in arguments]
            answer = await self.client.rpc(address).actor_execute(function=method, actor=actor, args=given, kwargs={})
        except _LATE as error:  # of a connection: the caller's limit is its own
            raise OSError(f"{address} does not answer") from error
        if answer["status"] != "OK":
            raise answer["exception"]
        return answer["result"]

    def lost(self, holder: _Actor) -> bool:
        return holder.lost

    def release(self, holder: _Actor) -> None:
        holder.proxy = None
        holder.future.release()
