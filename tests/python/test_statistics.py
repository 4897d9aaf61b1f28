"""Statistics as values: a fit made by hand from parts has the bits of fit(), and what does not belong together is refused."""

import pickle

import numpy as np
import pytest

import shoal
from shoal import GaussianMixture, KMeans, statistics

ITERATIONS = 3

# Fits that are stopped early are what is compared.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(count=5000, dtype=np.float64):
    draw = np.random.default_rng(3)
    return (draw.normal(size=(count, 3)) + 4 * draw.integers(3, size=(count, 1))).astype(dtype)


def started(kind, X):
    if kind is GaussianMixture:
        return GaussianMixture(3, tol=0, max_iter=1, random_state=0).fit(X[:600])
    if kind is KMeans:
        return KMeans(3, max_iter=1, tol=0, random_state=0).fit(X[:600])
    first = kind(3, 2, epochs=1).fit(X[:600])
    return first.set_params(epochs=ITERATIONS)


def model_of(estimator):
    if isinstance(estimator, GaussianMixture):
        return np.concatenate([estimator.weights_, estimator.means_.ravel(), estimator.covariances_.ravel()])
    return estimator.cluster_centers_ if isinstance(estimator, KMeans) else estimator.codebook_


def fitted(start, X, weights=None):
    if isinstance(start, GaussianMixture):
        whole = pickle.loads(pickle.dumps(start)).set_params(warm_start=True, max_iter=ITERATIONS)
    elif isinstance(start, KMeans):
        whole = KMeans(3, init=start.cluster_centers_, tol=0, max_iter=ITERATIONS)
    else:
        whole = type(start)(3, 2, epochs=ITERATIONS, init=start.codebook_)
    return whole.fit(X, sample_weight=weights)


def total(estimator, X, cuts, weights=None, *, places, centre=None):
    parts = []
    for first, end in zip(cuts, cuts[1:]):
        place = {"first_row": first, "total_rows": len(X)} if places else {}
        part = None if weights is None else weights[first:end]
        parts.append(statistics.accumulate(estimator, X[first:end], part, centre=centre, **place))
    return statistics.combine(*parts[::-1])


def fit_in_parts(estimator, X, cuts, weights=None, *, places, exact=True):
    centre = None
    if hasattr(estimator, "codebook_") and exact:
        centre = total(estimator, X, cuts, weights, places=places).row_mean
    labels = None
    for step in range(ITERATIONS):
        made = total(estimator, X, cuts, weights, places=places, centre=centre)
        assert made.n_rows == len(X) and made.whole == places
        if isinstance(estimator, KMeans):
            if made.label_fingerprint == labels:
                break  # no label changed: the fit has ended, with the centroids that the labels belong to
            labels = made.label_fingerprint
        how = {"epoch": step} if hasattr(estimator, "codebook_") else {}
        estimator = statistics.maximise(pickle.loads(pickle.dumps(made)), estimator, **how)
    return estimator


KINDS = shoal._ESTIMATORS


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_parts_that_are_cut_between_lanes_give_the_bits_of_a_fit(kind, dtype, weighted):
    X = rows(dtype=dtype)
    weights = np.arange(len(X)) % 4 * 1e-8 if weighted else None
    start = started(kind, X)
    cuts = statistics.cut_rows(start, len(X), 3, dtype=dtype)
    assert len(cuts) == 4
    merged = fit_in_parts(start, X, cuts, weights, places=True)
    np.testing.assert_array_equal(model_of(merged), model_of(fitted(start, X, weights)))


@pytest.mark.parametrize("places", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_parts_that_are_cut_anywhere_agree_with_a_fit(kind, places):
    X = rows()
    start = started(kind, X)
    merged = fit_in_parts(start, X, [0, 1, 1733, 5000], places=places, exact=False)
    expected = model_of(fitted(start, X))
    np.testing.assert_allclose(model_of(merged), expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("kind", KINDS)
def test_rows_can_be_taken_out_again(kind):
    X = rows()
    start = started(kind, X)
    part, rest = statistics.accumulate(start, X[:2000]), statistics.accumulate(start, X[2000:])
    left = statistics.subtract(statistics.combine(part, rest), rest)
    assert left.n_rows == 2000
    np.testing.assert_allclose(left.weights, part.weights, atol=1e-9)
    np.testing.assert_allclose(left.total_weight, 2000)
    with pytest.raises(ValueError, match="cannot be taken out of"):
        statistics.subtract(part, rest)


def test_statistics_tell_what_a_fit_records():
    X = rows()
    clusters, mixture, lattice = (started(kind, X) for kind in KINDS)
    assert statistics.accumulate(mixture, X).mean_log_likelihood == fitted(mixture, X).lower_bounds_[0]
    assert statistics.accumulate(clusters, X).inertia == fitted(clusters, X).inertias_[0]
    assert statistics.accumulate(lattice, X).quantization_error == fitted(lattice, X).quantization_errors_[0]
    with pytest.raises(AttributeError, match="statistics of gmm have no 'inertia'"):
        statistics.accumulate(mixture, X).inertia


@pytest.mark.parametrize("kind", KINDS)
def test_files_hold_them(kind, tmp_path):
    X = rows()
    made = statistics.accumulate(started(kind, X), X, first_row=0, total_rows=10**6)
    statistics.save(made, tmp_path / "part")
    loaded = statistics.load(tmp_path / "part")
    assert loaded.family == made.family and loaded.to_bytes() == made.to_bytes()
    assert statistics.Statistics.from_bytes(made.to_bytes()).to_bytes() == made.to_bytes()
    (tmp_path / "cut").write_bytes(made.to_bytes()[:-8])
    with pytest.raises(ValueError, match="cut: not usable statistics: they are damaged or cut short"):
        statistics.load(tmp_path / "cut")
    with pytest.raises(ValueError, match="not statistics of shoal"):
        statistics.Statistics.from_bytes(b"nothing of the kind")


def test_what_does_not_belong_together_is_refused():
    X = rows()
    clusters, mixture, lattice = (started(kind, X) for kind in KINDS)
    made = statistics.accumulate(mixture, X)
    with pytest.raises(ValueError, match="one are of gmm, the others of kmeans"):
        statistics.combine(made, statistics.accumulate(clusters, X))
    with pytest.raises(ValueError, match="the model's fingerprint is"):
        statistics.combine(made, statistics.accumulate(statistics.maximise(made, mixture), X))
    with pytest.raises(ValueError, match="the scalar is float64 in one and float32"):
        statistics.combine(made, statistics.accumulate(mixture, rows(dtype=np.float32)))
    with pytest.raises(ValueError, match="maximise needs the model"):
        statistics.maximise(made, fitted(mixture, X))
    with pytest.raises(ValueError, match="these are statistics of gmm, and the estimator is a KMeans"):
        statistics.maximise(made, clusters)
    with pytest.raises(ValueError, match="does not lie in a whole of 5001 rows"):
        statistics.accumulate(mixture, X, first_row=2, total_rows=5001)
    with pytest.raises(ValueError, match="centre is of maps"):
        statistics.accumulate(mixture, X, centre=[0, 0, 0])
    with pytest.raises(ValueError, match="needs the epoch of a map"):
        statistics.maximise(statistics.accumulate(lattice, X), lattice)
    with pytest.raises(TypeError, match="got int"):
        statistics.accumulate(1, X)


def test_what_does_not_fold_says_so():
    X = rows()
    for algorithm in ("incremental", "asynchronous", "stepwise"):
        with pytest.raises(ValueError, match=f"need algorithm='batch'; got '{algorithm}'"):
            statistics.accumulate(started(GaussianMixture, X).set_params(algorithm=algorithm), X)
    with pytest.raises(ValueError, match="need training='batch'; got 'online'"):
        statistics.accumulate(started(KINDS[-1], X).set_params(training="online"), X)


def test_the_module_is_there_without_an_import_of_its_own():
    assert shoal.statistics is statistics
