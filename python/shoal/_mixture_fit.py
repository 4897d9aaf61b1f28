"""One fit of a mixture: what it begins from (a model, parts of one, or the rows alone), and its run."""

from __future__ import annotations

import math

import numpy as np
from sklearn.utils import check_array

from . import _device_arrays as device_arrays
from . import _shoal
from ._covariances import covariance_shape, inverted
from ._input import Data
from ._running import ILL_DEFINED, checkpoint_of, nth_seed, reporter, resources, seed_of


def require_rows(rows: int, components: int) -> None:
    """Refuses fewer rows than components."""
    if rows < components:
        raise ValueError(
            f"Expected n_samples >= n_components but got n_components = {components}, n_samples = {rows}"
        )


def check_algorithm(mixture) -> None:
    """Refuses parameters that do not go together."""
    if mixture.acceleration is not None and mixture.algorithm != "batch":
        raise ValueError(f"acceleration={mixture.acceleration!r} needs algorithm='batch'; got {mixture.algorithm!r}")
    suits = mixture.algorithm in ("batch", "asynchronous") and mixture.acceleration is None
    if mixture.async_em_2013 and not suits:
        raise ValueError("async_em_2013=True needs algorithm='asynchronous' or 'batch', and acceleration=None")
    if mixture.threshold > 0 and mixture.algorithm != "asynchronous" and not mixture.async_em_2013:
        raise ValueError(f"threshold needs algorithm='asynchronous'; got {mixture.algorithm!r}")


def resumed(mixture, data: Data, labels) -> dict:
    """Fits on from the model of the last fit."""
    start = (mixture.weights_, mixture.means_, mixture.covariances_)
    # None after max_iter=0, which compared nothing.
    before = mixture.lower_bound_ if math.isfinite(mixture.lower_bound_) else None
    return _run(mixture, data, labels, init="model", start=start, previous=before)


def from_scratch(mixture, data: Data, labels) -> dict:
    """Fits from what the user gave and ``init_params``."""
    given = _given(mixture, data.columns)
    seed = seed_of(mixture.random_state)
    if all(part is not None for part in given):
        return _run(mixture, data, labels, init="model", start=given)
    points = mixture.init_params in ("k-means++", "random_from_data")
    if not points and all(part is None for part in given):
        return _run(mixture, data, labels, init=mixture.init_params, seed=seed, restarts=mixture.n_init)
    # The library's first model with some of its parts replaced, one initialization after another.
    best: dict = {}
    for restart in range(mixture.n_init):
        once = {"seed": nth_seed(seed, restart), "max_iter": 0, "quiet": True}
        first = _run(mixture, data, None, init=mixture.init_params, **once)
        weights, means, covariances = first["weights"], first["means"], first["covariances"]
        if points:
            covariances = _smallest_covariances(mixture, data.columns)
        start = [mine if mine is not None else theirs for mine, theirs in zip(given, (weights, means, covariances))]
        fitted = _run(mixture, data, None, init="model", start=start)
        if not best or fitted["mean_log_likelihood"] > best["mean_log_likelihood"]:
            best = fitted
    if labels is not None:
        mixture._predict_into(data, best, labels=labels)
    return best


def _run(mixture, data, labels, *, init, start=None, seed=0, restarts=1, previous=None, max_iter=None, quiet=False):
    if start is not None:
        start = tuple(np.ascontiguousarray(part, dtype=np.float64) for part in start)
    iterations = int(mixture.max_iter if max_iter is None else max_iter)
    report = None
    if not quiet:
        report = reporter(mixture.callback, mixture.verbose, mixture.verbose_interval, mixture._objective[1])
    return _shoal.gmm_fit(
        data.rows,
        components=mixture.n_components,
        covariance_type=mixture.covariance_type,
        init=init,
        start=start,
        max_iterations=iterations,
        tolerance=mixture.tol,
        regularization=mixture.reg_covar,
        restarts=restarts,
        seed=seed,
        previous_log_likelihood=previous,
        algorithm=mixture.algorithm,
        acceleration=mixture.acceleration or "none",
        chunk_rows=mixture.chunk_rows or 0,
        superchunks=mixture.superchunks or 0,
        threshold=float(mixture.threshold),
        step_exponent=float(mixture.step_decay),
        async_em_2013=bool(mixture.async_em_2013),
        checkpoint="" if quiet else checkpoint_of(mixture),
        labels=labels,
        report=report,
        **resources(mixture, data, mixture.n_components, iterations * int(restarts)),
    )


def _smallest_covariances(mixture, columns: int) -> np.ndarray:
    if mixture.reg_covar == 0:
        raise ValueError(f"{ILL_DEFINED} (init_params={mixture.init_params!r} starts from covariances of reg_covar.)")
    kind, K = mixture.covariance_type, mixture.n_components
    if kind == "spherical":
        return np.full(K, float(mixture.reg_covar))
    if kind == "diag":
        return np.full((K, columns), float(mixture.reg_covar))
    matrix = float(mixture.reg_covar) * np.eye(columns)
    return matrix if kind == "tied" else np.tile(matrix, (K, 1, 1))


def _given(mixture, columns: int) -> tuple:
    """weights_init, means_init and the covariances of precisions_init, checked; None where not given."""
    K, kind = mixture.n_components, mixture.covariance_type
    weights = means = covariances = None
    if mixture.weights_init is not None:
        weights = _parameter(mixture.weights_init, "weights_init")
        _require_shape(weights, (K,), "weights")
        if np.any(weights < 0) or np.any(weights > 1):
            raise ValueError(
                "The parameter 'weights' should be in the range [0, 1], but got max value "
                f"{weights.min():.5f}, min value {weights.max():.5f}"
            )
        if abs(weights.sum() - 1) > 1e-6:
            raise ValueError(
                f"The parameter 'weights' should be normalized, but got sum(weights) = {weights.sum():.5f}"
            )
    if mixture.means_init is not None:
        means = _parameter(mixture.means_init, "means_init")
        _require_shape(means, (K, columns), "means")
    if mixture.precisions_init is not None:
        precisions = _parameter(mixture.precisions_init, "precisions_init")
        _require_shape(precisions, covariance_shape(kind, K, columns), f"{kind} precision")
        covariances = inverted(precisions, kind)
    return weights, means, covariances


def _parameter(given, name: str) -> np.ndarray:
    """A parameter of the user's, wherever it lies, in float64 on the host."""
    given = device_arrays.copied_to_host(given)
    return check_array(given, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name=name)


def _require_shape(array, shape, name) -> None:
    if array.shape != shape:
        raise ValueError(f"The parameter '{name}' should have the shape of {shape}, but got {array.shape}")
