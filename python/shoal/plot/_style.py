"""Colours and the look of the axes."""

import numpy as np
from matplotlib import patheffects
from matplotlib.colors import LinearSegmentedColormap, to_rgb

# Okabe & Ito (2008), "Color universal design". Their yellow and black, which vanish on paper and in text, are darkened
# and lightened, as in the reports of the command line.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#a39a00", "#4a4f55")
INK = "#1c2126"
MUTED = "#5c6670"
GRID = "#e7eaed"
AXIS = "#aeb6be"
LEGEND_GROUPS = 8
# Values from pale to dark blue, the lightness falling all the way; the reports of the command line have the same.
VALUES = LinearSegmentedColormap.from_list("shoal", ["#f7f4e8", "#86bed6", "#0072b2", "#0b1d33"])


def colour(group):
    """The colour of a group; after the eighth they begin again."""
    return PALETTE[int(group) % len(PALETTE)]


def colours(labels):
    """One RGB row for each label."""
    table = np.array([to_rgb(name) for name in PALETTE])
    return table[np.asarray(labels) % len(PALETTE)]


def _linear(srgb):
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def _encoded(light):
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def blend(shares):
    """Colours mixed in proportion to each row of ``shares``, as light mixes (in linear RGB, not in its encoding)."""
    base = _linear(colours(np.arange(shares.shape[1])))
    return np.clip(_encoded(shares @ base), 0, 1)


def is_dark(colours):
    """Whether white text is read more easily than dark text on each RGB row."""
    return _linear(colours) @ [0.2126, 0.7152, 0.0722] < 0.3


def halo(width=3):
    """Keeps text and lines legible over points."""
    return [patheffects.withStroke(linewidth=width, foreground="white")]


def new_axes(ax, size=(6.4, 4.6)):
    """The axes given, or those of a new figure."""
    from matplotlib import pyplot
    from matplotlib.axes import Axes

    if ax is None:
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    elif not isinstance(ax, Axes):
        raise TypeError(f"ax must be matplotlib axes or None, not {type(ax).__name__}")
    return ax


def finish(ax, grid="both"):
    """The look that all pictures share: a quiet frame, and the data in front."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(AXIS)
    ax.tick_params(colors=MUTED, labelcolor=MUTED, labelsize="small")
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)
    ax.title.set_color(INK)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(True, axis=grid, color=GRID, linewidth=0.8)
    return ax


def legend(ax, handles, **options):
    """A legend without a box, next to the axes where it hides nothing."""
    options = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0, **options}
    return ax.legend(handles=handles, frameon=False, fontsize="small", labelcolor=INK, handletextpad=0.5, **options)


def note(ax, text):
    """A remark below the frame on the right, under the name of the axis, where no title is."""
    if text:
        ax.annotate(
            text,
            (1, 0),
            xycoords="axes fraction",
            xytext=(0, -35),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize="x-small",
            color=MUTED,
        )
