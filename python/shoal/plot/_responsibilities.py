"""How much each row belongs to each component, as a colour."""

import numpy as np
from matplotlib.lines import Line2D

from .. import _fitted_groups as _fits
from . import _style
from ._data import draw_centres, draw_points, name_axes
from .._drawn_rows import DEFAULT_MAX_POINTS, Sample, to_host


def responsibilities(estimator, X, *, columns=None, max_points=DEFAULT_MAX_POINTS, ax=None):
    """Rows in the colours of their components, mixed in proportion to the responsibilities.

    A row that one component explains alone has its pure colour; a row between two has a colour between theirs. Colours
    mix as light does.

    Parameters
    ----------
    estimator : fitted GaussianMixture
        Its ``predict_proba`` gives the responsibilities.
    X : array-like of shape (n_samples, n_features)
        Rows to draw.
    columns : pair of int, optional
        Which columns to draw, from 0; the first two unless said otherwise. Responsibilities are those in all columns.
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
        When ``estimator`` has no ``predict_proba``, or ``ax`` is no axes.
    ValueError
        When ``X``, ``columns`` or ``max_points`` does not fit; the message names it.
    sklearn.exceptions.NotFittedError
        When ``estimator`` is not fitted.
    """
    _fits.check_estimator(estimator, needs=["predict_proba"])
    centres = _fits.centres(estimator)
    chosen = _fits.check_columns(columns, centres.shape[1])
    if len(chosen) != 2:
        raise ValueError("columns must name two columns, so the fit must have at least two")
    sample = Sample(X, max_points)
    _fits.check_width(sample, estimator)
    ax = _style.new_axes(ax)
    shares = to_host(estimator.predict_proba(sample.native)).astype(np.float64)
    draw_points(ax, sample.values[:, chosen], _style.blend(shares))
    draw_centres(ax, centres[:, chosen])
    if len(centres) <= _style.LEGEND_GROUPS:
        handles = [
            Line2D(
                [],
                [],
                color=_style.colour(group),
                marker="o",
                linestyle="",
                label=f"component {group}" if group == 0 else str(group),
            )
            for group in range(len(centres))
        ]
        _style.legend(ax, handles)
    name_axes(ax, estimator, sample, chosen)
    return _style.finish(ax)
