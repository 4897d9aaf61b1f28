"""How well two clusterings agree, and how well one keeps its rows apart: scikit-learn's indices, to 1e-12."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _shoal

__all__ = ["agreement", "separation"]


def _numbered(labels: Any) -> np.ndarray:
    # Names are numbered; numbers would be too, but the library takes them as they are.
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise ValueError(f"labels must have one dimension; got {labels.ndim}")
    if labels.dtype == np.int32:
        return np.ascontiguousarray(labels)
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def agreement(labels_true: Any, labels_found: Any) -> dict[str, float]:
    """Indices of the agreement of two labellings, all from one table of their pairs.

    Parameters
    ----------
    labels_true, labels_found : array-like of shape (n_rows,)

    Returns
    -------
    dict of str to float
        ``rand_index``, ``adjusted_rand_index``, ``mutual_information``, ``normalized_mutual_information``,
        ``adjusted_mutual_information``, ``homogeneity``, ``completeness``, ``v_measure``, ``fowlkes_mallows_index``, and
        ``matched_accuracy``: the share of rows in groups that the best one-to-one match pairs.
    """
    return _shoal.metrics_agreement(_numbered(labels_true), _numbered(labels_found))


def separation(X: Any, labels: Any, *, n_threads: int = 0) -> dict[str, float]:
    """Indices of how far groups of rows lie apart.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
    labels : array-like of shape (n_rows,)
    n_threads : int
        0: all that the process may use.

    Returns
    -------
    dict of str to float
        ``silhouette`` (of all pairs of rows), ``davies_bouldin_index`` and ``calinski_harabasz_index``.
    """
    return _shoal.metrics_separation(np.ascontiguousarray(X, dtype=np.float64), _numbered(labels), n_threads)
