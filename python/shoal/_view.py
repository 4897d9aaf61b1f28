"""Interactive pages of fitted models, for notebooks and browsers."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence

import numpy as np

from . import _fitted_groups, _shoal
from ._drawn_rows import Sample, to_host

MOST_POINTS = _shoal.most_points


class View:
    """An interactive page, as :func:`view` makes it. A notebook shows it; :meth:`save` writes it for a browser.

    Parameters
    ----------
    page : str
        The page, which needs no network and no other file.
    height : int
        How many pixels of height a notebook gives it.

    Attributes
    ----------
    html : str
        The page.
    height : int
        Its height.
    """

    def __init__(self, page: str, height: int = 560):
        self.html = page
        self.height = height

    def save(self, path: str | os.PathLike) -> None:
        """Writes the page into a file.

        Parameters
        ----------
        path : str or path-like
            The file, which is replaced.
        """
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="{self.height}" '
            'style="border:0" allowfullscreen></iframe>'
        )

    def __repr__(self) -> str:
        return f"<shoal.View of {len(self.html):,} characters; .save('view.html') writes it>"


def view(
    model,
    X=None,
    *,
    axes: Sequence[int | str] | str | None = None,
    quantiles: Sequence[float] = (0.5, 0.95),
    max_points: int = 100_000,
    height: int = 560,
    projection: str = "perspective",
    azimuth: float = 35,
    elevation: float = 25,
    zoom: float = 1,
    wireframe: bool = False,
    section: str = "none",
    section_offset: float = 0,
    point_size: float = 0,
    orbit: bool = False,
) -> View:
    """A fitted model among rows, as a page to turn with the mouse, fingers or keys.

    Mixtures and clusters are ellipsoids around their rows: each has its colour, and the rows of a mixture are the fainter the
    less certain their component is. Maps are surfaces: each unit lies where its weights are, coloured by the U-matrix. The
    key *h* on the page lists the others.

    Parameters
    ----------
    model : fitted estimator
        One of shoal's, or a mixture or k-means of scikit-learn.
    X : array-like of shape (n_samples, n_features), optional
        Rows to show with it.
    axes : "principal" or sequence of int or str, optional
        Up to three columns, by number or name. Without them: all columns of at most three, else the principal axes.
    quantiles : sequence of float
        Shares of a group's rows that its ellipsoids hold. Clusters have those of the covariance of their rows in ``X``.
    max_points : int
        Of more rows, so many are shown, one from each of as many equal stretches of ``X``; 1,000,000 at most.
    height : int
        Pixels of height in a notebook.
    projection : {"perspective", "orthographic"}
    azimuth, elevation : float
        Where it is looked at from, in degrees: from the x axis towards the y axis, and above the ground.
    zoom : float
    wireframe : bool
        Lines instead of faces.
    section : {"none", "x", "y", "z", "diagonal"}
        Cuts away what lies before a plane.
    section_offset : float
        Of that plane from the middle; -1 and 1 are the ends of the box.
    point_size : float
        In pixels; 0 chooses one by the number of points.
    orbit : bool
        Turns by itself.

    Returns
    -------
    View

    Raises
    ------
    TypeError
        When ``model`` is none of these.
    ValueError
        When ``X``, ``axes`` or a setting cannot be used.
    sklearn.exceptions.NotFittedError
        When ``model`` is not fitted.
    """
    if not 1 <= max_points <= MOST_POINTS:
        raise ValueError(f"max_points must lie between 1 and {MOST_POINTS:,}; got {max_points!r}")
    settings = {
        "projection": projection,
        "azimuth": float(azimuth),
        "elevation": float(elevation),
        "zoom": float(zoom),
        "wireframe": bool(wireframe),
        "section": section,
        "section_offset": float(section_offset),
        "point_size": float(point_size),
        "orbit": bool(orbit),
    }
    sample = None if X is None else Sample(X, max_points)
    names = getattr(model, "feature_names_in_", None)
    if names is None and sample is not None:
        names = sample.column_names
    asked = [] if axes is None else [axes] if isinstance(axes, str) else [str(axis) for axis in axes]
    words = {
        "columns": [] if names is None else [str(name) for name in names],
        "axes": asked,
        "rows_in_all": 0 if sample is None else sample.rows_in_all,
    }
    make = _page_of_map if hasattr(model, "lattice") else _page_of_groups
    return View(make(model, sample, words, tuple(float(share) for share in quantiles), settings), height)


def _rows(sample, columns):
    """The rows in float64, none of them without a sample."""
    rows = np.empty((0, columns)) if sample is None else np.ascontiguousarray(sample.values)
    if rows.shape[1] != columns:
        raise ValueError(f"X has {rows.shape[1]} columns, but the model has {columns}")
    return rows


def _page_of_groups(model, sample, words, quantiles, settings):
    _fitted_groups.check_estimator(model, needs=("predict",) if sample is not None else ())
    mixture = _fitted_groups.is_mixture(model)
    centres = np.ascontiguousarray(_fitted_groups.centres(model))
    count, columns = centres.shape
    rows = _rows(sample, columns)
    labels, strengths = np.empty(0, np.int32), np.empty(0, np.float32)
    covariances, weights = np.empty(0), [0.0] * count
    if mixture:
        covariances = np.ascontiguousarray(_fitted_groups.marginal_covariances(model, range(columns)))
        weights = _fitted_groups.weights(model).tolist()
    if sample is not None and mixture:
        responsibilities = to_host(model.predict_proba(sample.native))
        labels = responsibilities.argmax(axis=1).astype(np.int32)
        strengths = np.ascontiguousarray(responsibilities.max(axis=1), dtype=np.float32)
    elif sample is not None:
        labels = np.ascontiguousarray(to_host(model.predict(sample.native)), dtype=np.int32)
    group = "component" if mixture else "cluster"
    words |= {
        "title": "Gaussian mixture" if mixture else "k-means clusters",
        "subtitle": f"{count} {group}{'s' if count > 1 else ''} of {columns} columns",
        "group": group,
    }
    return _shoal.page_of_groups(
        rows, labels, strengths, centres, covariances, weights, words=words, quantiles=quantiles, settings=settings
    )


def _page_of_map(model, sample, words, quantiles, settings):
    values = np.ascontiguousarray(to_host(model.u_matrix_), dtype=np.float64)
    codebook = np.ascontiguousarray(to_host(model.codebook_), dtype=np.float64)
    height, width = values.shape
    words |= {
        "title": "Self-organizing map",
        "subtitle": f"{width} x {height} units of {codebook.shape[1]} columns",
    }
    return _shoal.page_of_map(
        _rows(sample, codebook.shape[1]),
        codebook,
        values,
        width=width,
        hexagonal=model.lattice == "hexagonal",
        toroidal=bool(model.toroidal),
        words=words,
        settings=settings,
    )
