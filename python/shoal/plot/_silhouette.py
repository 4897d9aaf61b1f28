"""How well each row belongs to its group, group by group."""

import numpy as np
from scipy.spatial.distance import cdist

from .. import _fitted_groups as _fits
from . import _style
from .._drawn_rows import DEFAULT_MAX_POINTS, Sample, to_host


def silhouette(estimator, X, *, max_points=DEFAULT_MAX_POINTS, ax=None):
    """One bar for each row, the longest first within its group: how clearly the row belongs there.

    Of a mixture it is the responsibility of the chosen component, from 1/K to 1. Of k-means it is the simplified
    silhouette (b − a) / max(a, b) with a the distance to the row's own centroid and b to the second nearest (Hruschka,
    de Castro & Campello 2004), from 0 (on the border) to 1. It takes rows × groups distances, where Rousseeuw's
    silhouette (1987) takes one for each pair of rows, and so can be drawn for any data. The dashed line is the mean of
    all rows, the number on the right the mean of a group.

    Parameters
    ----------
    estimator : fitted GaussianMixture or KMeans
        With two groups or more.
    X : array-like of shape (n_samples, n_features)
        Rows to draw.
    max_points : int, default=5000
        Most rows to draw: one from each of as many equal stretches, at a hashed place, the same every time.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        When ``estimator`` is neither a mixture nor k-means, or ``ax`` is no axes.
    ValueError
        When ``X`` or ``max_points`` does not fit, or ``estimator`` has only one group; the message names it.
    sklearn.exceptions.NotFittedError
        When ``estimator`` is not fitted.
    """
    mixture = _fits.is_mixture(estimator)
    _fits.check_estimator(estimator, needs=["predict_proba"] if mixture else [])
    groups = len(_fits.centres(estimator))
    if groups < 2:
        raise ValueError("estimator has only one group; a silhouette needs at least two")
    sample = Sample(X, max_points)
    _fits.check_width(sample, estimator)
    ax = _style.new_axes(ax)
    labels, values = _memberships(estimator, sample.native) if mixture else _silhouettes(estimator, sample.values)
    gap = max(1, round(0.012 * len(values)))
    places, ticks = 0, []
    for group in range(groups):
        bars = np.sort(values[labels == group])[::-1]
        if len(bars) == 0:
            ticks.append((places, f"{group} (no rows)"))
            places += 2 * gap
            continue
        height = np.arange(places, places + len(bars) + 1)
        ax.fill_betweenx(height, np.append(bars, bars[-1]), step="post", color=_style.colour(group), linewidth=0)
        ticks.append((places + len(bars) / 2, str(group)))
        ax.text(
            1.015,
            places + len(bars) / 2,
            f"{bars.mean():.2f}",
            transform=ax.get_yaxis_transform(),
            va="center",
            fontsize="small",
            color=_style.muted(),
        )
        places += len(bars) + gap
    ax.axvline(values.mean(), color=_style.ink(), linestyle=(0, (4, 2.5)), linewidth=1.3)
    ax.set_yticks([place for place, _ in ticks], [name for _, name in ticks])
    ax.set_ylim(places, -gap)
    ax.set_xlim(0, 1)
    ax.set_xlabel("responsibility of the chosen component" if mixture else "simplified silhouette")
    ax.set_ylabel("component" if mixture else "cluster")
    _style.note(ax, sample.note)
    _style.finish(ax, lines="x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _memberships(estimator, rows):
    shares = to_host(estimator.predict_proba(rows)).astype(np.float64)
    return shares.argmax(axis=1), shares.max(axis=1)


def _silhouettes(estimator, rows):
    distances = cdist(rows, _fits.centres(estimator))
    labels = distances.argmin(axis=1)
    own, second = np.partition(distances, 1, axis=1)[:, :2].T
    # A row on two centroids at once belongs to neither more than to the other.
    return labels, np.divide(second - own, second, out=np.zeros_like(second), where=second > 0)
