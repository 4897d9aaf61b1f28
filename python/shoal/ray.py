"""Fits whose rows Ray's actors hold: a thin second engine beside :mod:`shoal.dask`.

Needs Ray, and ``ray.init()`` before::

    fitted = shoal.ray.fit(estimator, [ray.put(rows) for rows in parts])
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import ray
from ray.exceptions import GetTimeoutError, RayActorError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ._cluster.engine import Worker, WorkerLost
from ._cluster.holder import Holder
from ._cluster.leader import Leader, Part, Parts
from ._running import seed_of

__all__ = ["fit", "score"]


class _Held:
    """A holder whose parts Ray has brought: it brings what is an argument by itself, and nothing that lies in a list."""

    def __init__(self, rank, cuts, weight_cuts, first, weights_first, threads, *parts):
        slices = [(part, *cut) for part, cut in zip(parts, [*cuts, *weight_cuts])]
        self._holder = Holder(rank, slices[: len(cuts)], slices[len(cuts) :], first, weights_first, threads)

    def call(self, method, *arguments):
        return getattr(self._holder, method)(*arguments)


class _Call:
    def __init__(self, reference):
        self._reference = reference

    def result(self, seconds: float) -> Any:
        try:
            return ray.get(self._reference, timeout=seconds)
        except GetTimeoutError:
            raise TimeoutError from None
        except RayActorError as error:
            raise WorkerLost(str(error)) from error


class RayEngine:
    """A worker is a node of the cluster."""

    def workers(self) -> list[Worker]:
        nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
        nodes.sort(key=lambda node: node["NodeID"])
        return [Worker(node["NodeID"], int(node["Resources"]["CPU"]), node["NodeManagerHostname"]) for node in nodes]

    def place(self, worker: Worker, rank: int, slices: list, weights: list, first: int, weights_first: int) -> Any:
        there = NodeAffinitySchedulingStrategy(worker.name, soft=False)
        cuts, parts = [(a, b) for _, a, b in slices], [part for part, *_ in (*slices, *weights)]
        weight_cuts = [(a, b) for _, a, b in weights]
        # No processor is kept for it: it computes while nothing else of this fit does.
        held = ray.remote(_Held).options(num_cpus=0, scheduling_strategy=there)
        holder = held.remote(rank, cuts, weight_cuts, first, weights_first, worker.threads, *parts)
        try:
            ray.get(holder.call.remote("stop"))
        except RayActorError as error:
            raise WorkerLost(worker.name) from error
        return holder

    def call(self, holder: Any, method: str, *arguments: Any) -> _Call:
        return _Call(holder.call.remote(method, *arguments))

    def lost(self, holder: Any) -> bool:
        return False  # a call of a lost actor says so itself

    def release(self, holder: Any) -> None:
        ray.kill(holder)


def fit(estimator, X, *, sample_weight=None):
    """Fits an estimator of shoal on rows that Ray's nodes hold.

    Parameters
    ----------
    estimator : estimator of shoal
        It gets the model; ``labels_`` is None.
    X : list of ObjectRef
        Parts of the rows, one below the other, of shape (rows, n_features) each.
    sample_weight : list of ObjectRef or None, default=None
        Their weights, in parts of any length.

    Returns
    -------
    estimator
        With the bits of one process, for any parts and any number of nodes.

    Raises
    ------
    RuntimeError
        When a part's node is lost three times.
    ValueError
        When the nodes run different builds or instruction sets, and as ``estimator.fit``.
    """
    fitted, _ = _run(estimator, "fit", X, sample_weight)
    own = estimator.get_params(deep=False)
    estimator.__dict__.update({name: value for name, value in vars(fitted).items() if name not in own})
    return estimator


def score(estimator, X, *, sample_weight=None) -> float:
    """``estimator.score`` of rows that Ray's nodes hold.

    Parameters
    ----------
    estimator, X, sample_weight
        As for :func:`fit`.

    Returns
    -------
    score : float

    Raises
    ------
    RuntimeError, ValueError
        As :func:`fit`.
    """
    return _run(estimator, "score", X, sample_weight)[1]


@ray.remote
def _shape_of(part):
    array = np.asarray(part)
    return array.shape, array.dtype.str


def _parts(references, name: str) -> tuple[Parts, tuple, np.dtype]:
    found = ray.get([_shape_of.remote(each) for each in references])
    shapes = {shape[1:] for shape, _ in found}
    if len(shapes) != 1:
        raise ValueError(f"the parts of {name} have different columns: {sorted(shapes)}")
    parts = [Part(each, shape[0], f"part {i} of {name}") for i, (each, (shape, _)) in enumerate(zip(references, found))]
    return Parts(parts), shapes.pop(), np.result_type(*(np.dtype(kind) for _, kind in found))


def _run(estimator, method: str, X, sample_weight):
    rows, columns, dtype = _parts(X, "X")
    weights = None if sample_weight is None else _parts(sample_weight, "sample_weight")[0]
    local = copy.copy(estimator)
    local.random_state = seed_of(estimator.random_state)
    float32 = dtype in (np.float32, np.float16) if local.precision == "auto" else local.precision != "float64"
    leader = Leader(RayEngine(), rows, weights, columns[0], bool(float32), estimator.device)
    try:
        return leader.run(local, method)
    finally:
        leader.close()
