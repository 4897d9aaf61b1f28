"""Estimators whose rows the workers of a Dask cluster hold."""

from __future__ import annotations

import inspect
from typing import Any

import dask
import dask.array as da
import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _check_feature_names

from .. import _ESTIMATORS
from .._cluster.leader import Leader
from .._running import seed_of
from ._collections import array_of, collection, is_collection, is_frame, mapped_parts, paths_of
from ._engine import DaskEngine

# What returns one value for each row, and is therefore asked of each block when somebody wants it.
_BY_ROW = ("predict", "transform", "predict_proba", "score_samples")
# What returns one value for all rows, and is therefore a fold.
_OF_ALL = ("score", "bic", "aic", "quality")


def _of_block(block, local, method):
    if hasattr(block, "rows"):
        block = block.rows()
    elif hasattr(block, "to_numpy"):
        block = block.to_numpy()
    return getattr(local, method)(np.asarray(block))


class _Shared:
    """What the estimators have in common. `_local` is the estimator of one process."""

    _local: Any
    client: Any
    device: Any
    precision: Any
    random_state: Any

    @classmethod
    def _get_param_names(cls):
        return sorted([*cls._local._get_param_names(), "client"])

    def __sklearn_clone__(self):
        # A client is what it is, and no parameter to be copied.
        copied = clone(self.to_local())
        return type(self)(**copied.get_params(deep=False), client=self.client)

    def to_local(self):
        """The same estimator, with its model, for rows in memory.

        Returns
        -------
        estimator : shoal estimator
            Without ``labels_``, which stay on the cluster.
        """
        names = self._local._get_param_names()
        local = self._local(**{name: getattr(self, name) for name in names})
        own = {*names, "client", "labels_"}
        local.__dict__.update({name: value for name, value in self.__dict__.items() if name not in own})
        return local

    def fit(self, X, y=None, sample_weight=None):
        if not is_collection(X):
            return super().fit(X, y, sample_weight)
        if callable(getattr(self, "init", None)):
            raise ValueError("init must be a name or an array on a cluster; got a callable, which would need all rows")
        fitted, _ = self._run("fit", X, sample_weight)
        names = self._local._get_param_names()
        self.__dict__.update({name: value for name, value in vars(fitted).items() if name not in names})
        if "labels_" in vars(fitted):
            self.labels_ = self.predict(X)
        return self

    def fit_predict(self, X, y=None, sample_weight=None):
        if not is_collection(X):
            return super().fit_predict(X, y, sample_weight)
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def fit_transform(self, X, y=None, sample_weight=None):
        if not is_collection(X):
            return super().fit_transform(X, y, sample_weight)
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def partial_fit(self, X, y=None, sample_weight=None):
        if is_collection(X):
            raise TypeError("partial_fit() takes one batch in memory; got a collection of Dask: use fit()")
        return super().partial_fit(X, y, sample_weight)

    def _run(self, method: str, X, sample_weight=None):
        """The local estimator on which all workers have called `method`, and what it returned."""
        engine = DaskEngine(self.client)
        rows = collection(engine.client, X)
        if rows.names is not None and method != "fit":
            _check_feature_names(self, X._meta, reset=False)
        weights = None
        if sample_weight is not None:
            weights = collection(engine.client, _weights(sample_weight), "sample_weight", dimensions=1)
        local = self.to_local()
        if method == "fit":
            local.set_params(random_state=seed_of(self.random_state))  # every rank draws from one seed
        elif rows.columns != local.n_features_in_:
            raise ValueError(
                f"X has {rows.columns} features, but {type(self).__name__} is expecting {local.n_features_in_} features "
                "as input."
            )
        float32 = self.precision != "float64"
        if self.precision == "auto":
            float32 = rows.dtype in (np.float32, np.float16)
        leader = Leader(engine, rows.parts, weights and weights.parts, rows.columns, bool(float32), self.device)
        try:
            fitted, made = leader.run(local, method)
        finally:
            leader.close()
        if method == "fit":
            fitted.set_params(random_state=self.random_state)
            if rows.names is not None:
                fitted.feature_names_in_ = np.asarray(rows.names, dtype=object)
        return fitted, made

    def _lazily(self, X, method: str):
        local = self.to_local()
        if paths := paths_of(X):
            return self._of_files(paths, local, method)
        if is_frame(X):
            _check_feature_names(self, X._meta, reset=False)
            X = X.to_dask_array()
        local.__dict__.pop("feature_names_in_", None)  # blocks have none
        shipped = dask.delayed(local)
        if isinstance(X, da.Array):
            X = array_of(X)
            like = _of_block(np.zeros((1, local.n_features_in_), X.dtype), local, method)
            if like.ndim == 1:
                return X.map_blocks(_of_block, shipped, method, drop_axis=1, dtype=like.dtype, meta=like[:0])
            chunks = (X.chunks[0], (like.shape[1],))
            return X.map_blocks(_of_block, shipped, method, chunks=chunks, dtype=like.dtype, meta=like[:0])
        of = dask.delayed(_of_block)
        return [of(part, shipped, method) for part in X] if isinstance(X, (list, tuple)) else of(X, shipped, method)

    def _of_files(self, paths, local, method: str):
        shipped, of, blocks = dask.delayed(local), dask.delayed(_of_block), []
        for path in paths:
            parts, array = mapped_parts(path)
            like = _of_block(np.zeros((1, local.n_features_in_), array.dtype), local, method)
            for part in parts:
                shape = (part.end - part.first, *like.shape[1:])
                made = of(dask.delayed(part, traverse=False), shipped, method)
                blocks.append(da.from_delayed(made, shape, dtype=like.dtype))
        return da.concatenate(blocks)


def _weights(sample_weight):
    """Weights as a collection: arrays in memory are cut into blocks."""
    if is_collection(sample_weight):
        return sample_weight
    weights = np.asarray(sample_weight)
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array; sample_weight has {weights.ndim} dimensions")
    return da.from_array(weights, chunks="auto")


def _row_method(name: str, local: type):
    def method(self, X):
        return self._lazily(X, name) if is_collection(X) else getattr(local, name)(self, X)

    return method


def _fold_method(name: str, local: type):
    weighted = "sample_weight" in inspect.signature(getattr(local, name)).parameters

    def method(self, X, *arguments, sample_weight=None, **named):
        if is_collection(X):
            return self._run(name, X, sample_weight)[1]
        if weighted:
            named["sample_weight"] = sample_weight
        return getattr(local, name)(self, X, *arguments, **named)

    return method


def estimator_of(local: Any) -> type:
    """The estimator of a cluster for one of a process."""

    def begin(self, *arguments, client=None, **parameters):
        local.__init__(self, *arguments, **parameters)
        self.client = client

    signature = inspect.signature(local.__init__)
    client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    begin.__signature__ = signature.replace(parameters=[*signature.parameters.values(), client])  # type: ignore[attr-defined]
    members: dict[str, Any] = {"__init__": begin, "__module__": "shoal.dask", "_local": local}
    for make, names in ((_row_method, _BY_ROW), (_fold_method, _OF_ALL)):
        for name in filter(lambda each: hasattr(local, each), names):
            members[name] = make(name, local)
            members[name].__name__ = name
            members[name].__doc__ = getattr(local, name).__doc__
    members["__doc__"] = (
        f":class:`shoal.{local.__name__}` on rows that the workers of a Dask cluster hold.\n\n"
        "    Parameters and attributes are those of the estimator for one process, and ``client``: the client of the\n"
        "    cluster, or None for the one that was begun last. Rows are Dask arrays, frames, lists of delayed parts or\n"
        "    futures, or paths of .npy files that all workers see; ``labels_`` and predictions are lazy then. The model has\n"
        "    the same bits for any chunks and any number of workers, and those of one process. ``device='cuda:local'``\n"
        "    gives each worker a GPU of its host.\n"
    )
    return type(local.__name__, (_Shared, local), members)


ESTIMATORS = {local.__name__: estimator_of(local) for local in _ESTIMATORS}
