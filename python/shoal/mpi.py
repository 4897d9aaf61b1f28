"""Fits on the processes that mpirun or srun has started, through mpi4py: the model has the bits of one process.

Needs ``pip install 'shoal[mpi]'``, an MPI library, and rows that every process can read::

    mpirun -n 4 python fit.py

    import numpy, shoal.mpi
    fitted = shoal.mpi.fit(estimator, numpy.load("rows.npy", mmap_mode="r"))
"""

from __future__ import annotations

import time
import weakref
from collections import defaultdict, deque

import numpy as np
from mpi4py import MPI

from . import _shoal
from ._cluster.holder import Task, shared_data
from ._input import on_host
from ._running import seed_of

__all__ = ["RankFailed", "fit", "score"]

_WORDS, _FAILURE = 1, 2
# Neighbours are microseconds apart, so waiting begins without sleep; ranks that share a processor must let others work.
_BUSY_TURNS = 200
_NAP_SECONDS = 50e-6


class RankFailed(RuntimeError):
    """Another rank has failed, so that this one cannot go on; the message names it and repeats its own."""


class _Words:
    """What ranks say to each other, by point-to-point messages: who waits hears of another's failure too."""

    def __init__(self, comm: MPI.Comm):
        if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
            raise RuntimeError("shoal speaks from a thread of its own: begin MPI with THREAD_SERIALIZED or THREAD_MULTIPLE")
        self._comm = comm.Dup()
        self._heard: dict = defaultdict(deque)
        self._leaving: list = []
        self._failure: str | None = None

    def send(self, to: int, words: bytes, tag: int = _WORDS) -> None:
        self._leaving = [each for each in self._leaving if not each[0].Test()]
        self._leaving.append((self._comm.Isend([words, MPI.BYTE], to, tag), words))

    def receive(self, sender: int) -> bytes:
        turns = 0
        while not self._heard[sender]:
            if self._failure is not None:
                raise RankFailed(self._failure)
            if not self._hear():
                turns += 1
                if turns > _BUSY_TURNS:
                    time.sleep(_NAP_SECONDS)
        return self._heard[sender].popleft()

    def _hear(self) -> bool:
        status = MPI.Status()
        message = self._comm.Improbe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        if message is None:
            return False
        words = bytearray(status.Get_count(MPI.BYTE))
        message.Recv([words, MPI.BYTE])
        if status.Get_tag() == _FAILURE:
            self._failure = self._failure or words.decode()
        else:
            self._heard[status.Get_source()].append(bytes(words))
        return True

    def fail(self, error: BaseException) -> None:
        """Tells the others that nothing more comes from here."""
        # The first that failed is named, and not all that heard of it.
        why = f"rank {self._comm.rank} failed: {error} (on {_shoal.runner()[0]})"
        if isinstance(error, RankFailed):
            why = str(error)
        for to in range(self._comm.size):
            if to != self._comm.rank:
                self.send(to, why.encode(), _FAILURE)

    def finish(self) -> None:
        """Waits until all ranks have come here."""
        others = [rank for rank in range(self._comm.size) if rank != 0]
        if self._comm.rank == 0:
            for rank in others:
                self.receive(rank)
            for rank in others:
                self.send(rank, b"")
        else:
            self.send(0, b"")
            self.receive(0)

    def close(self) -> None:
        MPI.Request.Waitall([request for request, _ in self._leaving])
        self._comm.Free()


def fit(estimator, X, *, sample_weight=None, comm: MPI.Comm = MPI.COMM_WORLD):
    """Fits an estimator of shoal on all processes.

    Parameters
    ----------
    estimator : estimator of shoal
        The same on every process. Its algorithm must be a fold: others are refused by name.
    X : array-like of shape (n_samples, n_features)
        All rows, on every process: an array mapped from a file that all of them see, or equal arrays. Each process reads
        the rows that it folds, and few others.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of all rows, on every process.
    comm : mpi4py.MPI.Comm
        The processes.

    Returns
    -------
    estimator
        The one that was handed over, with the model; the same bits on every process, for any number of them.
        ``labels_`` is None: ``predict`` gives those of the rows that it is handed.

    Raises
    ------
    RankFailed
        When another process has failed.
    ValueError
        When the processes run different builds or instruction sets, and as ``estimator.fit``.
    """
    _shared(estimator, "fit", X, sample_weight, comm)
    return estimator


def score(estimator, X, *, sample_weight=None, comm: MPI.Comm = MPI.COMM_WORLD) -> float:
    """``estimator.score`` of all rows, on all processes.

    Parameters
    ----------
    estimator, X, sample_weight, comm
        As for :func:`fit`.

    Returns
    -------
    score : float
        The same on every process.

    Raises
    ------
    RankFailed, ValueError
        As :func:`fit`.
    """
    return _shared(estimator, "score", X, sample_weight, comm)


def _device_of(name: str | None, comm: MPI.Comm) -> str | None:
    """The device of this process: "cuda:local" is the GPU whose number is the process's on its host."""
    if name != "cuda:local":
        return "cpu" if name == "auto" else name
    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    place = here.rank
    here.Free()
    return f"cuda:{_shoal.local_device(place, len(_shoal.cuda_devices()))}"


def _shared(estimator, method, X, sample_weight, comm):
    _shoal.check_alike(comm.allgather(_shoal.runner()))
    if comm.size == 1:
        return getattr(estimator, method)(X, sample_weight=sample_weight)
    rows = np.asarray(on_host(X)) if not isinstance(X, np.ndarray) else X
    if rows.ndim != 2:
        raise ValueError(f"Expected 2D array, got {rows.ndim}D array instead")
    weights = None if sample_weight is None else np.asarray(sample_weight)
    float32 = rows.dtype in (np.float32, np.float16) if estimator.precision == "auto" else estimator.precision != "float64"
    words = _Words(comm)
    try:
        device = _device_of(estimator.device, comm)
        task = Task(estimator, method, comm.size, rows.shape[0], rows.shape[1], bool(float32), weights is not None)
        ranks = _shoal.Ranks(comm.rank, comm.size, False, weakref.proxy(words))
        data = shared_data(task, ranks, [rows], [] if weights is None else [weights])
        before = estimator.random_state, estimator.device
        # Every rank draws from the same seed.
        estimator.random_state = comm.bcast(seed_of(before[0]) if comm.rank == 0 else None)
        estimator.device = device
        try:
            made = getattr(estimator, method)(data)
        finally:
            estimator.random_state, estimator.device = before
        words.finish()
    except BaseException as error:
        words.fail(error)  # who has failed too may never hear it, so nobody waits for that
        raise
    words.close()
    return made
