"""KMeans beyond scikit-learn's own tests: weights, batches, distances, seeds."""

import pickle

import numpy as np
import pytest
import sklearn.cluster
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances

from shoal import KMeans, kmeans_plusplus, make_mixture


@pytest.fixture(scope="module")
def rows():
    return make_mixture(2000, 4, 6, random_state=2, unit_covariances=True)[0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_fit_as_scikit_learn_from_the_same_start(rows, dtype):
    X = rows.astype(dtype)
    ours = KMeans(6, init=X[:6], tol=0).fit(X)
    theirs = sklearn.cluster.KMeans(6, init=X[:6], n_init=1, tol=0).fit(X)
    assert_array_equal(ours.labels_, theirs.labels_)
    assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-5, atol=1e-5)
    assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-5)
    assert abs(ours.n_iter_ - theirs.n_iter_) <= 1
    assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-3, atol=1e-3)
    assert ours.transform(X).dtype == dtype


def test_labels_belong_to_the_centroids(rows):
    kmeans = KMeans(6, random_state=0, max_iter=2).fit(rows)
    distances = pairwise_distances(rows, kmeans.cluster_centers_)
    assert_allclose(kmeans.transform(rows), distances, rtol=1e-12, atol=1e-12)
    assert_array_equal(kmeans.labels_, distances.argmin(axis=1))
    assert_array_equal(kmeans.predict(rows), kmeans.labels_)
    assert_allclose(kmeans.inertia_, (distances.min(axis=1) ** 2).sum())
    assert_allclose(kmeans.score(rows), -kmeans.inertia_)
    assert_array_equal(kmeans.counts_, np.bincount(kmeans.labels_, minlength=6))


def test_a_weight_of_two_is_the_row_twice(rows):
    weights = 1 + (np.arange(len(rows)) % 3 == 0)
    repeated = np.repeat(rows, weights, axis=0)
    weighted = KMeans(6, init=rows[:6]).fit(rows, sample_weight=weights)
    twice = KMeans(6, init=rows[:6]).fit(repeated)
    assert_allclose(weighted.cluster_centers_, twice.cluster_centers_, rtol=1e-9)
    assert_allclose(weighted.inertia_, twice.inertia_, rtol=1e-9)
    assert_allclose(weighted.score(rows, sample_weight=weights), -weighted.inertia_)


@pytest.mark.parametrize("init", ["k-means++", "random", "k-means||"])
def test_restarts_keep_the_least_inertia(rows, init):
    once = [KMeans(6, init=init, random_state=seed).fit(rows).inertia_ for seed in range(3)]
    best = KMeans(6, init=init, n_init=8, random_state=0).fit(rows)
    assert best.inertia_ <= min(once) * 1.5
    assert_array_equal(best.labels_, KMeans(6, init=init, n_init=8, random_state=0).fit(rows).labels_)


def test_callables_start_every_restart(rows):
    starts = []

    def choose(X, n_clusters, random_state):
        starts.append(X[random_state.permutation(len(X))[:n_clusters]])
        return starts[-1]

    kmeans = KMeans(6, init=choose, n_init=4, random_state=0).fit(rows)
    assert len(starts) == 4
    assert_allclose(kmeans.inertia_, min(KMeans(6, init=start).fit(rows).inertia_ for start in starts))
    assert_array_equal(kmeans.labels_, kmeans.predict(rows))


def test_batches_keep_exact_means(rows):
    """With centroids far apart no label depends on the order, and the batches' centroids are the clusters' means."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 600)
    X = rng.normal(size=(600, 2)) + 100 * truth[:, None]
    weights = rng.uniform(0.5, 2, 600)
    kmeans = KMeans(3, init=np.array([[0.0, 0], [100, 100], [200, 200]]))
    for batch in np.array_split(np.arange(600), 7):
        kmeans.partial_fit(X[batch], sample_weight=weights[batch])
        assert_array_equal(kmeans.labels_, truth[batch])
    means = [np.average(X[truth == k], axis=0, weights=weights[truth == k]) for k in range(3)]
    assert_allclose(kmeans.cluster_centers_, means, rtol=1e-12)
    assert_allclose(kmeans.counts_, [weights[truth == k].sum() for k in range(3)])
    assert kmeans.n_steps_ == 7


def test_batches_do_not_follow_another_number_of_clusters(rows):
    kmeans = KMeans(3, random_state=0).partial_fit(rows)
    with pytest.raises(ValueError, match="n_clusters is 4, but partial_fit began with 3"):
        kmeans.set_params(n_clusters=4).partial_fit(rows)


def test_a_batch_after_a_fit_adds_to_it(rows):
    kmeans = KMeans(6, random_state=0).fit(rows)
    before, counts = kmeans.cluster_centers_.copy(), kmeans.counts_.copy()
    nearest = kmeans.predict(rows[:100])
    kmeans.partial_fit(rows[:100])
    for k in range(6):
        mine = rows[:100][nearest == k]
        expected = (before[k] * counts[k] + mine.sum(axis=0)) / (counts[k] + len(mine))
        assert_allclose(kmeans.cluster_centers_[k], expected, rtol=1e-9, atol=1e-9)


def test_seeds_are_rows_and_say_which(rows):
    X = np.concatenate([rows, rows[:50]]).astype(np.float32)
    centers, indices = kmeans_plusplus(X, 12, random_state=3)
    assert_array_equal(X[indices], centers)
    assert len(set(indices.tolist())) == 12
    assert centers.dtype == np.float32
    weights = np.zeros(len(X))
    weights[100:140] = 1
    _, chosen = kmeans_plusplus(X, 5, sample_weight=weights, random_state=3)
    assert all(100 <= index < 140 for index in chosen)
    first, one, many = (kmeans_plusplus(X, 12, random_state=3, n_local_trials=n)[1].tolist() for n in (None, 1, 4))
    assert first == indices.tolist() == many != one  # 4 is 2 + floor(ln 12)


def test_too_few_distinct_rows_warn():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\) found smaller than n_clusters \(3\)"):
        KMeans(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="n_samples=10 should be >= n_clusters=11"):
        KMeans(11).fit(X)


def test_works_among_scikit_learns_tools(rows):
    kmeans = KMeans(3, random_state=0).set_output(transform="pandas").fit(rows)
    frame = kmeans.transform(rows)
    assert list(frame.columns) == ["kmeans0", "kmeans1", "kmeans2"]
    copy = pickle.loads(pickle.dumps(kmeans))
    assert_array_equal(copy.predict(rows), kmeans.labels_)
    with config_context(enable_metadata_routing=True):
        assert KMeans().set_fit_request(sample_weight=True).get_metadata_routing().fit.requests == {"sample_weight": True}


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_change_a_bit(rows, threads):
    X = np.tile(rows, (30, 1)).astype(np.float32)
    reference = KMeans(6, random_state=0, threads=1).fit(X)
    fitted = KMeans(6, random_state=0, threads=threads).fit(X)
    assert_array_equal(fitted.cluster_centers_, reference.cluster_centers_)
    assert fitted.inertia_ == reference.inertia_
