"""The figure that a fit improves, iteration by iteration."""

import numpy as np
from matplotlib.ticker import MaxNLocator
from sklearn.utils.validation import check_is_fitted

from .. import _ESTIMATORS, GaussianMixture, KMeans
from .. import _fitted_groups as _fits
from . import _style


def convergence(estimator, *, label=None, ax=None):
    """The mean log-likelihood of a mixture, the inertia of k-means or the quantization error of a map, at each iteration.

    Point i is the figure of the model that iteration i started from: ``lower_bounds_`` of a mixture (natural logarithm,
    per unit of weight), ``inertias_`` of k-means (squared units of the data), ``quantization_errors_`` of a map (in its
    metric). Called again with the same axes, it draws the next fit in the next colour.

    Parameters
    ----------
    estimator : fitted estimator of shoal or scikit-learn, or sequence of float
        A fit, or its figures.
    label : str, optional
        Name of the fit in the legend.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        When ``estimator`` is neither a fit nor a sequence of numbers, or keeps no figures of its iterations
        (k-means of scikit-learn does not), or ``ax`` is no axes.
    ValueError
        When there is no iteration to draw.
    sklearn.exceptions.NotFittedError
        When ``estimator`` is not fitted.
    """
    values, word = _history(estimator)
    ax = _style.new_axes(ax, size=(6.4, 3.8))
    colour = _style.colour(len([line for line in ax.get_lines() if line.get_gid() == "convergence"]))
    steps = np.arange(1, len(values) + 1)
    marker = "o" if len(values) <= 40 else ""
    (line,) = ax.plot(steps, values, color=colour, linewidth=1.8, marker=marker, markersize=4, gid="convergence")
    if label is not None:
        line.set_label(str(label))
        ax.legend(frameon=False, fontsize="small", labelcolor=_style.ink())
    converged = getattr(estimator, "converged_", None)
    ended = "" if converged is None else "converged" if converged else "not converged"
    ax.plot(
        steps[-1],
        values[-1],
        marker="o",
        markersize=9,
        markerfacecolor=colour if converged else _style.paper(),
        markeredgecolor=colour,
        markeredgewidth=1.8,
        linestyle="",
        gid="convergence-end",
    )
    if ended and label is None:
        above = values[-1] < values[0]
        ax.annotate(
            ended,
            (steps[-1], values[-1]),
            xytext=(0, 9 if above else -9),
            textcoords="offset points",
            ha="right",
            va="bottom" if above else "top",
            fontsize="small",
            color=_style.muted(),
        )
    ax.set_xlabel("iteration")
    ax.set_ylabel(word)
    ax.margins(y=0.12)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return _style.finish(ax)


def _objective(estimator):
    """The attribute with the figures of the iterations, and what they are called; of scikit-learn's too."""
    if isinstance(estimator, _ESTIMATORS):
        return estimator._objective
    _fits.check_estimator(estimator)
    return (GaussianMixture if _fits.is_mixture(estimator) else KMeans)._objective


def _history(estimator):
    if hasattr(estimator, "fit"):
        name, word = _objective(estimator)
        check_is_fitted(estimator)
        if not hasattr(estimator, name):
            raise TypeError(f"estimator keeps no figures of its iterations: {type(estimator).__name__} has no {name}")
        estimator = getattr(estimator, name)
    else:
        word = "objective"
    try:
        values = np.asarray(estimator, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"estimator must be a fit or a sequence of numbers, not {type(estimator).__name__}") from None
    if values.ndim != 1:
        raise TypeError(f"estimator must be a fit or a sequence of numbers; its shape is {values.shape}")
    if len(values) == 0:
        raise ValueError("estimator has no iteration to draw")
    return values, word
