"""GaussianMixture beyond scikit-learn's own tests: likelihoods, weights, starts, batches, warm starts."""

import pickle

import numpy as np
import pytest
import sklearn.mixture
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shoal import GaussianMixture, KMeans, Progress, make_mixture, progress_bar, select_components

KINDS = ["full", "tied", "diag", "spherical"]


@pytest.fixture(scope="module")
def rows():
    return make_mixture(900, 3, 3, random_state=5)[0]


def same_start(kind, X, K=3):
    """A start that both libraries take: rows as means, the variance of the data everywhere."""
    d = X.shape[1]
    precision = 1 / X.var()
    precisions = {
        "full": np.tile(np.eye(d) * precision, (K, 1, 1)),
        "tied": np.eye(d) * precision,
        "diag": np.full((K, d), precision),
        "spherical": np.full(K, precision),
    }[kind]
    return {"weights_init": np.full(K, 1 / K), "means_init": X[:K].astype(np.float64), "precisions_init": precisions}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_fit_as_scikit_learn_from_the_same_start(rows, kind):
    options = dict(n_components=3, covariance_type=kind, max_iter=25, tol=0.0, **same_start(kind, rows))
    with pytest.warns(ConvergenceWarning):
        ours = GaussianMixture(**options).fit(rows)
    with pytest.warns(ConvergenceWarning):
        theirs = sklearn.mixture.GaussianMixture(**options).fit(rows)
    names = ["weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"]
    if hasattr(theirs, "lower_bounds_"):  # old releases keep the last alone
        names.append("lower_bounds_")
    for name in names:
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-9, err_msg=name)
    assert ours.n_iter_ == theirs.n_iter_ == 25
    assert_allclose(ours.lower_bound_, theirs.lower_bound_, rtol=1e-10)
    assert_allclose(ours.score_samples(rows), theirs.score_samples(rows), rtol=1e-8, atol=1e-9)
    assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), rtol=1e-6, atol=1e-12)
    assert_array_equal(ours.predict(rows), theirs.predict(rows))
    assert_allclose([ours.bic(rows), ours.aic(rows)], [theirs.bic(rows), theirs.aic(rows)], rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_densities_are_those_of_the_attributes(rows, kind):
    mixture = GaussianMixture(3, covariance_type=kind, random_state=1).fit(rows)
    full = {
        "full": lambda k: mixture.covariances_[k],
        "tied": lambda k: mixture.covariances_,
        "diag": lambda k: np.diag(mixture.covariances_[k]),
        "spherical": lambda k: np.eye(3) * mixture.covariances_[k],
    }[kind]
    joint = np.stack(
        [mixture.weights_[k] * multivariate_normal(mixture.means_[k], full(k)).pdf(rows) for k in range(3)], axis=1
    )
    density = joint.sum(axis=1)
    assert_allclose(mixture.score_samples(rows), np.log(density), rtol=1e-9, atol=1e-9)
    assert_allclose(mixture.predict_proba(rows), joint / density[:, None], rtol=1e-7, atol=1e-12)
    assert_allclose(mixture.score(rows), np.log(density).mean(), rtol=1e-10)
    for precision, factor in zip(np.atleast_1d(mixture.precisions_), np.atleast_1d(mixture.precisions_cholesky_)):
        if kind == "full":
            assert_allclose(factor @ factor.T, precision)
            assert_array_equal(factor, np.triu(factor))


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_of_two_is_the_row_twice(rows, kind):
    weights = np.ones(len(rows))
    weights[::3] = 2
    repeated = np.repeat(rows, weights.astype(int), axis=0)
    options = dict(n_components=3, covariance_type=kind, max_iter=5, tol=0.0, **same_start(kind, rows))
    with pytest.warns(ConvergenceWarning):
        weighted = GaussianMixture(**options).fit(rows, sample_weight=weights)
        twice = GaussianMixture(**options).fit(repeated)
    assert_allclose(weighted.means_, twice.means_, rtol=1e-9)
    assert_allclose(weighted.covariances_, twice.covariances_, rtol=1e-8)
    assert_allclose(weighted.score(rows, sample_weight=weights), twice.score(repeated), rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_warm_starts_go_on_where_a_long_fit_would_be(rows, kind):
    options = dict(n_components=3, covariance_type=kind, random_state=3, tol=1e-6)
    long = GaussianMixture(max_iter=300, **options).fit(rows)
    short = GaussianMixture(max_iter=1, warm_start=True, **options)
    fits = 0
    with pytest.warns(ConvergenceWarning):
        while not (fits and short.converged_):
            short.fit(rows)
            fits += 1
    assert fits == long.n_iter_
    assert_array_equal(short.means_, long.means_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random", "random_from_data", "k-means||"])
def test_every_initialization_fits(rows, kind, init):
    mixture = GaussianMixture(3, covariance_type=kind, init_params=init, n_init=2, max_iter=200, random_state=0)
    mixture.fit(rows)
    assert mixture.converged_
    assert np.all(np.diff(mixture.lower_bounds_) > -1e-6)
    again = clone(mixture).fit(rows)
    assert_array_equal(again.means_, mixture.means_)


def test_a_part_of_the_start_replaces_that_of_the_initialization(rows):
    means = rows[[10, 500, 800]]
    first = GaussianMixture(3, max_iter=0, random_state=0).fit(rows)
    given = GaussianMixture(3, max_iter=0, random_state=0, means_init=means).fit(rows)
    assert_array_equal(given.means_, means)
    assert_array_equal(given.weights_, first.weights_)
    assert_array_equal(given.covariances_, first.covariances_)
    assert given.lower_bound_ == -np.inf and given.n_iter_ == 0


@pytest.mark.parametrize("kind", KINDS)
def test_one_batch_of_everything_is_one_iteration(rows, kind):
    options = dict(n_components=3, covariance_type=kind, **same_start(kind, rows))
    with pytest.warns(ConvergenceWarning):
        fitted = GaussianMixture(max_iter=1, **options).fit(rows)
    batch = GaussianMixture(**options).partial_fit(rows)
    assert_allclose(batch.means_, fitted.means_, rtol=1e-10)
    assert_allclose(batch.covariances_, fitted.covariances_, rtol=1e-9, atol=1e-12)
    assert batch.n_steps_ == 1
    assert_allclose(batch.lower_bound_, fitted.lower_bound_, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_mixes_sufficient_statistics(rows, kind):
    """The second step against the same arithmetic on second moments about zero."""
    first, second = rows[:450], rows[450:]
    mixture = GaussianMixture(3, covariance_type=kind, random_state=0, step_decay=0.7, reg_covar=1e-3)
    mixture.partial_fit(first)
    weights, means = mixture.weights_.copy(), mixture.means_.copy()
    regularized = mixture.covariances_.copy()
    responsibilities = mixture.predict_proba(second)
    mixture.partial_fit(second)
    eta = 2**-0.7
    eye = np.eye(3)
    plain = {
        "full": lambda k: regularized[k] - 1e-3 * eye,
        "tied": lambda k: regularized - 1e-3 * eye,
        "diag": lambda k: np.diag(regularized[k] - 1e-3),
        "spherical": lambda k: eye * (regularized[k] - 1e-3),
    }[kind]
    W = (1 - eta) * weights + eta * responsibilities.mean(axis=0)
    S = (1 - eta) * weights[:, None] * means + eta * responsibilities.T @ second / len(second)
    Q = np.stack(
        [
            (1 - eta) * weights[k] * (plain(k) + np.outer(means[k], means[k]))
            + eta * (second.T * responsibilities[:, k]) @ second / len(second)
            for k in range(3)
        ]
    )
    new_means = S / W[:, None]
    scatter = Q - W[:, None, None] * np.einsum("ki,kj->kij", new_means, new_means)
    matrices = scatter / W[:, None, None]
    expected = {
        "full": lambda: matrices + 1e-3 * eye,
        "tied": lambda: scatter.sum(axis=0) + 1e-3 * eye,
        "diag": lambda: np.einsum("kii->ki", matrices) + 1e-3,
        "spherical": lambda: np.einsum("kii->ki", matrices).mean(axis=1) + 1e-3,
    }[kind]()
    assert_allclose(mixture.weights_, W, rtol=1e-9)
    assert_allclose(mixture.means_, new_means, rtol=1e-8, atol=1e-9)
    assert_allclose(mixture.covariances_, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("last", [1, 7])
def test_a_last_short_batch_hurts_no_mixture(last):
    X = make_mixture(1000 + last, 2, 3, random_state=3)[0]
    whole = GaussianMixture(3, random_state=0).fit(X).score(X)
    for first in (GaussianMixture(3, random_state=0).fit(X[:1000]), GaussianMixture(3, random_state=0)):
        if not hasattr(first, "weights_"):
            for _ in range(30):
                first.partial_fit(X[:1000])
        assert first.partial_fit(X[1000:]).score(X) > whole - 0.01


def test_with_a_step_decay_of_one_all_rows_weigh_alike():
    generator = np.random.default_rng(8)
    X, weights = generator.normal(size=(500, 3)) + 5, generator.uniform(0.1, 9, 500)
    mixture = GaussianMixture(step_decay=1, reg_covar=0)
    for batch in np.split(np.arange(500), [40, 41, 300, 310]):
        mixture.partial_fit(X[batch], sample_weight=weights[batch])
    assert_allclose(mixture.means_[0], np.average(X, axis=0, weights=weights), rtol=1e-12)
    assert_allclose(mixture.covariances_[0], np.cov(X.T, aweights=weights, ddof=0), rtol=1e-10, atol=1e-12)
    assert_allclose(mixture.weight_seen_, weights.sum())
    assert mixture.n_steps_ == 5


def test_batches_do_not_follow_another_shape(rows):
    mixture = GaussianMixture(2, random_state=0).partial_fit(rows)
    means = mixture.means_
    with pytest.raises(ValueError, match="n_components is 3, but partial_fit began with 2"):
        mixture.set_params(n_components=3).partial_fit(rows)
    with pytest.raises(ValueError, match="covariance_type is 'diag' now"):
        mixture.set_params(n_components=2, covariance_type="diag").partial_fit(rows)
    assert mixture.means_ is means
    mixture.set_params(covariance_type="full").partial_fit(rows)


def test_batches_approach_the_whole(rows):
    X, _, truth = make_mixture(40_000, 2, 3, random_state=11, return_mixture=True)
    mixture = GaussianMixture(3, random_state=0)
    for batch in np.array_split(X, 80):
        mixture.partial_fit(batch)
    assert mixture.n_steps_ == 80
    assert mixture.score(X) > truth.score(X) - 0.02


@pytest.fixture(scope="module")
def overlapping():
    return make_mixture(6000, 3, 3, mean_scale=1.0, unit_covariances=True, wishart_degrees=50, random_state=2)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_acceleration_reaches_what_batch_reaches_in_fewer_iterations(overlapping, kind):
    options = dict(n_components=3, covariance_type=kind, random_state=0, tol=1e-8, max_iter=5000)
    plain = GaussianMixture(**options).fit(overlapping)
    quick = GaussianMixture(acceleration="squarem", **options).fit(overlapping)
    assert quick.converged_ and 2 * quick.n_iter_ < plain.n_iter_
    assert quick.score(overlapping) > plain.score(overlapping) - 1e-4
    again = clone(quick).fit(overlapping)
    assert_array_equal(again.means_, quick.means_)


@pytest.mark.parametrize("algorithm", ["incremental", "asynchronous", "stepwise"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_algorithm_ends_near_batch(rows, kind, algorithm):
    X = np.tile(rows, (10, 1))
    options = dict(n_components=3, covariance_type=kind, random_state=0, max_iter=60, tol=1e-5)
    batch = GaussianMixture(**options).fit(X)
    other = GaussianMixture(algorithm=algorithm, **options).fit(X)
    assert_allclose(other.score(X), batch.score(X), atol=1e-3)
    assert len(other.lower_bounds_) == other.n_iter_


def test_chunks_are_the_librarys(overlapping):
    options = dict(n_components=3, random_state=0, algorithm="incremental", max_iter=3, tol=0.0)
    with pytest.warns(ConvergenceWarning):
        usual = GaussianMixture(**options).fit(overlapping)
        other = GaussianMixture(superchunks=3, chunk_rows=500, threads=2, **options).fit(overlapping)
        again = GaussianMixture(superchunks=3, chunk_rows=500, threads=1, **options).fit(overlapping)
    assert not np.array_equal(other.means_, usual.means_)
    assert_array_equal(again.means_, other.means_)


def test_step_decay_is_of_stepwise_fits(overlapping):
    options = dict(n_components=3, random_state=0, algorithm="stepwise", max_iter=2, tol=0.0)
    with pytest.warns(ConvergenceWarning):
        means = [GaussianMixture(step_decay=decay, **options).fit(overlapping).means_ for decay in (0.6, 0.9, 0.6)]
    assert not np.array_equal(means[0], means[1])
    assert_array_equal(means[0], means[2])


def test_the_papers_parameters_take_the_place_of_others(rows):
    X = np.tile(rows, (10, 1))
    preset = GaussianMixture(3, async_em_2013=True, max_iter=1, tol=1.0, random_state=0).fit(X)
    assert preset.converged_ and 1 < preset.n_iter_ < 100
    assert_allclose(preset.score(X), GaussianMixture(3, random_state=0).fit(X).score(X), atol=1e-2)
    start = same_start("full", X)
    given = GaussianMixture(3, async_em_2013=True, max_iter=0, **start).fit(X)
    assert_array_equal(given.means_, start["means_init"])
    assert given.n_iter_ == 0


def test_algorithms_refuse_what_does_not_suit_them(rows):
    def refusal(**parameters):
        with pytest.raises(ValueError) as caught:
            GaussianMixture(3, **parameters).fit(rows)
        return str(caught.value)

    assert "The 'algorithm' parameter" in refusal(algorithm="online")
    assert "The 'acceleration' parameter" in refusal(acceleration="anderson")
    assert "The 'chunk_rows' parameter" in refusal(chunk_rows=0)
    assert "The 'superchunks' parameter" in refusal(superchunks=0)
    assert "The 'threshold' parameter" in refusal(threshold=-1.0)
    assert "'squarem' needs algorithm='batch'; got" in refusal(algorithm="incremental", acceleration="squarem")
    assert "threshold needs algorithm='asynchronous'; got 'batch'" in refusal(threshold=0.1)
    assert "async_em_2013=True needs" in refusal(async_em_2013=True, algorithm="stepwise")


@pytest.mark.parametrize("algorithm", ["incremental", "stepwise"])
def test_checkpoints_of_every_algorithm_resume(rows, tmp_path, algorithm):
    file = str(tmp_path / "fit.checkpoint")

    def stop(progress):
        if progress.step == 4:
            raise RuntimeError

    options = dict(n_components=3, init_params="random", random_state=0, tol=0.0, max_iter=9, algorithm=algorithm)
    with pytest.warns(ConvergenceWarning):
        whole = GaussianMixture(**options).fit(rows)
    with pytest.raises(RuntimeError):
        GaussianMixture(checkpoint=file, callback=stop, **options).fit(rows)
    with pytest.raises(ValueError, match=f"algorithm is {algorithm} in chunks .* and batch here"):
        GaussianMixture(checkpoint=file, **{**options, "algorithm": "batch"}).fit(rows)
    with pytest.warns(ConvergenceWarning):
        resumed = GaussianMixture(checkpoint=file, **options).fit(rows)
    assert_array_equal(resumed.means_, whole.means_)


def test_samples_have_the_mixtures_moments(rows):
    mixture = GaussianMixture(3, random_state=0).fit(rows)
    X, y = mixture.sample(60_000)
    assert X.shape == (60_000, 3) and y.shape == (60_000,)
    assert_array_equal(y, np.sort(y))
    for k in range(3):
        assert_allclose((y == k).mean(), mixture.weights_[k], atol=0.01)
        assert_allclose(X[y == k].mean(axis=0), mixture.means_[k], atol=0.2)
        assert_allclose(np.cov(X[y == k].T), mixture.covariances_[k], rtol=0.1, atol=0.3)
    assert_array_equal(mixture.sample(5)[0], mixture.sample(5)[0])
    with pytest.raises(ValueError, match="n_samples"):
        mixture.sample(0)


def test_fit_predict_is_fit_then_predict(rows):
    options = dict(n_components=3, random_state=0)
    assert_array_equal(GaussianMixture(**options).fit_predict(rows), GaussianMixture(**options).fit(rows).predict(rows))


def test_float32_survives_a_large_offset():
    X = make_mixture(20_000, 4, 3, random_state=0, unit_covariances=True)[0] + 1e6
    options = dict(n_components=3, **same_start("full", X))
    single = GaussianMixture(**options).fit(X.astype(np.float32))
    double = GaussianMixture(**options).fit(X.astype(np.float32).astype(np.float64))
    assert single.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert_allclose(single.covariances_, double.covariances_, rtol=1e-3, atol=1e-3)


def test_threads_do_not_change_a_bit(rows):
    X = np.tile(rows, (40, 1))
    fits = [GaussianMixture(3, random_state=0, threads=threads).fit(X) for threads in (1, 2, 3)]
    for other in fits[1:]:
        assert_array_equal(fits[0].covariances_, other.covariances_)


def test_select_components_finds_how_many_there_are():
    X = make_mixture(3000, 2, 4, random_state=1)[0]
    chosen = select_components(X, range(1, 7), covariance_types=("full", "spherical"), random_state=0, n_init=2)
    assert chosen.best["n_components"] == 4 and chosen.best["covariance_type"] == "full"
    assert len(chosen.table) == 12
    assert chosen.best_estimator.n_components == 4
    assert_allclose(chosen.best["bic"], chosen.best_estimator.bic(X), rtol=1e-9)
    assert all(line["failure"] is None and line["seconds"] > 0 for line in chosen.table)
    with pytest.raises(ValueError, match="criterion"):
        select_components(X, criterion="gini")
    with pytest.raises(ValueError, match="n_components must be a list or a range of values; got 5"):
        select_components(X, 5)


def test_selection_reports_what_collapsed():
    X = np.repeat([[0.0, 0.0], [1.0, 5.0], [3.0, 1.0]], 10, axis=0)
    chosen = select_components(X, (1, 3), reg_covar=0.0, random_state=0)
    assert chosen.best["n_components"] == 1
    assert "component" in chosen.table[1]["failure"] and chosen.table[1]["bic"] is None


def test_works_among_scikit_learns_tools(rows):
    pipeline = make_pipeline(StandardScaler(), GaussianMixture(random_state=0))
    search = GridSearchCV(pipeline, {"gaussianmixture__n_components": [1, 3]}).fit(rows)
    assert search.best_params_ == {"gaussianmixture__n_components": 3}
    mixture = GaussianMixture(3, random_state=0).fit(rows)
    copy = pickle.loads(pickle.dumps(mixture))
    assert_array_equal(copy.predict_proba(rows), mixture.predict_proba(rows))
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            GaussianMixture(3, random_state=0).set_fit_request(sample_weight=True),
        )
        routed.fit(rows, sample_weight=np.arange(len(rows)) % 2)
        plain = GaussianMixture(3, random_state=0).fit(StandardScaler().fit_transform(rows)[1::2])
        assert_allclose(np.sort(routed[-1].means_, axis=0), np.sort(plain.means_, axis=0), atol=0.1)


def test_callbacks_see_every_iteration_and_can_end_the_fit(rows, capsys):
    seen = []
    mixture = GaussianMixture(3, random_state=0, callback=seen.append).fit(rows)
    assert [progress.step for progress in seen] == list(range(1, mixture.n_iter_ + 1))
    assert all(isinstance(progress, Progress) and progress.phase == "gmm" for progress in seen)
    assert_allclose([progress.objective for progress in seen], mixture.lower_bounds_)

    def refuse(progress):
        raise RuntimeError(f"enough after {progress.step}")

    for X in (rows, np.tile(rows, (200, 1))):  # one fit on this thread, one on a thread of its own
        with pytest.raises(RuntimeError, match="enough after 1"):
            GaussianMixture(3, random_state=0, callback=refuse).fit(X)
    GaussianMixture(3, random_state=0, verbose=1, verbose_interval=1).fit(rows)
    assert "mean log-likelihood" in capsys.readouterr().out


def test_progress_bar_counts_iterations(rows):
    bar = progress_bar(disable=True)
    GaussianMixture(3, random_state=0, callback=bar).fit(rows)
    clone(GaussianMixture(callback=bar))
    bar.close()


def test_checkpoints_resume(rows, tmp_path):
    file = str(tmp_path / "fit.checkpoint")

    def stop(progress):
        if progress.step == 4:
            raise RuntimeError

    options = dict(n_components=3, init_params="random", random_state=0, tol=0.0, max_iter=30)
    with pytest.warns(ConvergenceWarning):
        whole = GaussianMixture(**options).fit(rows)
    with pytest.raises(RuntimeError):
        GaussianMixture(checkpoint=file, callback=stop, **options).fit(rows)
    with pytest.warns(ConvergenceWarning):
        resumed = GaussianMixture(checkpoint=file, **options).fit(rows)
    assert_array_equal(resumed.means_, whole.means_)
    assert resumed.n_iter_ == whole.n_iter_


def test_errors_name_what_was_wrong(rows):
    with pytest.raises(NotFittedError):
        GaussianMixture().predict(rows)
    with pytest.raises(ValueError, match="Expected n_samples >= n_components but got n_components = 4, n_samples = 3"):
        GaussianMixture(4).fit(rows[:3])
    holed = rows.copy()
    holed[7, 1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN.\nrow 7, column 1"):
        GaussianMixture(2).fit(holed)
    holed[7, 1] = np.inf
    with pytest.raises(ValueError, match="Input X contains infinity(.|\n)*row 7, column 1"):
        GaussianMixture(2).fit(holed)
    with pytest.raises(ValueError, match="sample_weight: the weight of row 3"):
        GaussianMixture(2).fit(rows, sample_weight=np.where(np.arange(len(rows)) == 3, -1.0, 1.0))
    with pytest.raises(ValueError, match="sample_weight.shape"):
        GaussianMixture(2).fit(rows, sample_weight=np.ones(4))
    with pytest.raises(ValueError, match="'cdua' is not a device"):
        GaussianMixture(2, device="cdua").fit(rows)
    with pytest.raises(ValueError, match="features"):
        GaussianMixture(2).fit(rows).predict(rows[:, :2])
    with pytest.raises(ValueError, match="The 'precision' parameter"):
        GaussianMixture(2, precision="float16").fit(rows)
    with pytest.raises(ValueError, match="ill-defined empirical covariance(.|\n)*component"):
        GaussianMixture(2, reg_covar=0).fit(np.ones((10, 2)))
    with pytest.raises(TypeError, match="[Ss]parse"):
        import scipy.sparse

        GaussianMixture(2).fit(scipy.sparse.csr_matrix(np.eye(4)))


def test_integers_of_numpy_are_seeds_too(rows):
    labels = [KMeans(3, random_state=seed).fit(rows).labels_ for seed in (7, np.int64(7))]
    assert_array_equal(*labels)


@pytest.mark.parametrize("kind", ["full", "tied"])
@pytest.mark.parametrize("wrong", [-np.eye(3), np.zeros((3, 3)), np.eye(3) + np.eye(3, k=1), np.diag([1, 1, -1e-3])])
def test_starts_from_precisions_that_cannot_be_are_refused(rows, kind, wrong):
    precisions = wrong if kind == "tied" else np.stack([np.eye(3), wrong])
    with pytest.raises(ValueError, match=f"'{kind} precision' should be symmetric, positive-definite"):
        GaussianMixture(2, covariance_type=kind, precisions_init=precisions).fit(rows)
