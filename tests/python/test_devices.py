"""Arrays on CUDA devices: used where they lie, with results on the same device. Skipped where there is no device."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from shoal import GaussianMixture, KMeans, _device_arrays, _shoal, kmeans_plusplus, make_mixture


sys.path.insert(0, str(Path(__file__).parent))
from device_libraries import LIBRARIES, host, lies_beside, needs_device, torch_array  # noqa: E402


@pytest.fixture(scope="module")
def rows():
    return make_mixture(20_000, 5, 3, random_state=0, dtype=np.float32)[0]


def start(X, K=3):
    precisions = np.tile(np.eye(X.shape[1]), (K, 1, 1))
    return {"weights_init": np.full(K, 1 / K), "means_init": X[:K], "precisions_init": precisions}


@needs_device
@pytest.mark.parametrize("library", LIBRARIES)
def test_mixtures_fit_and_predict_where_the_rows_lie(rows, library):
    X = LIBRARIES[library](rows)
    options = dict(n_components=3, max_iter=15, **start(rows))
    there, here = GaussianMixture(**options).fit(X), GaussianMixture(**options).fit(rows)
    assert_allclose(there.means_, here.means_, rtol=1e-4, atol=1e-3)
    assert_allclose(there.covariances_, here.covariances_, rtol=1e-3, atol=1e-3)
    for name, tolerance in (("predict_proba", 1e-4), ("score_samples", 1e-3)):
        result = getattr(there, name)(X)
        assert type(result).__module__.split(".")[0] == ("torch" if library == "torch" else "cupy")
        assert result.__dlpack_device__() == X.__dlpack_device__()
        assert_allclose(host(result), getattr(here, name)(rows), rtol=tolerance, atol=tolerance)
    labels = there.predict(X)
    assert labels.__dlpack_device__() == X.__dlpack_device__() and _device_arrays.dtype_of(labels) == "int32"
    assert (host(labels) == here.predict(rows)).mean() > 0.999
    assert_allclose(there.score(X), here.score(rows), rtol=1e-5)
    assert_array_equal(host(GaussianMixture(**options).fit_predict(X)), host(labels))


@needs_device
def test_accelerated_mixtures_end_where_the_hosts_do():
    X = make_mixture(
        20_000, 3, 3, mean_scale=1.0, unit_covariances=True, wishart_degrees=50, random_state=2, dtype=np.float32
    )[0]
    options = dict(n_components=3, tol=1e-7, max_iter=2000, acceleration="squarem", **start(X))
    there, here = GaussianMixture(device="cuda", **options).fit(X), GaussianMixture(**options).fit(X)
    assert there.converged_ and there.n_iter_ < 2 * here.n_iter_
    assert_allclose(there.score(X), here.score(X), atol=1e-4)


@needs_device
@pytest.mark.parametrize("library", LIBRARIES)
def test_kmeans_fits_and_predicts_where_the_rows_lie(rows, library):
    X = LIBRARIES[library](rows)
    there, here = KMeans(6, init=rows[:6]).fit(X), KMeans(6, init=rows[:6]).fit(rows)
    assert_allclose(there.cluster_centers_, here.cluster_centers_, rtol=1e-4, atol=1e-3)
    assert there.labels_.__dlpack_device__() == X.__dlpack_device__()
    assert_array_equal(host(there.labels_), host(there.predict(X)))
    assert_allclose(there.inertia_, here.inertia_, rtol=1e-4)
    assert_allclose(there.score(X), -there.inertia_, rtol=1e-6)


@needs_device
@pytest.mark.parametrize("library", LIBRARIES)
def test_batches_are_taken_where_the_rows_lie(rows, library):
    X, weights = LIBRARIES[library](rows), np.random.default_rng(0).uniform(0.5, 2, len(rows))
    mixtures = [GaussianMixture(3, **start(rows)) for _ in range(2)]
    means = [KMeans(6, init=rows[:6]) for _ in range(2)]
    for first in range(0, len(rows), 7000):
        batch = slice(first, first + 7000)
        for there, here in (mixtures, means):
            there.partial_fit(X[batch], sample_weight=weights[batch])
            here.partial_fit(rows[batch], sample_weight=weights[batch])
        assert lies_beside(means[0].labels_, X)
        assert (host(means[0].labels_) == means[1].labels_).mean() > 0.999
    there, here = mixtures
    assert_allclose(there.means_, here.means_, rtol=1e-4, atol=1e-3)
    assert_allclose(there.covariances_, here.covariances_, rtol=1e-3, atol=1e-3)
    assert_allclose(there.lower_bounds_, here.lower_bounds_, rtol=1e-5)
    there, here = means
    assert_allclose(there.cluster_centers_, here.cluster_centers_, rtol=1e-4, atol=1e-3)
    assert_allclose(there.counts_, here.counts_, rtol=1e-2)


@needs_device
@pytest.mark.parametrize("library", LIBRARIES)
def test_distances_lie_where_the_rows_do(rows, library):
    X = LIBRARIES[library](rows)
    kmeans = KMeans(6, random_state=0).fit(X)
    distances = kmeans.transform(X)
    assert lies_beside(distances, X) and _device_arrays.dtype_of(distances) == "float32"
    assert_array_equal(host(distances), kmeans.transform(rows))  # to the bit
    assert_array_equal(host(distances).argmin(axis=1), host(kmeans.labels_))


@needs_device
@pytest.mark.parametrize("library", LIBRARIES)
def test_seeds_are_chosen_where_the_rows_lie(rows, library):
    X, weights = LIBRARIES[library](rows), np.arange(len(rows)) % 3
    for options in ({}, {"sample_weight": weights}, {"n_local_trials": 1}):
        centers, indices = kmeans_plusplus(X, 9, random_state=5, **options)
        expected, places = kmeans_plusplus(rows, 9, random_state=5, **options)
        assert lies_beside(centers, X) and lies_beside(indices, X)
        assert type(centers) is type(X)
        assert_array_equal(host(indices), places)
        assert_array_equal(np.asarray(centers) if library == "jax" else host(centers), expected)
    with pytest.raises(ValueError, match="n_samples=20000 should be >= n_clusters=20001"):
        kmeans_plusplus(X, 20_001)


@needs_device
@pytest.mark.parametrize("library", LIBRARIES)
def test_starts_and_weights_may_lie_on_either_side(rows, library):
    to_device = LIBRARIES[library]
    X, weights = to_device(rows), np.random.default_rng(0).uniform(0.5, 2, len(rows)).astype(np.float32)
    there, here = KMeans(6, init=X[:6]).fit(X), KMeans(6, init=rows[:6]).fit(X)
    assert_array_equal(there.cluster_centers_, here.cluster_centers_)
    mine = {name: to_device(value) for name, value in start(rows).items()}
    there, here = GaussianMixture(3, max_iter=3, **mine).fit(X), GaussianMixture(3, max_iter=3, **start(rows)).fit(X)
    assert_allclose(there.means_, here.means_, rtol=1e-5, atol=1e-4)  # JAX may have rounded the start to float32
    there, here = KMeans(6, init=rows[:6]), KMeans(6, init=rows[:6])
    there.fit(rows, sample_weight=to_device(weights))
    assert_array_equal(there.cluster_centers_, here.fit(rows, sample_weight=weights).cluster_centers_)


@needs_device
@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_layouts_and_weights(rows, library):
    to_device = LIBRARIES[library]
    weights = np.random.default_rng(0).uniform(0.5, 2, len(rows))
    reference = GaussianMixture(3, max_iter=10, **start(rows)).fit(rows, sample_weight=weights)
    wide, columns = to_device(np.hstack([rows, rows])), to_device(np.ascontiguousarray(rows.T))
    for X in (wide[:, :5], columns.T, to_device(rows.astype(np.float64))):
        for given in (weights, to_device(weights.astype(np.float32)), weights.tolist()):
            mixture = GaussianMixture(3, max_iter=10, **start(rows)).fit(X, sample_weight=given)
            assert_allclose(mixture.covariances_, reference.covariances_, rtol=2e-3, atol=2e-3)


class OnlyTheInterface:
    """An array of a library that has no DLPack, as Numba's."""

    def __init__(self, array, interface):
        self.shape, self.array, self.__cuda_array_interface__ = array.shape, array, interface


@needs_device
def test_the_cuda_array_interface_is_enough(rows):
    cupy = pytest.importorskip("cupy")
    there = cupy.asarray(rows)
    X = OnlyTheInterface(there, there.__cuda_array_interface__)
    mixture = GaussianMixture(3, max_iter=5, **start(rows)).fit(X)
    assert_array_equal(mixture.means_, GaussianMixture(3, max_iter=5, **start(rows)).fit(there).means_)
    assert isinstance(mixture.predict(X), cupy.ndarray)


def test_the_cuda_array_interface_without_cupy_says_what_it_takes(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ImportError, match="install cupy"):
        GaussianMixture(2).fit(OnlyTheInterface(rows, {}))


@needs_device
def test_nothing_is_copied():
    torch = pytest.importorskip("torch")
    X = torch.randn((2**25, 8), device="cuda")  # 1 GiB
    least = []
    watch = lambda progress: least.append(torch.cuda.mem_get_info()[0])  # noqa: E731
    first = X[:4].cpu().numpy()
    GaussianMixture(4, max_iter=1, **start(first, 4)).fit(X[:1000])
    before = torch.cuda.mem_get_info()[0]
    GaussianMixture(4, max_iter=2, callback=watch, **start(first, 4)).fit(X)
    KMeans(4, init=first, max_iter=2, callback=watch).fit(X)
    assert before - min(least) < 2**29 + 2**28  # labels and what the fit keeps for each row; a copy is 2**30


@needs_device
def test_host_arrays_can_be_computed_on_a_device(rows):
    options = dict(n_components=3, max_iter=10, **start(rows))
    there, here = GaussianMixture(device="cuda", **options).fit(rows), GaussianMixture(**options).fit(rows)
    assert_allclose(there.covariances_, here.covariances_, rtol=1e-3, atol=1e-3)
    assert isinstance(there.predict(rows), np.ndarray)
    rounded = GaussianMixture(device="cuda", precision="tf32", **options).fit(rows)
    assert_allclose(rounded.means_, here.means_, rtol=0.02, atol=0.02)


@needs_device
def test_what_a_device_cannot_do_is_refused(rows):
    X = torch_array(rows)
    with pytest.raises(ValueError, match="CUDA device 0"):
        GaussianMixture(2, device="cpu").fit(X)
    with pytest.raises(ValueError, match="float32 or float64"):
        KMeans(2).fit(X.half())
    with pytest.raises(ValueError, match="NaN"):
        KMeans(2).fit(X * float("nan"))
    with pytest.raises(ValueError, match="features"):
        KMeans(2).fit(X).predict(X[:, :3])


@needs_device
def test_ctrl_c(keyboard_interrupts):
    torch = pytest.importorskip("torch")
    X = torch.randn((2**22, 32), device="cuda")
    sent = []

    def press():
        time.sleep(1.5)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.raises(KeyboardInterrupt):
        GaussianMixture(64, tol=0, max_iter=100_000, init_params="random_from_data", random_state=0).fit(X)
    assert time.perf_counter() - sent[0] < 1
    GaussianMixture(2, random_state=0).fit(X[:1000])


def test_a_build_without_cuda_says_so(rows):
    if _shoal.built_with_cuda:
        pytest.skip("this build has CUDA")
    with pytest.raises(NotImplementedError, match="SHOAL_CUDA"):
        GaussianMixture(2, device="cuda").fit(rows)
