"""Pictures of self-organizing maps: every unit in its place, squares or hexagons as the lattice has them."""

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch
from sklearn.utils.validation import check_is_fitted

from .. import _fitted_groups as _fits
from . import _style
from .._drawn_rows import to_host

# Drawn as pixels in files of vectors from so many units on.
RASTERIZED_UNITS = 4096
NAMED_UNITS = 400
LONGEST_NAME = 3
MOST_PLANES = 12


def _check_map(estimator):
    """Refuses what is no fitted self-organizing map, by the argument's name."""
    if not (hasattr(estimator, "lattice") and hasattr(estimator, "toroidal")):
        raise TypeError(f"estimator must be a SelfOrganizingMap, not {type(estimator).__name__}")
    check_is_fitted(estimator, "codebook_")


def u_matrix(estimator, *, ax=None):
    """The U-matrix: each unit shaded by its mean distance to its neighbours on the lattice (Ultsch & Siemon 1990).

    Dark units lie far from their neighbours and are borders between groups; pale ones lie among their like.

    Parameters
    ----------
    estimator : fitted SelfOrganizingMap
        Its ``u_matrix_`` is drawn, row 0 at the top, hexagons as hexagons.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure unless given. A colour bar is put next to it.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        When ``estimator`` is no self-organizing map, or ``ax`` is no axes.
    sklearn.exceptions.NotFittedError
        When ``estimator`` is not fitted.
    """
    _check_map(estimator)
    return _draw_values(estimator, estimator.u_matrix_, f"mean {estimator.metric} distance to the neighbours", ax)


def hit_map(estimator, X=None, *, ax=None):
    """Each unit shaded by the weight of the rows that it matches best.

    Parameters
    ----------
    estimator : fitted SelfOrganizingMap
        Its ``hits_``, those of the rows it was fitted to, are drawn unless there are others.
    X : array-like of shape (n_samples, n_features), optional
        Rows to count instead, all of them.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure unless given. A colour bar is put next to it.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        When ``estimator`` is no self-organizing map, or ``ax`` is no axes.
    ValueError
        When ``X`` does not fit the map.
    sklearn.exceptions.NotFittedError
        When ``estimator`` is not fitted.
    """
    _check_map(estimator)
    if X is None:
        return _draw_values(estimator, estimator.hits_, "weight of the rows", ax)
    units = to_host(estimator.predict(X))
    return _draw_values(estimator, np.bincount(units, minlength=_count(estimator)), "rows", ax)


def component_planes(estimator, *, columns=None, ax=None):
    """Each unit shaded by its weight in a column, one plane for each column.

    Parameters
    ----------
    estimator : fitted SelfOrganizingMap
        Its ``codebook_`` is drawn, each column on colours of its own range.
    columns : int or sequence of int, optional
        Which columns to draw, from 0; the first twelve unless said otherwise.
    ax : matplotlib.axes.Axes or sequence of them, optional
        Where to draw, one for each column; a new figure unless given.

    Returns
    -------
    matplotlib.axes.Axes or ndarray of them
        One when ``columns`` is an int, else an array with one for each column.

    Raises
    ------
    TypeError
        When ``estimator`` is no self-organizing map, or ``ax`` is no axes.
    ValueError
        When ``columns`` names a column that is not there, or ``ax`` holds another number of axes.
    sklearn.exceptions.NotFittedError
        When ``estimator`` is not fitted.
    """
    _check_map(estimator)
    codebook = to_host(estimator.codebook_)
    single = isinstance(columns, (int, np.integer))
    if columns is None:
        columns = range(min(codebook.shape[1], MOST_PLANES))
    chosen = [_fits.check_columns(column, codebook.shape[1])[0] for column in ([columns] if single else columns)]
    if not chosen:
        raise ValueError("columns is empty; name at least one column")
    axes = _axes_for(len(chosen), ax, estimator.height / estimator.width)
    for axis, column in zip(axes, chosen):
        _draw_values(estimator, codebook[:, column], "", axis)
        axis.set_title(_fits.column_name(estimator, None, column), loc="left", fontsize="medium", color=_style.ink())
    return axes[0] if single else axes


def unit_labels(estimator, X, y, *, ax=None):
    """Each unit in the colour of the label that most of its rows have, paler the more rows have another one.

    Units that no row matches best are left blank. Where labels are short and units few, each label stands in its unit.

    Parameters
    ----------
    estimator : fitted SelfOrganizingMap
        The map.
    X : array-like of shape (n_samples, n_features)
        Rows, all of which are counted.
    y : array-like of shape (n_samples,)
        The label of each row: numbers or text.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        When ``estimator`` is no self-organizing map, or ``ax`` is no axes.
    ValueError
        When ``X`` does not fit the map, or ``y`` does not have one label for each row.
    sklearn.exceptions.NotFittedError
        When ``estimator`` is not fitted.
    """
    _check_map(estimator)
    units = to_host(estimator.predict(X))
    given = to_host(y)
    if given.shape != units.shape:
        raise ValueError(f"y must have one label for each of the {len(units)} rows; its shape is {given.shape}")
    names, codes = np.unique(given, return_inverse=True)
    majority, purity = majority_labels(units, codes.reshape(-1), _count(estimator))
    colours = np.ones((_count(estimator), 4))
    taken = majority >= 0
    base = _style.colours(majority[taken])
    strength = 0.15 + 0.85 * purity[taken, None]
    colours[taken, :3] = 1 + strength * (base - 1)
    colours[~taken, 3] = 0
    ax = _style.new_axes(ax)
    _draw_cells(ax, estimator, facecolors=colours)
    words = [str(name) for name in names]
    if _count(estimator) <= NAMED_UNITS and max(map(len, words)) <= LONGEST_NAME:
        places, dark = unit_positions(estimator)[taken], _style.is_dark(colours[taken, :3])
        for (across, down), label, white in zip(places, majority[taken], dark):
            colour = "white" if white else _style.INK
            ax.text(across, down, words[label], ha="center", va="center", fontsize="small", color=colour)
    if len(names) <= 2 * _style.LEGEND_GROUPS:
        _style.legend(ax, [Patch(facecolor=_style.colour(label), label=word) for label, word in enumerate(words)])
    return ax


def majority_labels(units, labels, count):
    """The label of most rows of each unit, the least of equals, −1 without rows; and its share of the unit's rows."""
    pairs, rows = np.unique(np.stack([units, labels]), axis=1, return_counts=True)
    majority, most, total = np.full(count, -1), np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for (unit, label), n in zip(pairs.T, rows):
        total[unit] += n
        if n > most[unit]:
            majority[unit], most[unit] = label, n
    return majority, most / np.maximum(total, 1)


def unit_positions(estimator):
    """Where units lie, in distances between neighbours: (units, 2), x to the right and y down."""
    row, column = np.divmod(np.arange(_count(estimator)), estimator.width)
    if estimator.lattice == "hexagonal":
        return np.stack([column + 0.5 * (row % 2), row * np.sqrt(0.75)], axis=1)
    return np.stack([column, row], axis=1).astype(np.float64)


def _count(estimator):
    return len(estimator.codebook_)


def _corners(estimator):
    """The outline of a unit about its place."""
    if estimator.lattice == "hexagonal":
        angles = np.pi / 6 + np.pi / 3 * np.arange(6)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(3)
    return np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])


def _draw_cells(ax, estimator, **options):
    places, corners = unit_positions(estimator), _corners(estimator)
    # Edges of the faces' own colour close the seams that smoothed edges leave.
    look = {"edgecolors": "face", "linewidths": 0.7, "rasterized": len(places) >= RASTERIZED_UNITS}
    cells = PolyCollection(places[:, None] + corners, **look, **options)
    ax.add_collection(cells)
    low, high = places.min(axis=0) + corners.min(axis=0), places.max(axis=0) + corners.max(axis=0)
    ax.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]), aspect="equal")
    ax.set_axis_off()
    return cells


def _draw_values(estimator, values, word, ax):
    ax = _style.new_axes(ax)
    cells = _draw_cells(ax, estimator, array=np.ravel(to_host(values)).astype(np.float64), cmap=_style.VALUES)
    _style.value_bar(ax, cells, word)
    return ax


def _axes_for(count, ax, aspect):
    if ax is None:
        from matplotlib import pyplot

        across = min(count, 4)
        down = -(-count // across)
        size = (3 * across, down * (0.5 + 2.4 * min(aspect, 3)))
        figure, grid = pyplot.subplots(down, across, figsize=size, layout="constrained", squeeze=False)
        for spare in grid.flat[count:]:
            figure.delaxes(spare)
        return grid.ravel()[:count]
    given = np.ravel(np.asarray(ax, dtype=object))
    if len(given) != count:
        raise ValueError(f"ax must hold one axes for each of {count} columns, not {len(given)}")
    for one in given:
        _style.new_axes(one)
    return given
