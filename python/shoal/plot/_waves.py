"""Waves over space and time."""

import numpy as np

from .. import _fitz_hugh_nagumo as waves
from .._drawn_rows import to_host
from . import _style

# Places and times that a picture can show; of more, every so many-th is drawn.
MOST_ACROSS = 1200


def space_time(wave, *, quantity="v", ax=None):
    """A wave on an axon: space across, time upwards, and the value as a shade.

    Parameters
    ----------
    wave : Wave
        What :meth:`shoal.FitzHughNagumo.solve` returned, with at least two times.
    quantity : str
        "v", the potential, or "w", the recovery.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure unless given. A colour bar is put next to it.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        When ``wave`` is no wave, or ``ax`` is no axes.
    ValueError
        For a wave of one time or in the plane, and a quantity that is neither v nor w.
    """
    if not isinstance(wave, waves.Wave):
        raise TypeError(f"wave must be what FitzHughNagumo.solve returns, not {type(wave).__name__}")
    if quantity not in ("v", "w"):
        raise ValueError(f"quantity must be 'v' or 'w'; got {quantity!r}")
    values = np.asarray(to_host(getattr(wave, quantity)))
    if values.ndim != 2:
        raise ValueError("wave lies in the plane; draw one of its states with matplotlib's imshow")
    if len(np.unique(wave.times)) < 2:
        raise ValueError("wave has one time only; solve with more of them")
    # Of equal times the last is drawn.
    kept = np.append(np.diff(wave.times) > 0, True)
    rows = np.flatnonzero(kept)[:: max(1, int(kept.sum()) // MOST_ACROSS)]
    columns = np.arange(0, values.shape[1], max(1, values.shape[1] // MOST_ACROSS))
    ax = _style.new_axes(ax)
    shades = ax.pcolormesh(
        columns * wave.spacing,
        wave.times[rows],
        values[np.ix_(rows, columns)],
        shading="nearest",
        cmap=_style.VALUES,
        rasterized=True,
    )
    _style.value_bar(ax, shades, quantity)
    ax.set_xlabel("x")
    ax.set_ylabel("time")
    return _style.finish(ax, lines=None)
