"""Covariances, precisions and their factors in the shapes that scikit-learn gives them."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from ._running import ILL_DEFINED


def covariance_shape(kind: str, components: int, columns: int) -> tuple:
    """Of the covariances of a mixture."""
    return {
        "full": (components, columns, columns),
        "tied": (columns, columns),
        "diag": (components, columns),
        "spherical": (components,),
    }[kind]


def inverted(precisions: np.ndarray, kind: str) -> np.ndarray:
    """Covariances, of precisions that a user gave."""
    if kind in ("diag", "spherical"):
        if np.any(precisions <= 0):
            raise ValueError(f"'{kind} precision' should be positive")
        return 1 / precisions
    try:
        definite = np.allclose(precisions, np.swapaxes(precisions, -1, -2))
        np.linalg.cholesky(precisions)  # takes a sixth of what eigenvalues take
    except np.linalg.LinAlgError:
        definite = False
    if not definite:
        raise ValueError(f"'{kind} precision' should be symmetric, positive-definite")
    inverse = np.linalg.inv(precisions)
    return (inverse + np.swapaxes(inverse, -1, -2)) / 2


def precision_factors(covariances: np.ndarray, kind: str) -> np.ndarray:
    """U with precision = U U^T: the transposed inverse of the covariance's lower factor."""
    if kind in ("diag", "spherical"):
        return 1 / np.sqrt(covariances)
    factors = np.empty_like(covariances)
    for matrix, factor in zip(_matrices(covariances), _matrices(factors)):
        lower, failed = lapack.dpotrf(matrix, lower=1)
        if not failed:
            inverse, failed = lapack.dtrtri(lower, lower=1)
        if failed:
            raise ValueError(ILL_DEFINED)
        factor[...] = np.tril(inverse).T
    return factors


def _matrices(stack: np.ndarray):
    return stack[np.newaxis] if stack.ndim == 2 else stack
