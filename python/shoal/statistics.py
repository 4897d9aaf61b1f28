"""What an iteration of a fit sums over the rows, as values: made in parts, sent, saved, combined and maximised.

``fit`` of an estimator whose algorithm is a sum over the rows repeats two steps: statistics of all rows are accumulated under the model, and the model is maximised over them. Here are these steps
one by one, so that the rows may lie in several processes or files, or come and go.
"""

from __future__ import annotations

import os
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from . import _shoal
from ._input import read as read_rows
from ._running import named_errors, resources

__all__ = ["Statistics", "accumulate", "combine", "cut_rows", "load", "maximise", "save", "subtract"]

# Where the flat form names the family.
_FAMILY_BYTES = slice(16, 24)


class Statistics:
    """Statistics of some rows under one model. Made by :func:`accumulate`; never changed.

    They can be pickled, in the flat form that :func:`save` writes.

    Attributes
    ----------
    family : str
        Whose they are.
    n_rows : int
        Rows that they are of.
    total_weight : float
        Sum of the rows' weights.
    weights : ndarray of shape (n_components,), (n_clusters,) or (n_units,)
        The share of each component, cluster or unit in it.
    whole : bool
        Whether all parts of the whole are there (see :func:`accumulate`).
    log_likelihood, mean_log_likelihood : float
        Mixtures: of the rows under the model, in all and per unit of weight (an entry of ``lower_bounds_``).
    inertia : float
        k-means: an entry of ``inertias_``.
    label_fingerprint : int
        k-means: of all labels. When it stays the same from one iteration to the next, no label changed.
    quantization_error : float
        Maps: an entry of ``quantization_errors_``.
    centre, row_mean : ndarray of shape (n_features,)
        Maps: what the sums are about, and the rows' mean.
    """

    __slots__ = ("_held", "family")
    _held: Any  # the extension's
    family: str

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return getattr(self._held, name)
        except AttributeError:
            raise AttributeError(f"statistics of {self.family} have no {name!r}") from None

    @property
    def n_rows(self) -> int:
        return self._held.rows

    def to_bytes(self) -> bytes:
        """The flat form.

        Returns
        -------
        bytes
            What :meth:`from_bytes` takes, on any machine.
        """
        return self._held.write()

    @staticmethod
    def from_bytes(form: bytes) -> Statistics:
        """Statistics from their flat form.

        Parameters
        ----------
        form : bytes
            What :meth:`to_bytes` gave.

        Returns
        -------
        Statistics

        Raises
        ------
        ValueError
            When it is damaged, of another version, or no statistics.
        """
        return _holding(_of_family(_family_of(form), "statistics_read")(form))

    def __reduce__(self):
        return Statistics.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"<shoal.statistics.Statistics of {self.family}: {self.n_rows} rows>"


def accumulate(estimator, X, sample_weight=None, *, first_row=0, total_rows=0, centre=None) -> Statistics:
    """One pass over rows: the statistics that an iteration of ``fit`` makes of them.

    Parameters
    ----------
    estimator : estimator of this package
        A fitted one, whose model and resources are used.
    X : array-like of shape (n_samples, n_features)
        Rows.
    sample_weight : array-like of shape (n_samples,), float or None, default=None
        Weights, not negative.
    first_row : int, default=0
        When X is a part of more rows: the index of its first row among them all.
    total_rows : int, default=0
        When X is a part of more rows: how many there are in all parts together. Parts that are cut where :func:`cut_rows`
        says then combine to the bits of one fold; others, and rows without a place, agree up to rounding.
    centre : array-like of shape (n_features,) or None, default=None
        Maps: what the sums are about; None is the mean of X. ``fit`` takes that of all rows: for its very bits, pass
        ``row_mean`` of all parts combined.

    Returns
    -------
    Statistics

    Raises
    ------
    ValueError
        As ``fit``; and for an algorithm that is no sum over the rows: online maps, and mixtures whose model moves within a
        pass (incremental, asynchronous, stepwise).
    """
    _require(estimator)
    data = read_rows(estimator, X, reset=False, sample_weight=sample_weight)
    place = {"first": _count("first_row", first_row), "total": _count("total_rows", total_rows)}
    if hasattr(estimator, "_about"):
        place |= estimator._about(centre)
    elif centre is not None:
        raise ValueError("centre is of maps; what other statistics are about is in the model")
    model, shape = estimator._model()
    how = resources(estimator, data, len(model[-1]))
    with named_errors():
        return _holding(_of(estimator, "accumulate")(data.rows, *model, **shape, **place, **how))


def combine(*statistics: Statistics) -> Statistics:
    """The statistics of the rows of all.

    Parameters
    ----------
    *statistics : Statistics
        At least one. Up to rounding the order does not matter.

    Returns
    -------
    Statistics

    Raises
    ------
    ValueError
        When they are of different families, models, shapes or scalars, or of parts of different wholes, saying what
        differs; when a row is in two of them.
    """
    if not statistics:
        raise ValueError("combine needs at least one value; got none")
    held = statistics[0]._held
    for other in statistics[1:]:
        held = held.combine(_same_family(statistics[0], other)._held)
    return _holding(held)


def subtract(statistics: Statistics, other: Statistics) -> Statistics:
    """The statistics of the rows that are left when some are taken out, up to rounding.

    Parameters
    ----------
    statistics : Statistics
        Of all rows.
    other : Statistics
        Of some of these rows.

    Returns
    -------
    Statistics
        They have no place among other parts any more.

    Raises
    ------
    ValueError
        As :func:`combine`, and when ``other`` weighs more.
    """
    return _holding(statistics._held.subtract(_same_family(statistics, other)._held))


def maximise(statistics: Statistics, estimator, *, epoch=None):
    """The model that one iteration of ``fit`` makes of the rows.

    Parameters
    ----------
    statistics : Statistics
        Of all rows, accumulated under the estimator's model.
    estimator : estimator of this package
        The one that they were accumulated under. It is not changed.
    epoch : int or None, default=None
        Maps: which of ``estimator.epochs`` it is, from 0. The radius depends on it.

    Returns
    -------
    estimator
        A new one with the parameters of ``estimator`` and the next model. A component, cluster or unit without rows stays
        where it is, where ``fit`` would look for a new place.

    Raises
    ------
    ValueError
        When the statistics are of another model.
    """
    _require(estimator)
    if statistics.family != estimator._family:
        raise ValueError(f"these are statistics of {statistics.family}, and the estimator is a {type(estimator).__name__}")
    options = estimator._maximise_options(None if epoch is None else _count("epoch", epoch))
    model, shape = estimator._model()
    moved = clone(estimator)
    for name in ("n_features_in_", "feature_names_in_"):
        if name in estimator.__dict__:
            setattr(moved, name, getattr(estimator, name))
    moved._take_maximised(_of(estimator, "maximise")(statistics._held, *model, **shape, **options))
    return moved


def cut_rows(estimator, n_rows, n_parts, *, dtype=np.float64) -> list[int]:
    """Where rows can be cut into parts that combine to the bits of one fold.

    Parameters
    ----------
    estimator : estimator of this package
        A fitted one: the cut depends on the size of its model.
    n_rows : int
        All rows.
    n_parts : int
        Parts that are wanted.
    dtype : dtype, default=float64
        What the rows are folded in: float32 or float64.

    Returns
    -------
    list of int
        Row numbers from 0 to ``n_rows``: part i is ``[cuts[i], cuts[i + 1])``. As near to equal parts as can be; fewer
        where there are few rows.
    """
    _require(estimator)
    model, shape = estimator._model()
    return _of(estimator, "cut_rows")(
        *model,
        **shape,
        count=_count("n_rows", n_rows),
        scalar_bytes=np.dtype(dtype).itemsize,
        parts=_count("n_parts", n_parts),
    )


def save(statistics: Statistics, path) -> None:
    """Writes a file, whole or not at all.

    Parameters
    ----------
    statistics : Statistics
        What to write.
    path : str or os.PathLike
        The file, which is replaced.
    """
    statistics._held.save(os.fspath(path))


def load(path) -> Statistics:
    """Reads a file of :func:`save`.

    Parameters
    ----------
    path : str or os.PathLike
        The file.

    Returns
    -------
    Statistics

    Raises
    ------
    ValueError
        When it is damaged, of another version, or no statistics.
    OSError
        When it cannot be read.
    """
    with open(path, "rb") as file:
        family = _family_of(file.read(_FAMILY_BYTES.stop))
    return _holding(_of_family(family, "statistics_load")(os.fspath(path)))


def _holding(held) -> Statistics:
    made = Statistics()
    made._held = held
    made.family = type(held).__name__.removesuffix("_statistics")
    return made


def _of_family(family: str, what: str):
    return getattr(_shoal, f"{family}_{what}")


def _of(estimator, what: str):
    return _of_family(estimator._family, what)


def _families() -> list[str]:
    from . import _ESTIMATORS

    return [kind._family for kind in _ESTIMATORS]


def _family_of(form: bytes) -> str:
    # Any other bytes are refused by the reader of one family, which says what is wrong with them.
    family = bytes(form[_FAMILY_BYTES]).rstrip(b"\0").decode("latin-1")
    return family if family in _families() else _families()[0]


def _same_family(one: Statistics, other: Statistics) -> Statistics:
    if one.family != other.family:
        raise ValueError(f"these statistics cannot be combined: one are of {one.family}, the others of {other.family}")
    return other


def _require(estimator) -> None:
    from . import _ESTIMATORS

    if not isinstance(estimator, _ESTIMATORS):
        names = ", ".join(kind.__name__ for kind in _ESTIMATORS)
        raise TypeError(f"statistics are made under one of {names}; got {type(estimator).__name__}")
    estimator._require_fold()
    check_is_fitted(estimator)


def _count(name: str, value) -> int:
    if not isinstance(value, Integral) or value < 0:
        raise ValueError(f"{name} must be an integer, not negative; got {value!r}")
    return int(value)
