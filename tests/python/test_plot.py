"""shoal.plot: what is drawn is what was fitted."""

import subprocess
import sys
import types

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
import sklearn.cluster
import sklearn.mixture
from matplotlib import pyplot
from matplotlib.colors import to_rgba
from matplotlib.patches import Ellipse
from sklearn.exceptions import NotFittedError

import shoal
from shoal import plot
from shoal import _drawn_rows as _rows
from shoal import _fitted_groups as _fits
from shoal.plot import _style

pytestmark = pytest.mark.filterwarnings("error")
COVARIANCE_TYPES = ["full", "tied", "diag", "spherical"]
LIBRARIES = {"shoal": (shoal.GaussianMixture, shoal.KMeans)}
LIBRARIES["scikit-learn"] = (sklearn.mixture.GaussianMixture, sklearn.cluster.KMeans)


def test_only_pictures_need_matplotlib():
    program = """
import sys
sys.modules["matplotlib"] = None
import shoal
shoal.KMeans(1).fit([[0.0], [1.0]])
try:
    shoal.plot
except ImportError as missing:
    print(missing)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "shoal.plot needs matplotlib: pip install 'shoal[plot]'\n"


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def rows():
    draw = np.random.default_rng(7)
    return np.concatenate(
        [
            draw.normal([0, 0, 5], [1, 2, 0.5], (150, 3)),
            draw.normal([5, 1, 0], [0.5, 1, 1], (100, 3)),
            draw.normal([2, 8, 2], [1, 0.7, 2], (50, 3)),
        ]
    )


@pytest.fixture(scope="module", params=LIBRARIES)
def library(request):
    return LIBRARIES[request.param]


@pytest.fixture(scope="module")
def mixture(library, rows):
    return library[0](3, random_state=0).fit(rows)


@pytest.fixture(scope="module")
def kmeans(library, rows):
    return library[1](3, random_state=0, n_init=1).fit(rows)


def full_covariances(fit):
    """(K, d, d), written out for each type."""
    groups, width = fit.means_.shape
    stored = fit.covariances_
    return {
        "full": lambda: stored,
        "tied": lambda: np.array([stored] * groups),
        "diag": lambda: np.array([np.diag(variances) for variances in stored]),
        "spherical": lambda: np.array([np.eye(width) * variance for variance in stored]),
    }[fit.covariance_type]()


@pytest.mark.parametrize("name", COVARIANCE_TYPES)
@pytest.mark.parametrize("columns", [(0, 1), (2, 0)])
def test_ellipses_are_contours_of_the_marginal(library, rows, name, columns):
    fit = library[0](3, covariance_type=name, random_state=0).fit(rows)
    axes = plot.data(fit, rows, columns=columns, sigmas=(1, 2.5))
    ellipses = [artist for artist in axes.get_children() if isinstance(artist, Ellipse)]
    assert len(ellipses) == 6
    covariances = full_covariances(fit)[:, columns][:, :, columns]
    for number, ellipse in enumerate(ellipses):
        group, sigma = number // 2, (1, 2.5)[number % 2]
        away = axes.transData.inverted().transform(ellipse.get_verts()) - fit.means_[group, list(columns)]
        distances = np.sqrt(np.einsum("ij,jk,ik->i", away, np.linalg.inv(covariances[group]), away))
        # matplotlib draws an ellipse as Bézier curves, which are this close to one.
        np.testing.assert_allclose(distances, sigma, rtol=1e-3)
        assert ellipse.get_edgecolor() == to_rgba(_style.PALETTE[group])


def test_a_flat_component_is_a_line_and_no_error():
    fit = sklearn.mixture.GaussianMixture(1).fit(np.random.default_rng(0).normal(size=(20, 2)))
    fit.covariances_ = np.array([[[1.0, 1.0], [1.0, 1.0 - 1e-16]]])
    (ellipse,) = [artist for artist in plot.data(fit, sigmas=1).get_children() if isinstance(artist, Ellipse)]
    assert ellipse.width == pytest.approx(2 * np.sqrt(2)) and ellipse.height == pytest.approx(0, abs=1e-7)


def test_rows_are_drawn_once_each_in_the_colour_of_their_group(mixture, rows):
    points = plot.data(mixture, rows, columns=(0, 2)).collections[0]
    drawn = {(x, y): tuple(colour[:3]) for (x, y), colour in zip(points.get_offsets(), points.get_facecolors())}
    expected = {
        (x, y): to_rgba(_style.PALETTE[label])[:3] for (x, y), label in zip(rows[:, [0, 2]], mixture.predict(rows))
    }
    assert drawn == expected


def test_labels_given_are_the_colours_drawn(kmeans, rows):
    labels = np.arange(len(rows)) % 5
    points = plot.data(kmeans, rows, labels=labels).collections[0]
    drawn = {tuple(place): tuple(colour[:3]) for place, colour in zip(points.get_offsets(), points.get_facecolors())}
    assert drawn == {tuple(row[:2]): to_rgba(_style.PALETTE[label])[:3] for row, label in zip(rows, labels)}


@pytest.mark.parametrize("name", COVARIANCE_TYPES)
def test_one_column_is_drawn_as_the_marginal_density(library, rows, name):
    fit = library[0](3, covariance_type=name, random_state=0).fit(rows)
    axes = plot.data(fit, rows, columns=1)
    places, density = axes.get_lines()[-1].get_data()
    deviations = np.sqrt(full_covariances(fit)[:, 1, 1])
    expected = sum(
        weight * np.exp(-0.5 * ((places - mean) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
        for weight, mean, deviation in zip(fit.weights_, fit.means_[:, 1], deviations)
    )
    np.testing.assert_allclose(density, expected, rtol=1e-12)
    assert axes.get_xlabel() == "column 1" and axes.get_ylabel() == "density"
    assert sum(bar.get_height() * bar.get_width() for bar in axes.patches) == pytest.approx(1)


def test_data_of_one_column_need_no_columns(rows):
    fit = shoal.GaussianMixture(2, random_state=0).fit(rows[:, :1])
    assert plot.data(fit, rows[:, :1]).get_ylabel() == "density"
    assert plot.data(shoal.KMeans(2, random_state=0).fit(rows[:, :1]), rows[:, :1]).get_ylabel() == "density"


def test_column_names_come_from_the_fit(library, rows):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows, columns=["length", "width", "height"])
    fit = library[0](2, random_state=0).fit(frame)
    axes = plot.data(fit, frame, columns=(2, 0), max_points=50)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("height", "length")
    assert plot.data(fit).get_xlabel() == "length"


def test_a_blend_mixes_light():
    colours = _style.blend(np.array([[1, 0], [0, 1], [0.5, 0.5]]))
    first, second = (np.array(to_rgba(name)[:3]) for name in _style.PALETTE[:2])
    np.testing.assert_allclose(colours[:2], [first, second], atol=1e-12)
    # The encoding of sRGB is a power near 2.2.
    np.testing.assert_allclose(colours[2] ** 2.2, (first**2.2 + second**2.2) / 2, atol=0.01)


def test_responsibilities_are_blended_row_by_row(mixture, rows):
    points = plot.responsibilities(mixture, rows).collections[0]
    drawn = {tuple(place): tuple(colour[:3]) for place, colour in zip(points.get_offsets(), points.get_facecolors())}
    expected = {tuple(row[:2]): tuple(colour) for row, colour in zip(rows, _style.blend(mixture.predict_proba(rows)))}
    assert drawn.keys() == expected.keys()
    for place, colour in drawn.items():
        np.testing.assert_allclose(colour, expected[place], atol=1e-12)


def test_convergence_draws_the_history_and_counts_from_one(library, rows):
    fit = library[0](3, random_state=0).fit(rows)
    if not hasattr(fit, "lower_bounds_"):
        with pytest.raises(TypeError, match="has no lower_bounds_"):
            plot.convergence(fit)
        return
    axes = plot.convergence(fit)
    steps, values = axes.get_lines()[0].get_data()
    np.testing.assert_array_equal(values, fit.lower_bounds_)
    np.testing.assert_array_equal(steps, np.arange(1, fit.n_iter_ + 1))
    assert [text.get_text() for text in axes.texts] == ["converged"]


def test_convergence_of_kmeans_falls(rows):
    fit = shoal.KMeans(3, random_state=0).fit(rows)
    axes = plot.convergence(fit)
    values = axes.get_lines()[0].get_ydata()
    assert len(values) == fit.n_iter_ and (np.diff(values) <= 0).all()
    assert axes.get_ylabel() == "inertia"


def test_further_fits_on_the_same_axes_have_further_colours():
    axes = plot.convergence([3, 2, 1], label="first")
    assert plot.convergence([4, 2], label="second", ax=axes) is axes
    lines = [line for line in axes.get_lines() if line.get_label() in ("first", "second")]
    assert [line.get_color() for line in lines] == list(_style.PALETTE[:2])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["first", "second"]


LINES = [
    {"n_components": 3, "covariance_type": "full", "bic": 12.0, "aic": 10.0},
    {"n_components": 1, "covariance_type": "full", "bic": 20.0, "aic": 19.0},
    {"n_components": 2, "covariance_type": "full", "bic": None, "aic": 9.0},
]


def curves_of(axes):
    return [line.get_xydata().tolist() for line in axes.get_lines() if line.get_markersize() == 4.5]


def rings_of(axes):
    return [line.get_xydata().tolist() for line in axes.get_lines() if line.get_markersize() == 11]


@pytest.mark.parametrize("form", ["lines", "columns", "frame", "selection"])
def test_selection_marks_the_least_value_of_each_criterion(form):
    columns = {name: [line[name] for line in LINES] for name in LINES[0]}
    if form == "frame":
        columns = pytest.importorskip("pandas").DataFrame(columns)
    elif form == "selection":
        columns = types.SimpleNamespace(table=LINES)
    axes = plot.selection(LINES if form == "lines" else columns)
    np.testing.assert_array_equal(curves_of(axes), [[[1, 20], [2, np.nan], [3, 12]], [[1, 19], [2, 9], [3, 10]]])
    assert rings_of(axes) == [[[3, 12]], [[2, 9]]]
    assert [text.get_text() for text in axes.texts] == ["3", "2"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["BIC", "AIC"]


def test_selection_draws_a_curve_for_each_kind_of_covariance():
    more = [{**line, "covariance_type": "diag", "bic": 15.0 - line["n_components"]} for line in LINES]
    axes = plot.selection(LINES + more, criteria="bic")
    assert curves_of(axes)[1] == [[1, 14], [2, 13], [3, 12]]
    assert rings_of(axes) == [[[3, 12]]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["BIC", "full", "diag"]


def test_selection_draws_what_select_components_returns(rows):
    chosen = shoal.select_components(rows, range(1, 5), covariance_types=["full", "diag"], random_state=0)
    axes = plot.selection(chosen)
    assert rings_of(axes)[0] == [[chosen.best["n_components"], chosen.best["bic"]]]


def bars_of(axes):
    """The lengths of the bars of each group, from the filled outlines."""
    found = []
    for outline in axes.collections:
        vertices = outline.get_paths()[0].vertices
        heights = np.arange(np.floor(vertices[:, 1].min()), vertices[:, 1].max())
        found.append([vertices[np.isclose(vertices[:, 1], height), 0].max() for height in heights])
    return found


def test_silhouette_of_a_mixture_shows_each_responsibility(mixture, rows):
    shares = mixture.predict_proba(rows)
    labels = mixture.predict(rows)
    bars = bars_of(plot.silhouette(mixture, rows))
    for group in range(3):
        expected = np.sort(shares[labels == group].max(axis=1))[::-1]
        # Where two bars meet, the outline has both lengths, and the longer counts.
        np.testing.assert_allclose(bars[group][1:], expected[:-1], rtol=1e-12)
        assert bars[group][0] == pytest.approx(expected[0])


def test_silhouette_of_kmeans_is_the_simplified_one(kmeans, rows):
    distances = np.sqrt(((rows[:, None] - kmeans.cluster_centers_) ** 2).sum(axis=2))
    nearest = np.sort(distances, axis=1)
    expected = ((nearest[:, 1] - nearest[:, 0]) / nearest[:, 1]).mean()
    axes = plot.silhouette(kmeans, rows)
    assert axes.get_lines()[0].get_xdata()[0] == pytest.approx(expected, rel=1e-6)


def test_silhouette_names_a_group_without_rows(mixture, rows):
    only = rows[mixture.predict(rows) == 0]
    ticks = [tick.get_text() for tick in plot.silhouette(mixture, only).get_yticklabels()]
    assert ticks == ["0", "1 (no rows)", "2 (no rows)"]


def test_a_row_on_two_centroids_has_silhouette_zero():
    fit = sklearn.cluster.KMeans(2)
    fit.cluster_centers_ = np.zeros((2, 1))
    assert plot.silhouette(fit, np.zeros((3, 1))).get_lines()[0].get_xdata()[0] == 0


@pytest.mark.parametrize("rows_in_all, at_most", [(1, 1), (7, 10), (10, 10), (11, 10), (1000, 7), (10**12, 5000)])
def test_subsample_takes_one_row_of_each_stretch(rows_in_all, at_most):
    found = _rows.subsample(rows_in_all, at_most)
    count = min(rows_in_all, at_most)
    assert len(found) == count
    for i, row in enumerate(found):
        assert i * rows_in_all // count - 1 <= row <= (i + 1) * rows_in_all // count
    assert (np.diff(found) > 0).all() and found[0] >= 0 and found[-1] < rows_in_all


def test_subsample_is_that_of_the_reports():
    # apps/report/subsample.cpp with 20 rows, at most 4: the first place is SplitMix64's first output, mod 5.
    assert _rows.subsample(20, 4)[0] == 0xE220A8397B1DCDAF % 5


class Far:
    """Rows that may be looked at a few at a time only."""

    shape = (10**9, 3)

    def __init__(self):
        self.read = 0

    def __getitem__(self, indices):
        self.read += len(indices)
        return np.asarray(indices)[:, None] % np.array([7, 5, 3]) * 1.0


def test_only_the_rows_drawn_are_read(mixture):
    far = Far()
    axes = plot.data(mixture, far, max_points=100)
    assert far.read == 100
    assert [text.get_text() for text in axes.texts][-1] == "100 of 1,000,000,000 rows"


class OnDevice:
    """An array that NumPy cannot read where it lies."""

    __cuda_array_interface__ = ()

    def __init__(self, values):
        self.values, self.shape = values, values.shape

    def __getitem__(self, indices):
        return OnDevice(self.values[indices])

    def __array__(self, *_, **__):
        raise TypeError("implicit conversion")

    def get(self):
        return self.values


def test_arrays_of_a_device_are_fetched(kmeans, rows):
    axes = plot.data(kmeans, OnDevice(rows), labels=OnDevice(np.zeros(len(rows), dtype=int)), max_points=30)
    assert len(axes.collections[0].get_offsets()) == 30


@pytest.mark.parametrize(
    "call",
    [
        lambda fit, rows, ax: plot.data(fit, rows, ax=ax),
        lambda fit, rows, ax: plot.responsibilities(fit, rows, ax=ax),
        lambda fit, rows, ax: plot.convergence(fit if hasattr(fit, "lower_bounds_") else [1.0, 2.0], ax=ax),
        lambda fit, rows, ax: plot.silhouette(fit, rows, ax=ax),
        lambda fit, rows, ax: plot.selection({"n_components": [1], "bic": [2.0]}, criteria="bic", ax=ax),
    ],
)
def test_axes_given_are_the_axes_returned(mixture, rows, call):
    _, axes = pyplot.subplots()
    before = pyplot.get_fignums()
    assert call(mixture, rows, axes) is axes
    assert pyplot.get_fignums() == before
    axes.figure.canvas.draw()
    assert call(mixture, rows, None).figure.number not in before
    with pytest.raises(TypeError, match="^ax must be matplotlib axes or None, not str$"):
        call(mixture, rows, "here")


REFUSALS = {
    "columns": [
        (lambda fit, rows: plot.data(fit, rows, columns=(0, 3)), "columns holds 3; the fit has columns 0 to 2"),
        (lambda fit, rows: plot.data(fit, rows, columns=(0, -1)), "columns holds -1"),
        (lambda fit, rows: plot.data(fit, rows, columns=(0, 1, 2)), "columns must name one or two columns, not 3"),
        (lambda fit, rows: plot.responsibilities(fit, rows, columns=1), "columns must name two columns"),
    ],
    "X": [
        (lambda fit, rows: plot.data(fit, rows[:, :2]), "X has 2 columns; the estimator was fitted to 3"),
        (lambda fit, rows: plot.data(fit, rows[0]), r"X must have two dimensions, .* its shape is \(3,\)"),
        (lambda fit, rows: plot.data(fit, rows[:0]), "X has no rows"),
        (lambda fit, rows: plot.data(fit, np.where(rows == rows[4, 1], np.nan, rows)), "X has the value nan in row 4, column 1"),
    ],
    "labels": [
        (lambda fit, rows: plot.data(fit, rows, labels=[0, 1]), r"labels must have one value for each of the 300 rows"),
        (lambda fit, rows: plot.data(fit, rows, labels=np.full(300, -1)), "labels must be integers of at least 0"),
        (lambda fit, rows: plot.data(fit, rows, labels=np.full(300, 0.5)), "labels must be integers of at least 0"),
        (lambda fit, rows: plot.data(fit, labels=[0]), "labels need X"),
    ],
    "sigmas": [
        (lambda fit, rows: plot.data(fit, rows, sigmas=(1, 2, 3, 4)), "sigmas must be at most three positive numbers"),
        (lambda fit, rows: plot.data(fit, rows, sigmas=0), "sigmas must be at most three positive numbers"),
    ],
    "max_points": [
        (lambda fit, rows: plot.data(fit, rows, max_points=0), "max_points must be a positive integer, not 0"),
        (lambda fit, rows: plot.silhouette(fit, rows, max_points=2.5), "max_points must be a positive integer, not 2.5"),
    ],
    "table": [
        (lambda *_: plot.selection({"bic": [1.0]}), "table has no column n_components or n_clusters"),
        (lambda *_: plot.selection({"n_components": [1], "bic": [1.0]}), "table has no column aic"),
        (lambda *_: plot.selection({"n_components": [1], "bic": [np.inf]}, criteria="bic"), "no finite value in column bic"),
        (lambda *_: plot.selection({"n_components": [1]}, criteria=()), "criteria must name one to three columns"),
    ],
    "estimator": [
        (lambda *_: plot.convergence([]), "estimator has no iteration to draw"),
        (lambda *_: plot.silhouette(shoal.KMeans(1).fit(np.eye(2)), np.eye(2)), "estimator has only one group"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("call, message", [pair for pairs in REFUSALS.values() for pair in pairs])
def test_a_refusal_names_the_argument(mixture, rows, call, message):
    with pytest.raises(ValueError, match=message):
        call(mixture, rows)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: plot.data("fit"), "estimator must be a Gaussian mixture or k-means, not str"),
        (lambda: plot.responsibilities(shoal.KMeans(2).fit(np.eye(2)), np.eye(2)), r"estimator must have predict_proba\(\)"),
        (lambda: plot.convergence(sklearn.cluster.KMeans(1).fit(np.eye(2))), "KMeans has no inertias_"),
        (lambda: plot.convergence("up"), "estimator must be a fit or a sequence of numbers"),
        (lambda: plot.convergence([[1.0]]), r"estimator must be .* its shape is \(1, 1\)"),
        (lambda: plot.selection([1, 2]), "table must be the result of select_components, .* not list"),
    ],
)  # fmt: skip
def test_a_wrong_kind_is_named(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("draw", [plot.data, plot.convergence, plot.responsibilities, plot.silhouette])
def test_a_fit_must_have_been_fitted(draw, rows):
    arguments = [] if draw is plot.convergence else [rows]
    with pytest.raises(NotFittedError):
        draw(shoal.GaussianMixture(2), *arguments)


def test_fitted_attributes_may_lie_on_a_device(rows):
    fit = sklearn.mixture.GaussianMixture(2, random_state=0).fit(rows)
    expected = _fits.marginal_covariances(fit, (0, 2))
    fit.means_, fit.covariances_ = OnDevice(fit.means_), OnDevice(fit.covariances_)
    np.testing.assert_array_equal(_fits.marginal_covariances(fit, (0, 2)), expected)
