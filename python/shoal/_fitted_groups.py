"""What a fitted estimator says of its groups, whichever kind it is."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._drawn_rows import to_host


def is_mixture(estimator):
    return hasattr(estimator, "covariance_type")


def check_estimator(estimator, *, needs=()):
    """Refuses what is no fitted mixture or k-means, by the argument's name."""
    kind = type(estimator).__name__
    if not is_mixture(estimator) and not hasattr(estimator, "n_clusters"):
        raise TypeError(f"estimator must be a Gaussian mixture or k-means, not {kind}")
    for method in needs:
        if not hasattr(estimator, method):
            raise TypeError(f"estimator must have {method}(); {kind} has none")
    check_is_fitted(estimator)


def centres(estimator):
    """Means or centroids, (groups, columns)."""
    return to_host(estimator.means_ if is_mixture(estimator) else estimator.cluster_centers_).astype(np.float64)


def weights(estimator):
    return to_host(estimator.weights_).astype(np.float64)


def marginal_covariances(estimator, columns):
    """Covariances of the chosen columns, (groups, len(columns), len(columns)).

    A marginal of a Gaussian is the Gaussian of the rows and columns kept, so nothing is approximated.
    """
    groups, chosen = len(centres(estimator)), np.asarray(columns)
    stored = to_host(estimator.covariances_).astype(np.float64)
    kind = estimator.covariance_type
    if kind == "full":
        return stored[:, chosen[:, None], chosen]
    if kind == "tied":
        return np.broadcast_to(stored[chosen[:, None], chosen], (groups, len(chosen), len(chosen)))
    identity = np.eye(len(chosen))
    if kind == "diag":
        return stored[:, chosen, None] * identity
    return stored[:, None, None] * identity


def check_columns(columns, count):
    """The columns to draw as a tuple of one or two numbers; by default the first two, or the only one."""
    if columns is None:
        return (0, 1) if count > 1 else (0,)
    chosen = (columns,) if isinstance(columns, (int, np.integer)) else tuple(columns)
    if not 1 <= len(chosen) <= 2:
        raise ValueError(f"columns must name one or two columns, not {len(chosen)}")
    for column in chosen:
        if isinstance(column, bool) or not isinstance(column, (int, np.integer)) or not 0 <= column < count:
            raise ValueError(f"columns holds {column!r}; the fit has columns 0 to {count - 1}")
    return tuple(int(column) for column in chosen)


def column_name(estimator, sample, column):
    names = getattr(estimator, "feature_names_in_", None)
    if names is None and sample is not None:
        names = sample.column_names
    return f"column {column}" if names is None else str(names[column])


def check_width(sample, estimator):
    width = centres(estimator).shape[1]
    if sample.values.shape[1] != width:
        raise ValueError(f"X has {sample.values.shape[1]} columns; the estimator was fitted to {width}")
