"""select_components: fits for several numbers of components, and a table of what they cost."""

from __future__ import annotations

import numbers
import time
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _num_samples

from ._gaussian_mixture import GaussianMixture
from ._mixture_fit import require_rows
from ._running import ILL_DEFINED


class Selection(NamedTuple):
    """What :func:`select_components` returns.

    Attributes
    ----------
    best_estimator : GaussianMixture
        The fitted mixture whose criterion is least.
    best : dict
        Its line of the table.
    table : list of dict
        For each fit, in the order tried: ``n_components``, ``covariance_type``, ``bic``, ``aic``,
        ``mean_log_likelihood``, ``n_iter``, ``converged``, ``seconds``, and ``failure``, which is None or says why there
        are no figures. ``pandas.DataFrame(table)`` makes it a frame.
    criterion : str
        'bic' or 'aic'.
    """

    best_estimator: GaussianMixture
    best: dict[str, Any]
    table: list[dict[str, Any]]
    criterion: str


def select_components(
    X,
    n_components=range(1, 11),
    *,
    covariance_types=("full",),
    criterion="bic",
    estimator=None,
    sample_weight=None,
    **parameters,
) -> Selection:
    """Fits mixtures of several numbers of components and kinds of covariance, and keeps the one of least BIC or AIC.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    n_components : iterable of int, default=range(1, 11)
        Numbers of components to try.
    covariance_types : iterable of str, default=('full',)
        Kinds of covariance to try with each.
    criterion : {'bic', 'aic'}, default='bic'
        What is to be least. Ties go to the first that was tried.
    estimator : GaussianMixture or None, default=None
        What to fit copies of; None is ``GaussianMixture(**parameters)``.
    sample_weight : array-like of shape (n_samples,), float or None, default=None
        Weights of the rows; their sum stands for the number of rows in the criteria.
    **parameters
        Parameters of the mixtures, such as ``random_state`` and ``n_init``.

    Returns
    -------
    selection : Selection
        ``(best_estimator, best, table, criterion)``. A number of components whose covariances collapse has no figures
        and is not chosen; ValueError is raised when all collapse.
    """
    if criterion not in ("bic", "aic"):
        raise ValueError(f"criterion must be 'bic' or 'aic'; got {criterion!r}")
    for name, values in (("n_components", n_components), ("covariance_types", covariance_types)):
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ValueError(f"{name} must be a list or a range of values; got {values!r}")
    counts, kinds = list(n_components), list(covariance_types)
    if not counts or not kinds:
        raise ValueError("n_components and covariance_types must name at least one value each")
    for count in counts:
        if isinstance(count, numbers.Integral):  # what is not is refused by the fit
            require_rows(_num_samples(X), int(count))
    base = GaussianMixture() if estimator is None else estimator
    table: list[dict[str, Any]] = []
    best: dict[str, Any] = {}
    best_estimator = base
    for kind in kinds:
        for count in counts:
            mixture = clone(base).set_params(n_components=count, covariance_type=kind, **parameters)
            line = _fit(mixture, X, sample_weight)
            table.append(line)
            if line["failure"] is None and (not best or line[criterion] < best[criterion]):
                best, best_estimator = line, mixture
    if not best:
        raise ValueError(f"no number of components could be fitted: {table[-1]['failure']}")
    return Selection(best_estimator, best, table, criterion)


def _fit(mixture: GaussianMixture, X, sample_weight) -> dict[str, Any]:
    line: dict[str, Any] = {
        "n_components": mixture.n_components,
        "covariance_type": mixture.covariance_type,
        **dict.fromkeys(("bic", "aic", "mean_log_likelihood", "n_iter", "converged")),
    }
    started = time.perf_counter()
    failure = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the table says it
            mixture.fit(X, sample_weight=sample_weight)
        line.update(mixture._criteria)
        line.update(n_iter=mixture.n_iter_, converged=mixture.converged_)
    except ValueError as error:
        if not str(error).startswith(ILL_DEFINED):
            raise
        failure = str(error)
    line.update(seconds=time.perf_counter() - started, failure=failure)
    return line
