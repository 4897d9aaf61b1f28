"""Colours and the look of the axes."""

import numpy as np
from matplotlib import patheffects, rcParams
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb

# Okabe & Ito (2008), "Color universal design". Their yellow and black, which vanish on paper and in text, are darkened
# and lightened, as in the reports of the command line.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#a39a00", "#4a4f55")
# What is drawn besides: on white paper under black text, which is matplotlib's own style, exactly these; under another
# style the same steps from its text's colour to its paper's.
INK = "#1c2126"
_QUIET = {"muted": ("#5c6670", 0.35), "axis": ("#aeb6be", 0.65), "grid": ("#e7eaed", 0.87)}
LEGEND_GROUPS = 8
# Values from pale to dark blue, the lightness falling all the way; the reports of the command line have the same.
VALUES = LinearSegmentedColormap.from_list("shoal", ["#f7f4e8", "#86bed6", "#0072b2", "#0b1d33"])


def paper():
    """What axes are drawn on; what is transparent is taken to lie on white."""
    faces = [rcParams[part] for part in ("axes.facecolor", "figure.facecolor")]
    return next((face for face in faces if face != "none"), "white")


def _own_style():
    return to_rgb(paper()) == (1, 1, 1) and to_rgb(rcParams["text.color"]) == (0, 0, 0)


def ink():
    """Text and lines that matter."""
    return INK if _own_style() else rcParams["text.color"]


def _quiet(name):
    own, share = _QUIET[name]
    return own if _own_style() else to_hex(_mixed(ink(), paper(), share))


def muted():
    """Remarks and numbers along the axes."""
    return _quiet("muted")


def axis():
    """The frame, and bars behind curves."""
    return _quiet("axis")


def grid():
    """Lines behind the data."""
    return _quiet("grid")


def _mixed(first, second, share):
    return (1 - share) * np.array(to_rgb(first)) + share * np.array(to_rgb(second))


def _palette():
    """The colours of groups; on dark paper each a third of the way to white."""
    table = np.array([to_rgb(name) for name in PALETTE])
    return table + (1 - table) / 3 if is_dark(np.array(to_rgb(paper()))) else table


def colour(group):
    """The colour of a group; after the eighth they begin again."""
    return to_hex(_palette()[int(group) % len(PALETTE)])


def colours(labels):
    """One RGB row for each label."""
    return _palette()[np.asarray(labels) % len(PALETTE)]


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
    return [patheffects.withStroke(linewidth=width, foreground=paper())]


def new_axes(ax, size=(6.4, 4.6)):
    """The axes given, or those of a new figure."""
    from matplotlib import pyplot
    from matplotlib.axes import Axes

    if ax is None:
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    elif not isinstance(ax, Axes):
        raise TypeError(f"ax must be matplotlib axes or None, not {type(ax).__name__}")
    return ax


def finish(ax, lines="both"):
    """The look that all pictures share: a quiet frame, and the data in front."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(axis())
    ax.tick_params(colors=muted(), labelcolor=muted(), labelsize="small")
    ax.xaxis.label.set_color(ink())
    ax.yaxis.label.set_color(ink())
    ax.title.set_color(ink())
    ax.set_axisbelow(True)
    if lines:
        ax.grid(True, axis=lines, color=grid(), linewidth=0.8)
    return ax


def value_bar(ax, shades, label):
    """What the shades mean, within the axes' own frame, so that the bar is as high as they are."""
    bar = ax.figure.colorbar(shades, cax=ax.inset_axes((1.03, 0, 0.035, 1)), label=label)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=muted(), labelcolor=muted(), labelsize="small")
    bar.ax.yaxis.label.set_color(ink())


def legend(ax, handles, **options):
    """A legend without a box, next to the axes where it hides nothing."""
    options = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0, **options}
    return ax.legend(handles=handles, frameon=False, fontsize="small", labelcolor=ink(), handletextpad=0.5, **options)


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
            color=muted(),
        )
