"""SelfOrganizingMap: a reference in NumPy, what its attributes say, batches, metrics, lattices, and refusals."""

import pickle
import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shoal import ColumnScaleWarning, SelfOrganizingMap, _shoal

DISTANCES = {
    "euclidean": lambda X, W: np.sqrt(((X[:, None] - W) ** 2).sum(axis=2)),
    "taxicab": lambda X, W: np.abs(X[:, None] - W).sum(axis=2),
    "cosine": lambda X, W: 1 - (X @ W.T) / np.linalg.norm(X, axis=1)[:, None] / np.linalg.norm(W, axis=1),
    "chebyshev": lambda X, W: np.abs(X[:, None] - W).max(axis=2),
}
NEIGHBORHOODS = {
    "gaussian": lambda d, s: np.exp(-(d**2) / (2 * s**2)),
    "bubble": lambda d, s: (d <= s).astype(float),
    "mexican-hat": lambda d, s: (1 - d**2 / s**2) * np.exp(-(d**2) / (2 * s**2)),
    "triangle": lambda d, s: np.maximum(0, 1 - d / s),
}
LATTICES = [("rectangular", False), ("rectangular", True), ("hexagonal", False), ("hexagonal", True)]


@pytest.fixture(scope="module")
def rows():
    """No two units of a map of these have the same weights, which rounding would choose between."""
    return np.random.default_rng(4).normal(size=(400, 3)) @ [[1.5, 0.5, 0], [0, 1, 0.3], [0, 0, 0.6]]


def lattice_distances(width, height, lattice, toroidal):
    """Between all units, by looking at every image of each."""
    row, column = np.divmod(np.arange(width * height), width)
    hexagonal = lattice == "hexagonal"
    places = np.stack([column + 0.5 * (row % 2) * hexagonal, row * (np.sqrt(0.75) if hexagonal else 1)], axis=1)
    period = np.array([width, height * (np.sqrt(0.75) if hexagonal else 1)])
    shifts = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)] if toroidal else [(0, 0)]
    images = [places + period * shift for shift in shifts]
    return np.min([np.linalg.norm(places[:, None] - image, axis=2) for image in images], axis=0)


def epoch(X, W, h, metric, weights):
    """One batch epoch, written out; and the quantization error of the map that it starts from."""
    distances = DISTANCES[metric](X, W)
    units = distances.argmin(axis=1)
    n = np.bincount(units, weights, len(W))
    S = np.stack([np.bincount(units, weights * X[:, j], len(W)) for j in range(X.shape[1])], axis=1)
    pull = np.abs(h) @ n
    moved = W + np.where(pull[:, None] > 0, (h @ S - (h @ n)[:, None] * W) / np.maximum(pull, 1e-300)[:, None], 0)
    return moved, np.average(distances.min(axis=1), weights=weights)


@pytest.mark.parametrize("lattice, toroidal", LATTICES)
@pytest.mark.parametrize("neighborhood", NEIGHBORHOODS)
@pytest.mark.parametrize("metric", DISTANCES)
def test_training_is_the_formula(rows, lattice, toroidal, neighborhood, metric):
    width, height, radii = 5, 4, (2.1, 1.6, 1.1)  # which are no distances of two units
    weights = 1.0 + np.arange(len(rows)) % 2
    start = rows[:20] + 0.01
    som = SelfOrganizingMap(
        width, height, lattice=lattice, toroidal=toroidal, metric=metric, neighborhood=neighborhood, epochs=3,
        radius=(radii[0], radii[-1]), init=start,
    ).fit(rows, sample_weight=weights)  # fmt: skip
    W, errors = start, []
    distances = lattice_distances(width, height, lattice, toroidal)
    for radius in radii:
        W, error = epoch(rows, W, NEIGHBORHOODS[neighborhood](distances, radius), metric, weights)
        errors.append(error)
    assert_allclose(som.codebook_, W, rtol=1e-9, atol=1e-9)
    assert_allclose(som.quantization_errors_, errors, rtol=1e-9)
    assert som.n_iter_ == 3

    between = DISTANCES[metric](rows, W)
    assert_array_equal(som.labels_, between.argmin(axis=1))
    assert_array_equal(som.predict(rows), som.labels_)
    assert_allclose(som.transform(rows), between, rtol=1e-9, atol=1e-9)
    assert_allclose(som.quantization_error_, np.average(between.min(axis=1), weights=weights), rtol=1e-9)
    assert_allclose(som.score(rows, sample_weight=weights), -som.quantization_error_, rtol=1e-12)
    assert_allclose(som.hits_.ravel(), np.bincount(som.labels_, weights, 20))
    best = np.argsort(between, axis=1, kind="stable")[:, :2]
    adjacent = distances < (1.01 if lattice == "hexagonal" else 1.42)
    assert_allclose(som.topographic_error_, np.average(~adjacent[best[:, 0], best[:, 1]], weights=weights), rtol=1e-9)
    units = DISTANCES[metric](W, W)
    np.fill_diagonal(adjacent, False)
    assert_allclose(som.u_matrix_.ravel(), (units * adjacent).sum(axis=1) / adjacent.sum(axis=1), rtol=1e-9, atol=1e-12)
    assert som.u_matrix_.shape == som.hits_.shape == (height, width)


@pytest.mark.parametrize("decay", ["linear", "exponential", "asymptotic"])
def test_batches_with_whole_steps_are_a_fit(rows, decay):
    options = {"width": 6, "height": 5, "epochs": 4, "radius": (3, 0.5), "radius_decay": decay, "step_decay": 0}
    whole = SelfOrganizingMap(**options).fit(rows)
    parts = SelfOrganizingMap(**options)
    for _ in range(4):
        assert parts.partial_fit(rows) is parts
    assert_allclose(parts.codebook_, whole.codebook_, rtol=1e-12)
    assert_allclose(parts.quantization_errors_, whole.quantization_errors_, rtol=1e-12)
    assert_array_equal(parts.labels_, whole.labels_)
    assert_allclose(parts.hits_, whole.hits_)
    assert_allclose(parts.quantization_error_, whole.quantization_error_)
    assert_allclose(parts.topographic_error_, whole.topographic_error_)
    assert parts.n_steps_ == parts.n_iter_ == 4
    # The radius stays at its last.
    before = parts.codebook_
    more = SelfOrganizingMap(**{**options, "radius": (0.5, 0.5), "epochs": 1, "init": before}).fit(rows)
    assert_allclose(parts.partial_fit(rows).codebook_, more.codebook_, rtol=1e-9)


def test_later_batches_weigh_less(rows):
    som = SelfOrganizingMap(4, 3, epochs=2, radius=(1, 1), step_decay=1).fit(rows)
    before = som.codebook_
    whole = SelfOrganizingMap(4, 3, epochs=1, radius=(1, 1), init=before).fit(rows[:50]).codebook_
    som.partial_fit(rows[:50])
    seen = 2 * len(rows) + 50
    assert_allclose(som.codebook_ - before, (whole - before) * 50 / seen, rtol=1e-9, atol=1e-12)
    assert som.weight_seen_ == seen
    assert som.hits_.sum() == 50 and len(som.labels_) == 50
    assert som.n_steps_ == 3


@pytest.mark.parametrize("decay", [0, 0.6, 1])
def test_a_last_short_batch_hurts_no_map(rows, decay):
    som = SelfOrganizingMap(4, 3, epochs=3, step_decay=decay)
    for _ in range(3):
        som.partial_fit(rows)
    error, before = som.quantization_error_, som.codebook_
    som.partial_fit(rows[:1])
    assert np.abs(som.codebook_ - before).max() < 0.01 * np.ptp(rows)
    assert som.score(rows) >= -1.01 * error


def test_a_weight_of_two_is_the_row_twice(rows):
    weights = 1 + (np.arange(len(rows)) % 3 == 0)
    weighted = SelfOrganizingMap(5, 5).fit(rows, sample_weight=weights)
    twice = SelfOrganizingMap(5, 5).fit(np.repeat(rows, weights, axis=0))
    assert_allclose(weighted.codebook_, twice.codebook_, rtol=1e-9, atol=1e-9)
    assert_allclose(weighted.topographic_error_, twice.topographic_error_)
    assert_allclose(weighted.hits_, twice.hits_)


def test_online_training_depends_on_its_seed_alone(rows):
    options = {"width": 5, "height": 4, "training": "online", "epochs": 3}
    first = SelfOrganizingMap(**options, random_state=1).fit(rows)
    assert_array_equal(first.codebook_, SelfOrganizingMap(**options, random_state=1, threads=2).fit(rows).codebook_)
    assert not np.array_equal(first.codebook_, SelfOrganizingMap(**options, random_state=2).fit(rows).codebook_)
    assert first.quantization_error_ < np.linalg.norm(rows - rows.mean(axis=0), axis=1).mean()


@pytest.mark.parametrize("init", ["sampled-rows", "random-values"])
def test_random_starts_depend_on_their_seed(rows, init):
    fits = (SelfOrganizingMap(4, 4, init=init, epochs=1, random_state=seed).fit(rows) for seed in (0, 0, 1))
    a, b, c = (fit.codebook_ for fit in fits)
    assert_array_equal(a, b)
    assert not np.array_equal(a, c)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_change_a_bit(rows, threads):
    X = np.tile(rows, (30, 1)).astype(np.float32)
    reference = SelfOrganizingMap(8, 7, threads=1).fit(X)
    fitted = SelfOrganizingMap(8, 7, threads=threads).fit(X)
    assert_array_equal(fitted.codebook_, reference.codebook_)
    assert fitted.quantization_error_ == reference.quantization_error_
    assert fitted.transform(X[:5]).dtype == np.float32


def test_mapped_files_are_streamed_to_the_same_bits(rows, tmp_path):
    X = np.tile(rows, (40, 1)).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    streamed = SelfOrganizingMap(6, 6, threads=2, memory_limit=20_000).fit(mapped)
    assert_array_equal(streamed.codebook_, SelfOrganizingMap(6, 6).fit(X).codebook_)


class Other:
    """An array of another library in the host's memory."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("layout", [Other, np.asfortranarray, lambda X: X.tolist(), lambda X: X.astype(">f8")])
def test_layouts_give_the_same_bits(rows, layout):
    reference, other = SelfOrganizingMap(4, 4).fit(rows), SelfOrganizingMap(4, 4).fit(layout(rows))
    assert_array_equal(other.codebook_, reference.codebook_)
    assert_array_equal(reference.predict(layout(rows)), reference.labels_)


def test_frames_have_names(rows):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows, columns=["a", "b", "c"])
    som = SelfOrganizingMap(4, 4).fit(frame)
    assert som.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        som.predict(frame[["b", "a", "c"]])


def test_batches_refuse_what_fits_refuse(rows):
    som = SelfOrganizingMap(4, 4).partial_fit(rows)
    before = som.codebook_
    apart = np.array([[0.0, 1e308, 0.0], [0.0, -1e308, 0.0]])
    for call in (som.partial_fit, SelfOrganizingMap(4, 4).fit):
        with pytest.raises(ValueError, match="column 1 spans"):
            call(apart)
    assert_array_equal(som.codebook_, before)


def test_a_build_without_cuda_says_so(rows):
    if _shoal.built_with_cuda:
        pytest.skip("this build has CUDA")
    som = SelfOrganizingMap(4, 4).fit(rows).set_params(device="cuda")
    before = som.codebook_
    for call in (som.fit, som.partial_fit, som.predict, som.transform):
        with pytest.raises(NotImplementedError, match="CUDA support was not built"):
            call(rows)
    assert_array_equal(som.codebook_, before)


def test_checkpoints_are_gone_on_from(rows, tmp_path):
    options = {"width": 5, "height": 5, "epochs": 6, "checkpoint": str(tmp_path / "map.checkpoint")}

    class Enough(Exception):
        pass

    def stop(progress):
        if progress.step == 4:
            raise Enough

    with pytest.raises(Enough):
        SelfOrganizingMap(**options, callback=stop).fit(rows)
    resumed = SelfOrganizingMap(**options).fit(rows)
    assert_array_equal(resumed.codebook_, SelfOrganizingMap(5, 5, epochs=6).fit(rows).codebook_)


def test_callbacks_and_verbose_tell_each_epoch(rows, capsys):
    told = []
    som = SelfOrganizingMap(4, 4, epochs=3, callback=told.append, verbose=1).fit(rows)
    assert [progress.step for progress in told] == [1, 2, 3]
    assert {(progress.phase, progress.steps) for progress in told} == {("som", 3)}
    assert_allclose([progress.objective for progress in told], som.quantization_errors_)
    assert capsys.readouterr().out.count("quantization error") == 3


def test_quality_of_other_rows(rows):
    som = SelfOrganizingMap(6, 4).fit(rows)
    own = som.quality(rows)
    assert own["quantization_error"] == som.quantization_error_
    assert own["topographic_error"] == som.topographic_error_
    assert_array_equal(own["hits"], som.hits_)
    half = som.quality(rows[:200], sample_weight=2)
    assert half["hits"].sum() == 400
    assert_allclose(half["quantization_error"], -som.score(rows[:200]))


def test_works_among_scikit_learns_tools(rows):
    pipeline = make_pipeline(StandardScaler(), SelfOrganizingMap(3, 2)).fit(rows)
    assert pipeline.transform(rows).shape == (400, 6)
    som = SelfOrganizingMap(3, 1, lattice="hexagonal", radius=(1, 0.5)).set_output(transform="pandas").fit(rows)
    assert list(som.transform(rows).columns) == [f"selforganizingmap{i}" for i in range(3)]
    assert_array_equal(pickle.loads(pickle.dumps(som)).predict(rows), som.labels_)
    assert_array_equal(clone(som).fit_predict(rows), som.labels_)


REFUSALS = {
    "The 'radius' parameter of SelfOrganizingMap must be an array-like or None. Got 3": {"radius": 3},
    "radius must be two numbers, the first and the last; got (2, 1, 0)": {"radius": (2, 1, 0)},
    "radius must be two numbers, the first and the last; got ['a', 'b']": {"radius": ["a", "b"]},
    "rate must be two numbers": {"rate": (0.1, 0.2, 0.3), "training": "online"},
    "init must have the shape (height * width, n_features) = (100, 3); got (3, 3)": {"init": np.eye(3)},
    "The 'lattice' parameter of SelfOrganizingMap must be a str among": {"lattice": "triangular"},
    "The 'width' parameter of SelfOrganizingMap must be an int": {"width": 0},
    "The 'epochs' parameter": {"epochs": 0},
    "even": {"lattice": "hexagonal", "toroidal": True, "height": 3},
    "reaches 0": {"radius": (2, 0), "radius_decay": "exponential"},
    "rate must be above 0 and at most 1": {"training": "online", "rate": (2, 0.1)},
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSALS)
def test_a_refusal_names_the_parameter(rows, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SelfOrganizingMap(**REFUSALS[message]).fit(rows)


def test_what_cannot_be_fitted_is_named(rows):
    X = rows.copy()
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"Input X contains NaN.\n.*row 7, column 2"):
        SelfOrganizingMap().fit(X)
    with pytest.raises(ValueError, match="sample_weight"):
        SelfOrganizingMap().fit(rows, sample_weight=np.full(len(rows), -1.0))
    som = SelfOrganizingMap(3, 3)
    with pytest.raises(NotFittedError):
        som.predict(rows)
    with pytest.raises(NotFittedError):
        som.u_matrix_
    with pytest.raises(ValueError, match="has 2 features"):
        som.fit(rows).predict(rows[:, :2])
    assert not hasattr(SelfOrganizingMap(), "u_matrix_")


def test_fewer_rows_than_units_and_constant_columns(rows):
    X = np.hstack([rows[:5], np.full((5, 1), 7.0)])
    som = SelfOrganizingMap(6, 6, lattice="hexagonal", toroidal=True).fit(X)
    assert np.isfinite(som.codebook_).all() and som.hits_.sum() == 5
    assert_allclose(som.codebook_[:, 3], 7)
    assert SelfOrganizingMap(1, 1).fit(X).topographic_error_ == 0
    assert_array_equal(SelfOrganizingMap(1, 1).fit(X).u_matrix_, [[0]])


def test_columns_of_other_scales_are_warned_of_once_and_where_the_caller_is():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1, 30, 0]
    with pytest.warns(ColumnScaleWarning, match="the variance of column 1 is .* times that of column 0") as caught:
        SelfOrganizingMap(3, 2, random_state=0).fit(X)
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SelfOrganizingMap(3, 2, random_state=0).fit(X / [1, 10, 1])


def test_a_fit_knows_the_time_of_its_seeding():
    fitted = SelfOrganizingMap(3, 2, random_state=0).fit(np.random.default_rng(0).normal(size=(100, 2)))
    assert isinstance(fitted.seeding_seconds_, float) and fitted.seeding_seconds_ > 0
