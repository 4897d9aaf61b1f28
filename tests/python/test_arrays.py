"""Every kind of input gives the same model; what need not be copied is not; files larger than a limit are streamed."""

import subprocess
import sys
import textwrap

import numpy as np
import pandas
import polars
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.validation import _get_feature_names

from shoal import GaussianMixture, KMeans, _input, make_mixture


@pytest.fixture(scope="module")
def rows():
    return make_mixture(700, 3, 2, random_state=0)[0]


def fitted(X, **options):
    return GaussianMixture(2, random_state=0, **options).fit(X)


class Other:
    """An array of another library in the host's memory."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def spread(X):
    wide = np.zeros((len(X), 7))
    wide[:, 1:6:2] = X
    return wide[:, 1:6:2]


def read_only(X):
    copy = X.copy()
    copy.flags.writeable = False
    return copy


def in_packed_records(X):
    """A field of records whose size is no multiple of the elements'."""
    records = np.zeros(len(X), dtype=[("mark", "u1"), ("values", X.dtype, X.shape[1]), ("end", "u2")])
    records["values"] = X
    assert records["values"].strides[0] % X.itemsize
    return records["values"]


def columns_apart(X):
    """Columns that lie no whole number of elements from each other, in memory that begins anywhere."""
    step = 8 * len(X) + 3
    memory = np.zeros(step * X.shape[1] + 1, np.uint8)
    columns = np.ndarray(X.shape, X.dtype, memory, offset=1, strides=(8, step))
    columns[:] = X
    return columns


def misaligned(X):
    memory = np.zeros(X.nbytes + 1, np.uint8)
    moved = np.ndarray(X.shape, X.dtype, memory, offset=1)
    moved[:] = X
    assert not moved.flags.aligned
    return moved


LAYOUTS = {
    "in packed records": in_packed_records,
    "columns no whole elements apart": columns_apart,
    "misaligned": misaligned,
    "Fortran": np.asfortranarray,
    "rows of a wider array": lambda X: np.hstack([X, X])[:, :3],
    "every other column": spread,
    "reversed twice": lambda X: X[::-1].copy()[::-1],
    "columns reversed twice": lambda X: X[:, ::-1].copy()[:, ::-1],
    "read-only": read_only,
    "foreign byte order": lambda X: X.astype(">f8"),
    "long double": lambda X: X.astype(np.longdouble),
    "lists": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "DLPack": Other,
    "unaligned": lambda X: np.frombuffer(b"\0" + X.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(X.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_give_the_same_bits(rows, layout):
    reference, other = fitted(rows), fitted(LAYOUTS[layout](rows))
    assert_array_equal(other.means_, reference.means_)
    assert_array_equal(other.covariances_, reference.covariances_)
    assert_array_equal(reference.predict(LAYOUTS[layout](rows)), reference.predict(rows))


@pytest.mark.parametrize("dtype", ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_are_converted_piece_by_piece(dtype, order):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (500, 3)) if dtype == "bool" else rng.integers(0, 100, (500, 3))
    X = np.array(X.astype(dtype), order=order)
    scalar = np.float32 if dtype in ("f2", "f4") else np.float64
    reference = KMeans(4, random_state=0).fit(X.astype(scalar, order="C"))
    kmeans = KMeans(4, random_state=0).fit(X)
    assert_array_equal(kmeans.cluster_centers_, reference.cluster_centers_)
    assert kmeans.transform(X).dtype == scalar


def test_precision_chooses_the_arithmetic(rows):
    single = GaussianMixture(2, random_state=0, precision="float32").fit(rows)
    assert single.predict_proba(rows).dtype == np.float32
    double = GaussianMixture(2, random_state=0, precision="float64").fit(rows.astype(np.float32))
    assert double.predict_proba(rows.astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame])
def test_frames(rows, frame):
    X = frame({name: rows[:, j] for j, name in enumerate(["a", "b", "c"])})
    mixture = fitted(X)
    assert_array_equal(mixture.means_, fitted(rows).means_)
    if _get_feature_names(X) is None:
        pytest.skip(f"scikit-learn {sklearn.__version__} sees no names in a frame of {frame.__module__}")
    assert mixture.feature_names_in_.tolist() == ["a", "b", "c"]
    assert_array_equal(mixture.predict(X), mixture.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        mixture.predict(frame({name: rows[:, j] for j, name in enumerate(["b", "a", "c"])}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        mixture.predict(rows)
    mixture.fit(rows)
    assert not hasattr(mixture, "feature_names_in_")


def test_what_lies_well_is_read_where_it_lies(rows):
    def in_place(X):
        return _input.as_data(X, None, "auto", None).rows.in_place

    assert in_place(rows) and in_place(rows[5:]) and in_place(rows[::2]) and in_place(rows[:, 1:])
    assert in_place(rows.astype(np.float32)) and in_place(rows[:1]) and in_place(np.asfortranarray(rows[:, :1]))
    assert not in_place(np.asfortranarray(rows)) and not in_place(rows[::-1]) and not in_place(rows.astype(int))
    assert not in_place(np.broadcast_to(rows[:1], rows.shape))


def peak_growth(code, *arguments):
    """MiB by which the peak of resident memory grows while `code` runs its function work() in a process of its own."""
    program = textwrap.dedent(code) + textwrap.dedent(
        """
        import resource
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        before = peak()
        work()
        print(peak() - before)
        """
    )
    run = subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True, text=True)
    return float(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("order, dtype", [("C", "f4"), ("F", "f8"), ("C", "i4")])
def test_nothing_is_copied(order, dtype):
    """256 MiB of rows; a copy of them, or a float64 of each, would show."""
    code = f"""
    import numpy as np, warnings
    from shoal import GaussianMixture, KMeans
    warnings.simplefilter("ignore")
    X = np.zeros((2**28 // 8 // np.dtype("{dtype}").itemsize, 8), "{dtype}", order="{order}")
    X[::2] = 3
    X[: 4096] += np.arange(4096)[:, None].astype("{dtype}")
    GaussianMixture(2, max_iter=1).fit(X[:5000])  # what is loaded once
    def work():
        GaussianMixture(2, init_params="random_from_data", random_state=0, max_iter=1, reg_covar=1.0).fit(X)
        KMeans(2, init=X[[0, 1]], max_iter=1).fit(X)
    """
    labels = 2**28 / 8 / np.dtype(dtype).itemsize * 4 / 2**20
    assert peak_growth(code) < labels + 48


def test_large_mapped_files_are_streamed(tmp_path):
    """A file beyond the limit gives the bits of the array, and is never resident as a whole."""
    file = tmp_path / "rows.npy"
    X = np.lib.format.open_memmap(file, "w+", np.float32, (2**21, 16))
    rng = np.random.default_rng(0)
    for first in range(0, len(X), 2**18):
        X[first : first + 2**18] = rng.normal(size=(2**18, 16)) + rng.integers(0, 3, (2**18, 1)) * 20
    X.flush()
    code = """
    import sys, warnings, numpy as np
    from shoal import GaussianMixture, KMeans
    warnings.simplefilter("ignore")
    X = np.load(sys.argv[1], mmap_mode="r")
    start = dict(weights_init=[0.5, 0.5], means_init=X[:2].astype(float), precisions_init=np.ones(2))
    GaussianMixture(2, covariance_type="spherical", max_iter=1, **start).fit(X[:5000])
    def work():
        model = GaussianMixture(2, covariance_type="spherical", max_iter=3, memory_limit=16 << 20, **start).fit(X)
        print(repr(model.covariances_.tolist()))
    """
    assert peak_growth(code, str(file)) < 64  # the file has 128 MiB
    start = dict(weights_init=[0.5, 0.5], means_init=X[:2].astype(float), precisions_init=np.ones(2))
    options = dict(covariance_type="spherical", max_iter=3, tol=0.0, **start)
    resident = GaussianMixture(2, **options)
    with pytest.warns(UserWarning):
        resident.fit(np.array(X))
        for mapped in (np.load(file, mmap_mode="r"), np.load(file, mmap_mode="r")[:], X):
            streamed = GaussianMixture(2, memory_limit=16 << 20, **options).fit(mapped)
            assert_array_equal(streamed.covariances_, resident.covariances_)
        private = np.load(file, mmap_mode="c")  # what is written to it exists in memory alone
        private[0] += 1
        kept = private[:4].copy()
        GaussianMixture(2, memory_limit=16 << 20, **options).fit(private)
    assert_array_equal(private[:4], kept)


def test_memory_limits_too_small_say_how_much_is_needed(rows):
    with pytest.raises(ValueError, match="memory"):
        fitted(np.asfortranarray(rows), memory_limit=10)


def test_the_gil_is_released(rows):
    """A second thread makes progress while a fit runs."""
    import threading
    import time

    X = np.tile(rows, (3000, 1))
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.002)

    ticker = threading.Thread(target=tick)
    ticker.start()
    started = time.perf_counter()
    with pytest.warns(UserWarning):
        GaussianMixture(8, max_iter=4, tol=0.0, init_params="random_from_data", random_state=0, threads=1).fit(X)
    ended = time.perf_counter()
    done.set()
    ticker.join()
    during = sum(started < t < ended for t in ticks)
    assert during > (ended - started) / 0.1  # ten a second would be few


def test_weights_of_any_kind(rows):
    weights = np.random.default_rng(0).uniform(1, 2, len(rows))
    reference = GaussianMixture(2, random_state=0).fit(rows, sample_weight=weights)
    for same in (weights.tolist(), pandas.Series(weights), np.repeat(weights, 2)[::2], Other(weights)):
        assert_array_equal(GaussianMixture(2, random_state=0).fit(rows, sample_weight=same).means_, reference.means_)
    ones = GaussianMixture(2, random_state=0).fit(rows, sample_weight=3.0)
    assert_allclose(ones.means_, fitted(rows).means_, rtol=1e-9)


def test_four_gibibytes_fit_in_less_than_one(tmp_path):
    """A mapped file of 4 GiB, most of it a hole that takes no disk; the limit is on all that the process holds."""
    file = tmp_path / "rows.npy"
    X = np.lib.format.open_memmap(file, "w+", np.float32, (2**26, 16))
    X[:: 2**15] = np.random.default_rng(0).normal(size=(2**11, 16)) + 5
    X.flush()
    code = """
    import sys, warnings, numpy as np
    from shoal import GaussianMixture
    warnings.simplefilter("ignore")
    X = np.load(sys.argv[1], mmap_mode="r")
    start = dict(weights_init=[0.5, 0.5], means_init=np.stack([X[1], X[0]]).astype(float), precisions_init=np.ones((2, 16)))
    def work():
        model = GaussianMixture(2, covariance_type="diag", max_iter=1, **start).fit(X)
        assert model.weights_[0] > 0.99
        import resource
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    """
    grown = peak_growth(code, str(file))
    assert grown < 512


def test_weights_in_packed_records(rows):
    records = np.zeros(len(rows), dtype=[("mark", "u1"), ("weight", "f8"), ("short", "f4")])
    records["weight"] = records["short"] = 1 + np.arange(len(rows)) % 3
    plain = 1.0 + np.arange(len(rows)) % 3
    expected = KMeans(3, random_state=0).fit(rows, sample_weight=plain)
    for field in ("weight", "short"):
        found = KMeans(3, random_state=0).fit(rows, sample_weight=records[field])
        assert_array_equal(found.cluster_centers_, expected.cluster_centers_)


def test_starts_in_packed_records(rows):
    start = rows[:3]
    records = np.zeros(3, dtype=[("mark", "u1"), ("values", "f8", 3)])
    records["values"] = start
    assert_array_equal(
        KMeans(3, init=records["values"], random_state=0).fit(rows).cluster_centers_,
        KMeans(3, init=start, random_state=0).fit(rows).cluster_centers_,
    )
    assert_array_equal(
        GaussianMixture(3, means_init=records["values"], random_state=0).fit(rows).means_,
        GaussianMixture(3, means_init=start, random_state=0).fit(rows).means_,
    )


@pytest.mark.parametrize(
    "model", [KMeans(3, random_state=0), GaussianMixture(3, random_state=0)], ids=["k-means", "mixture"]
)
def test_float64_weights_of_float32_rows_keep_their_digits(rows, model):
    narrow = rows.astype(np.float32)
    weights = 1.0 + np.arange(len(rows)) % 4
    places = (lambda m: m.cluster_centers_) if isinstance(model, KMeans) else (lambda m: m.means_)
    expected = places(sklearn.base.clone(model).fit(narrow, sample_weight=weights))
    for factor in (2.0**130, 2.0**-200, 2.0**-146):
        assert_array_equal(places(sklearn.base.clone(model).fit(narrow, sample_weight=weights * factor)), expected)
    for factor in (1e39, 1e-60, 1e-44):
        found = places(sklearn.base.clone(model).fit(narrow, sample_weight=weights * factor))
        assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("make", [lambda: GaussianMixture(2), lambda: KMeans(2)], ids=["mixture", "k-means"])
def test_masked_values_are_refused(rows, make):
    hidden = np.zeros(rows.shape, bool)
    hidden[3, 1] = True
    with pytest.raises(ValueError, match="X is a masked array with 1 masked"):
        make().fit(np.ma.array(rows, mask=hidden))
    weights = np.ma.array(np.ones(len(rows)), mask=hidden[:, 1])
    with pytest.raises(ValueError, match="sample_weight is a masked array with 1 masked"):
        make().fit(rows, sample_weight=weights)
    with pytest.raises(ValueError, match="sample_weight"):
        make().fit(rows, sample_weight=2 + 1j)
    make().fit(np.ma.array(rows, mask=False))
