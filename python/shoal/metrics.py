"""How well two clusterings agree, and how well one keeps its rows apart: scikit-learn's indices, to 1e-12."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from . import _shoal
from ._input import refuse_masked
from ._running import counted

__all__ = [
    "agreement",
    "centroid_index",
    "contingency",
    "modelling_error",
    "separation",
    "simplified_silhouette",
]


def _labels(labels: Any) -> np.ndarray:
    refuse_masked(labels, "labels")
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise ValueError(f"labels must have one dimension; got {labels.ndim}")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(f"the label of row {np.flatnonzero(np.isnan(labels))[0]} (counting from 0) is NaN; give each row a label")
    return labels


def _numbered(labels: Any) -> np.ndarray:
    # Names are numbered; numbers would be too, but the library takes them as they are.
    labels = _labels(labels)
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
    return _shoal.metrics_separation(_rows(X), _numbered(labels), counted(n_threads, "n_threads"))


def _rows(X: Any, name: str = "X") -> np.ndarray:
    """Numbers that are all there: of values that are not finite some indices would be plausible numbers."""
    refuse_masked(X, name)
    return check_array(X, dtype=np.float64, order="C", ensure_min_samples=0, input_name=name)


def contingency(labels_true: Any, labels_found: Any) -> dict[str, np.ndarray]:
    """How many rows carry each pair of labels, and the best one-to-one match of the groups.

    Parameters
    ----------
    labels_true, labels_found : array-like of shape (n_rows,)

    Returns
    -------
    dict of str to ndarray
        ``counts`` of shape (true groups, found groups), ``true_labels`` and ``found_labels``, ascending, and ``match``: for each true
        group the index of its found group, or -1.
    """
    true_names, truth = np.unique(_labels(labels_true), return_inverse=True)
    found_names, found = np.unique(_labels(labels_found), return_inverse=True)
    table = _shoal.metrics_contingency(truth.astype(np.int32), found.astype(np.int32))
    return {
        "counts": np.array(table["counts"], dtype=np.int64).reshape(true_names.size, found_names.size),
        "true_labels": true_names,
        "found_labels": found_names,
        "match": np.array(table["match"], dtype=np.int64),
    }


def simplified_silhouette(X: Any, labels: Any, centroids: Any) -> float:
    """The silhouette with distances to centroids in place of mean distances: one pass over the rows.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
    labels : array-like of shape (n_rows,)
        The number of each row's centroid.
    centroids : array-like of shape (n_clusters, n_columns)

    Returns
    -------
    float
    """
    given = _labels(labels)
    middles = _rows(centroids, "centroids")
    # Whole numbers that a conversion to 32 bits does not change; a centroid's number is small.
    wrong = np.flatnonzero(~np.isin(given, np.arange(len(middles))))
    if wrong.size:
        raise ValueError(f"row {wrong[0]} has label {given[wrong[0]]}, which is no centroid's number")
    return _shoal.metrics_simplified_silhouette(_rows(X), np.ascontiguousarray(given, dtype=np.int32), middles)


def centroid_index(centroids: Any, others: Any) -> int:
    """The number of centroids that no centroid of the other set has as its nearest, the greater of both directions.

    Parameters
    ----------
    centroids, others : array-like of shape (n_clusters, n_columns)

    Returns
    -------
    int
        0 when both find the same groups.
    """
    return _shoal.metrics_centroid_index(_rows(centroids, "centroids"), _rows(others, "others"))


def modelling_error(desired: Any, found: Any) -> tuple[float, np.ndarray]:
    """The mean squared error of memberships, for the match of components that makes it least.

    Parameters
    ----------
    desired, found : array-like of shape (n_rows, n_components)
        Probabilities, which sum to one over a row.

    Returns
    -------
    error : float
    match : ndarray of int64
        For each desired component the found one, or -1.
    """
    pair = (_rows(desired, "desired"), _rows(found, "found"))
    return _shoal.metrics_modelling_error(*pair), np.array(_shoal.metrics_matched_components(*pair), dtype=np.int64)
