"""The criterion against the number of groups."""

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from . import _style

_CRITERIA = ("bic", "aic")
_COUNTS = ("n_components", "n_clusters")
_KIND = "covariance_type"
# Curves of two criteria often lie on each other; the second still shows.
_LINES = ("-", (0, (3, 2)), (0, (1, 1.5)))


def selection(table, *, criteria=_CRITERIA, ax=None):
    """Criteria for choosing the number of groups, the least value of each marked.

    Parameters
    ----------
    table : Selection, list of dict, mapping of columns, or data frame
        What :func:`shoal.select_components` returns, its ``table``, or columns: ``n_components`` (or ``n_clusters``),
        one for each criterion, and perhaps ``covariance_type``, which then has a colour each. A criterion that is None
        or not finite (a number of groups that could not be fitted) leaves a gap.
    criteria : str or sequence of str, default=("bic", "aic")
        Columns to draw, at most three.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        When ``table`` has no columns by name, or ``ax`` is no axes.
    ValueError
        When a column is missing, or a criterion has no finite value.
    """
    table = _columns(table)
    criteria = (criteria,) if isinstance(criteria, str) else tuple(criteria)
    if not 1 <= len(criteria) <= len(_LINES):
        raise ValueError(f"criteria must name one to three columns of table, not {len(criteria)}")
    count_name = next((name for name in _COUNTS if name in table), None)
    if count_name is None:
        raise ValueError("table has no column n_components or n_clusters")
    counts = np.asarray(table[count_name])
    values = {name: _numbers(table, name) for name in criteria}
    kinds = np.asarray(table[_KIND]) if _KIND in table else np.full(len(counts), "")
    ax = _style.new_axes(ax, size=(6.4, 3.8))
    names = list(dict.fromkeys(kinds.tolist()))
    by_kind = len(names) > 1
    for number, (name, line) in enumerate(zip(criteria, _LINES)):
        for place, kind in enumerate(names):
            chosen = np.flatnonzero(kinds == kind)
            chosen = chosen[np.argsort(counts[chosen], kind="stable")]
            ax.plot(
                counts[chosen],
                values[name][chosen],
                color=_style.colour(place if by_kind else number),
                linestyle=line,
                linewidth=1.8,
                marker="o",
                markersize=4.5,
            )
        best = int(np.nanargmin(values[name]))
        _mark(
            ax, counts[best], values[name][best], _style.colour(names.index(kinds[best]) if by_kind else number), number
        )
    handles = [
        Line2D([], [], color=_style.ink() if by_kind else _style.colour(number), linestyle=line, label=name.upper())
        for number, (name, line) in enumerate(zip(criteria, _LINES))
    ]
    if by_kind:
        handles += [
            Line2D([], [], color=_style.colour(place), marker="o", label=kind) for place, kind in enumerate(names)
        ]
    _style.legend(ax, handles)
    ax.set_xlabel("components" if count_name == "n_components" else "clusters")
    ax.set_ylabel("criterion (less is better)")
    ax.margins(y=0.16)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    return _style.finish(ax)


def _mark(ax, count, value, colour, number):
    """A ring and the number chosen: below the curve for the first criterion, above for the second."""
    ax.plot(
        count,
        value,
        marker="o",
        markersize=11,
        markerfacecolor="none",
        markeredgecolor=colour,
        markeredgewidth=2,
        linestyle="",
    )
    ax.annotate(
        f"{count}",
        (count, value),
        xytext=(0, 10 if number % 2 else -10),
        textcoords="offset points",
        ha="center",
        va="bottom" if number % 2 else "top",
        fontsize="small",
        fontweight="bold",
        color=colour,
        path_effects=_style.halo(),
    )


def _columns(table):
    """The table as a dictionary of columns, whichever way it was given."""
    table = getattr(table, "table", table)
    if hasattr(table, "columns"):  # a frame
        return {str(name): table[name] for name in table.columns}
    if hasattr(table, "keys"):
        return {name: table[name] for name in table}
    if isinstance(table, (list, tuple)) and table and all(hasattr(line, "keys") for line in table):
        return {name: [line[name] for line in table] for name in table[0]}
    raise TypeError(
        f"table must be the result of select_components, lines or columns by name, or a frame, not {type(table).__name__}"
    )


def _numbers(table, name):
    if name not in table:
        raise ValueError(f"table has no column {name}")
    values = np.asarray(table[name], dtype=np.float64)
    values = np.where(np.isfinite(values), values, np.nan)
    if np.isnan(values).all():
        raise ValueError(f"table has no finite value in column {name}")
    return values
