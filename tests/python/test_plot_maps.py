"""Pictures of maps: every unit in its place and shape, with the value or the label that it has."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from sklearn.exceptions import NotFittedError

import shoal
from shoal import plot
from shoal.plot import _maps, _style

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(5).normal(size=(300, 3))


@pytest.fixture(scope="module", params=["rectangular", "hexagonal"])
def som(request, rows):
    return shoal.SelfOrganizingMap(5, 4, lattice=request.param).fit(rows)


def cells_of(axes):
    (cells,) = [artist for artist in axes.collections if isinstance(artist, PolyCollection)]
    axes.figure.canvas.draw()
    return cells


def outlines(cells):
    return np.array([path.vertices[:-1] for path in cells.get_paths()])


def test_units_tile_the_plane_in_their_shape(som):
    axes = plot.u_matrix(som)
    shapes = outlines(cells_of(axes))
    hexagonal = som.lattice == "hexagonal"
    assert shapes.shape == (20, 6 if hexagonal else 4, 2)
    centres = shapes.mean(axis=1)
    np.testing.assert_allclose(centres[7], [2.5, np.sqrt(0.75)] if hexagonal else [2, 1], atol=1e-12)
    edges = np.linalg.norm(np.roll(shapes, 1, axis=1) - shapes, axis=2)
    np.testing.assert_allclose(edges, 1 / np.sqrt(3) if hexagonal else 1)
    # Neighbours share an edge: two corners of one are corners of the other.
    def shared(a, b):
        return (np.linalg.norm(shapes[a][:, None] - shapes[b], axis=2) < 1e-9).sum()

    assert shared(6, 7) == 2
    # Below unit 6 (row 1, shifted) lie units 11 and 12 on a hexagonal lattice, and 11 alone on a rectangular one.
    assert shared(6, 11) == 2 and shared(6, 12) == (2 if hexagonal else 1)
    assert axes.get_aspect() == 1 and axes.get_ylim()[0] > axes.get_ylim()[1], "row 0 is at the top"
    assert (shapes.reshape(-1, 2) >= [axes.get_xlim()[0] - 1e-9, axes.get_ylim()[1] - 1e-9]).all()


def test_u_matrix_and_hits_are_the_colours(som, rows):
    np.testing.assert_array_equal(cells_of(plot.u_matrix(som)).get_array(), som.u_matrix_.ravel())
    np.testing.assert_array_equal(cells_of(plot.hit_map(som)).get_array(), som.hits_.ravel())
    counted = np.bincount(som.predict(rows[:40]), minlength=20)
    np.testing.assert_array_equal(cells_of(plot.hit_map(som, rows[:40])).get_array(), counted)
    drawn = cells_of(plot.u_matrix(som)).get_facecolors()
    darkest = som.u_matrix_.argmax()
    np.testing.assert_allclose(drawn[darkest, :3], to_rgb("#0b1d33"), atol=0.01)


def test_component_planes_are_the_columns_of_the_codebook(som):
    planes = plot.component_planes(som)
    assert len(planes) == 3
    for column, axes in enumerate(planes):
        np.testing.assert_array_equal(cells_of(axes).get_array(), som.codebook_[:, column])
        assert axes.get_title(loc="left") == f"column {column}"
    one = plot.component_planes(som, columns=2)
    np.testing.assert_array_equal(cells_of(one).get_array(), som.codebook_[:, 2])
    _, given = pyplot.subplots(1, 2)
    assert list(plot.component_planes(som, columns=(2, 0), ax=given)) == list(given)
    with pytest.raises(ValueError, match="ax must hold one axes for each of 2 columns, not 1"):
        plot.component_planes(som, columns=(2, 0), ax=given[0])
    with pytest.raises(ValueError, match="columns holds 3; the fit has columns 0 to 2"):
        plot.component_planes(som, columns=(0, 3))
    with pytest.raises(ValueError, match="columns is empty"):
        plot.component_planes(som, columns=())


def test_component_planes_have_the_names_of_the_fit(rows):
    pandas = pytest.importorskip("pandas")
    som = shoal.SelfOrganizingMap(3, 2).fit(pandas.DataFrame(rows, columns=["length", "width", "height"]))
    titles = [axes.get_title(loc="left") for axes in plot.component_planes(som)]
    assert titles == ["length", "width", "height"]


def test_many_columns_are_drawn_up_to_twelve():
    som = shoal.SelfOrganizingMap(2, 2).fit(np.random.default_rng(0).normal(size=(30, 14)))
    planes = plot.component_planes(som)
    assert len(planes) == 12 and len({id(axes.figure) for axes in planes}) == 1


def test_majority_labels_by_hand():
    units, labels = np.array([0, 0, 0, 2, 2, 3]), np.array([1, 1, 0, 5, 4, 4])
    majority, purity = _maps.majority_labels(units, labels, 5)
    np.testing.assert_array_equal(majority, [1, -1, 4, 4, -1])
    np.testing.assert_allclose(purity, [2 / 3, 0, 0.5, 1, 0])


def test_unit_labels_are_the_majority_in_its_colour(som, rows):
    kinds = np.array(["a", "b", "c"])[(rows[:, 0] > 0).astype(int) + (rows[:, 1] > 1)]
    axes = plot.unit_labels(som, rows, kinds)
    colours = cells_of(axes).get_facecolors()
    words = {(round(x, 6), round(y, 6)): text.get_text() for text in axes.texts for x, y in [text.get_position()]}
    for unit, place in enumerate(_maps.unit_positions(som)):
        mine = kinds[som.labels_ == unit]
        if len(mine) == 0:
            assert colours[unit, 3] == 0 and tuple(np.round(place, 6)) not in words
            continue
        names, counts = np.unique(mine, return_counts=True)
        label = names[counts.argmax()]
        assert words[tuple(np.round(place, 6))] == label
        pure = np.array(to_rgb(_style.PALETTE["abc".index(label)]))
        strength = 0.15 + 0.85 * counts.max() / len(mine)
        np.testing.assert_allclose(colours[unit, :3], 1 - strength * (1 - pure), atol=1e-9)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == sorted(set(kinds))


def test_long_names_and_many_units_have_no_texts(som, rows):
    kinds = np.where(rows[:, 0] > 0, "positive", "negative")
    axes = plot.unit_labels(som, rows, kinds)
    assert len(axes.texts) == 0
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["negative", "positive"]
    assert plot.unit_labels(som, rows, np.arange(300)).get_legend() is None


def test_a_large_map_is_drawn_as_pixels():
    som = shoal.SelfOrganizingMap(70, 70, epochs=1).fit(np.random.default_rng(0).normal(size=(50, 2)))
    cells = cells_of(plot.u_matrix(som))
    assert cells.get_rasterized() and len(cells.get_array()) == 4900


@pytest.mark.parametrize(
    "call",
    [
        lambda som, rows, ax: plot.u_matrix(som, ax=ax),
        lambda som, rows, ax: plot.hit_map(som, ax=ax),
        lambda som, rows, ax: plot.hit_map(som, rows, ax=ax),
        lambda som, rows, ax: plot.component_planes(som, columns=1, ax=ax),
        lambda som, rows, ax: plot.unit_labels(som, rows, np.zeros(len(rows), dtype=int), ax=ax),
        lambda som, rows, ax: plot.convergence(som, ax=ax),
    ],
)
def test_axes_given_are_the_axes_returned(som, rows, call):
    _, axes = pyplot.subplots()
    before = pyplot.get_fignums()
    assert call(som, rows, axes) is axes
    assert pyplot.get_fignums() == before
    axes.figure.canvas.draw()
    assert call(som, rows, None).figure.number not in before
    with pytest.raises(TypeError, match="^ax must be matplotlib axes or None, not str$"):
        call(som, rows, "here")
    with pytest.raises(NotFittedError):
        call(shoal.SelfOrganizingMap(), rows, None)


def test_what_is_no_map_is_named(rows):
    for draw in (plot.u_matrix, plot.hit_map, plot.component_planes):
        with pytest.raises(TypeError, match="estimator must be a SelfOrganizingMap, not KMeans"):
            draw(shoal.KMeans(2).fit(rows))
    with pytest.raises(TypeError, match="estimator must be a SelfOrganizingMap, not str"):
        plot.unit_labels("map", rows, rows[:, 0])


def test_labels_must_be_one_a_row(som, rows):
    with pytest.raises(ValueError, match="y must have one label for each of the 300 rows; its shape is"):
        plot.unit_labels(som, rows, [0, 1])


def test_convergence_is_the_quantization_error(som):
    axes = plot.convergence(som)
    np.testing.assert_array_equal(axes.get_lines()[0].get_ydata(), som.quantization_errors_)
    assert axes.get_ylabel() == "quantization error"
