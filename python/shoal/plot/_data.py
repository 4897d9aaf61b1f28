"""Rows with the components or centroids that were fitted to them."""

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse

from .. import _fitted_groups as _fits
from . import _style
from .._drawn_rows import DEFAULT_MAX_POINTS, Sample, drawing_order, to_host

_NUMBERED = 40
_LINES = ("-", (0, (4, 2.5)), (0, (1, 1.5)))


def data(estimator, X=None, *, columns=None, labels=None, sigmas=(1, 2), max_points=DEFAULT_MAX_POINTS, ax=None):
    """Rows, coloured by group, with the ellipses of a mixture or the centroids of k-means.

    Parameters
    ----------
    estimator : fitted GaussianMixture or KMeans
        Covariances of each type are drawn: full, tied, diag, spherical.
    X : array-like of shape (n_samples, n_features), optional
        Rows to draw. Without them the fit is drawn alone.
    columns : int or pair of int, optional
        Which columns to draw, from 0: the first two unless said otherwise. The ellipses are those of the marginal
        distribution in these columns, exactly. One column is drawn as a histogram of density, with the densities of
        the components (each times its weight, in units of one over the column's unit) over it.
    labels : array-like of shape (n_samples,), optional
        Groups to colour by, integers of at least 0; by default what ``estimator.predict`` says of the rows drawn.
    sigmas : sequence of float, default=(1, 2)
        Mahalanobis distances at which ellipses are drawn, at most three. In two columns the first two hold 39 % and
        86 % of a component.
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
        When ``X``, ``columns``, ``labels``, ``sigmas`` or ``max_points`` does not fit; the message names it.
    sklearn.exceptions.NotFittedError
        When ``estimator`` is not fitted.
    """
    _fits.check_estimator(estimator)
    centres = _fits.centres(estimator)
    chosen = _fits.check_columns(columns, centres.shape[1])
    sigmas = _check_sigmas(sigmas)
    if X is None and labels is not None:
        raise ValueError("labels need X: pass the rows too")
    sample = None if X is None else Sample(X, max_points)
    if sample is not None:
        _fits.check_width(sample, estimator)
        labels = _sampled_labels(estimator, sample, labels)
    ax = _style.new_axes(ax)
    if len(chosen) == 1:
        _draw_column(ax, estimator, sample, chosen[0])
    else:
        _draw_pair(ax, estimator, sample, labels, chosen, sigmas)
    return ax


def _check_sigmas(sigmas):
    values = np.atleast_1d(np.asarray(sigmas, dtype=np.float64))
    if values.ndim != 1 or len(values) > len(_LINES) or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"sigmas must be at most three positive numbers, not {sigmas!r}")
    return values


def _sampled_labels(estimator, sample, labels):
    if labels is None:
        return to_host(estimator.predict(sample.native))
    labels = to_host(labels)
    if labels.shape != (sample.rows_in_all,):
        raise ValueError(
            f"labels must have one value for each of the {sample.rows_in_all} rows; its shape is {labels.shape}"
        )
    if not np.issubdtype(labels.dtype, np.integer) or labels.min() < 0:
        raise ValueError("labels must be integers of at least 0")
    return labels[sample.indices]


def _draw_pair(ax, estimator, sample, labels, columns, sigmas):
    centres = _fits.centres(estimator)[:, columns]
    if sample is not None:
        draw_points(ax, sample.values[:, columns], _style.colours(labels))
    if _fits.is_mixture(estimator):
        covariances = _fits.marginal_covariances(estimator, columns)
        for group, (centre, covariance) in enumerate(zip(centres, covariances)):
            for sigma, line in zip(sigmas, _LINES):
                _draw_ellipse(ax, centre, covariance, sigma, _style.colour(group), line, fits=sample is None)
    draw_centres(ax, centres)
    handles = []
    if _fits.is_mixture(estimator):
        handles = [
            Line2D([], [], color=_style.ink(), linestyle=line, linewidth=1.6, label=f"{sigma:g}σ")
            for sigma, line in zip(sigmas, _LINES)
        ]
    word = "mean" if _fits.is_mixture(estimator) else "centroid"
    handles.append(Line2D([], [], color=_style.ink(), marker="P", linestyle="", markersize=7, label=word))
    _style.legend(ax, handles)
    name_axes(ax, estimator, sample, columns)
    _style.finish(ax)


def draw_points(ax, points, colours):
    """Dots in a fixed shuffled order, the fainter the more there are."""
    count = len(points)
    order = drawing_order(count)
    opacity, size = (0.75, 22) if count <= 500 else (0.6, 14) if count <= 2000 else (0.45, 8)
    ax.scatter(*points[order].T, c=colours[order], s=size, alpha=opacity, linewidths=0)


def draw_centres(ax, centres):
    """A cross for each group, and its number."""
    for group, (x, y) in enumerate(centres):
        ax.plot(
            x, y, marker="P", markersize=10, color=_style.colour(group), markeredgecolor=_style.paper(), markeredgewidth=1.2
        )
        if 1 < len(centres) <= _NUMBERED:
            ax.annotate(
                str(group),
                (x, y),
                xytext=(7, 5),
                textcoords="offset points",
                fontsize="small",
                fontweight="bold",
                color=_style.ink(),
                path_effects=_style.halo(),
            )


def name_axes(ax, estimator, sample, columns):
    ax.set_xlabel(_fits.column_name(estimator, sample, columns[0]))
    ax.set_ylabel(_fits.column_name(estimator, sample, columns[1]))
    _style.note(ax, "" if sample is None else sample.note)


def _draw_ellipse(ax, centre, covariance, sigma, colour, line, fits):
    variances, axes = np.linalg.eigh(covariance)
    # Rounding can leave a variance of a flat component just below zero.
    minor, major = 2 * sigma * np.sqrt(np.maximum(variances, 0))
    angle = np.degrees(np.arctan2(axes[1, 1], axes[0, 1]))
    patch = Ellipse(
        centre,
        major,
        minor,
        angle=angle,
        fill=False,
        edgecolor=colour,
        linestyle=line,
        linewidth=1.8,
        path_effects=_style.halo(3.4),
    )
    # A broad component must not push the rows into a corner: with rows, they alone decide the frame.
    if fits:
        ax.add_patch(patch)
        ax.autoscale_view()
    else:
        ax.add_artist(patch)
        patch.set_clip_path(ax.patch)


def _draw_column(ax, estimator, sample, column):
    centres = _fits.centres(estimator)[:, column]
    if sample is not None:
        values = sample.values[:, column]
        ax.hist(values, bins="fd" if np.ptp(values) > 0 else 1, density=True, color=_style.axis(), alpha=0.55)
    if _fits.is_mixture(estimator):
        deviations = np.sqrt(_fits.marginal_covariances(estimator, (column,))[:, 0, 0])
        low, high = np.min(centres - 4 * deviations), np.max(centres + 4 * deviations)
        if sample is not None:
            low, high = values.min(), values.max()
        # Half of the places are spread evenly, half lie about the means, where a narrow component needs them.
        about = (centres[:, None] + deviations[:, None] * np.linspace(-4, 4, 81)).ravel()
        places = np.concatenate([np.linspace(low, high, 400), about])
        places = np.unique(places[(places >= low) & (places <= high)])
        z = (places[:, None] - centres) / deviations
        densities = _fits.weights(estimator) * np.exp(-0.5 * z * z) / (np.sqrt(2 * np.pi) * deviations)
        for group, density in enumerate(densities.T):
            ax.fill_between(places, density, color=_style.colour(group), alpha=0.25, linewidth=0)
            ax.plot(places, density, color=_style.colour(group), linewidth=1.6)
        ax.plot(places, densities.sum(axis=1), color=_style.ink(), linewidth=1.6, label="mixture")
        ax.set_ylim(bottom=0)
        _style.legend(ax, ax.get_lines()[-1:])
    else:
        for group, centre in enumerate(centres):
            ax.axvline(centre, color=_style.colour(group), linewidth=2)
    ax.set_xlabel(_fits.column_name(estimator, sample, column))
    ax.set_ylabel("density")
    _style.note(ax, "" if sample is None else sample.note)
    _style.finish(ax)
