"""The criterion against the number of groups."""

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from . import _style

_CRITERIA = ("bic", "aic")
_COUNTS = ("n_components", "n_clusters")
# Curves often lie on each other; the second still shows.
_LINES = ("-", (0, (3, 2)), (0, (1, 1.5)))


def selection(table, *, criteria=_CRITERIA, ax=None):
    """Criteria for choosing the number of groups, the least value of each marked.

    Parameters
    ----------
    table : result of ``select_components``, mapping of columns, or data frame
        With a column ``n_components`` (or ``n_clusters``) and a column for each criterion. A criterion that is not
        finite (a number of groups that could not be fitted) leaves a gap.
    criteria : sequence of str, default=("bic", "aic")
        Columns to draw.
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
    columns = getattr(table, "table", table)
    criteria = (criteria,) if isinstance(criteria, str) else tuple(criteria)
    if not criteria:
        raise ValueError("criteria must name one column of table at least")
    count_name = next((name for name in _COUNTS if _has(columns, name)), None)
    if count_name is None:
        raise ValueError("table has no column n_components or n_clusters")
    counts = np.asarray(columns[count_name])
    order = np.argsort(counts, kind="stable")
    curves = {name: _column(columns, name)[order] for name in criteria}
    ax = _style.new_axes(ax, size=(6.4, 3.8))
    for number, (name, values) in enumerate(curves.items()):
        colour = _style.colour(number)
        best = int(np.nanargmin(values))
        ax.plot(
            counts[order],
            values,
            color=colour,
            linewidth=1.8,
            marker="o",
            markersize=4.5,
            linestyle=_LINES[number % len(_LINES)],
            label=name.upper(),
        )
        ax.plot(
            counts[order][best],
            values[best],
            marker="o",
            markersize=11,
            markerfacecolor="none",
            markeredgecolor=colour,
            markeredgewidth=2,
            linestyle="",
        )
        ax.annotate(
            f"{counts[order][best]}",
            (counts[order][best], values[best]),
            xytext=(0, 10 if number % 2 else -10),
            textcoords="offset points",
            ha="center",
            va="bottom" if number % 2 else "top",
            fontsize="small",
            fontweight="bold",
            color=colour,
            path_effects=_style.halo(),
        )
    ax.legend(frameon=False, fontsize="small", labelcolor=_style.INK)
    ax.set_xlabel("components" if count_name == "n_components" else "clusters")
    ax.set_ylabel("criterion (less is better)")
    ax.margins(y=0.16)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    return _style.finish(ax)


def _has(columns, name):
    keys = getattr(columns, "columns", None)
    if keys is None and hasattr(columns, "keys"):
        keys = columns.keys()
    if keys is None:
        raise TypeError(f"table must have columns by name (a mapping or a data frame), not be {type(columns).__name__}")
    return name in list(keys)


def _column(columns, name):
    if not _has(columns, name):
        raise ValueError(f"table has no column {name}")
    values = np.asarray(columns[name], dtype=np.float64)
    values = np.where(np.isfinite(values), values, np.nan)
    if np.isnan(values).all():
        raise ValueError(f"table has no finite value in column {name}")
    return values
