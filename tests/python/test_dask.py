"""shoal.dask: the collections that it takes, lazy answers, and a worker that is killed."""

import asyncio
import os
import pickle
import signal
import time
import types

import numpy as np
import pytest

import shoal

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
import dask  # noqa: E402
import pandas as pd  # noqa: E402

import shoal.dask  # noqa: E402

SECONDS = 20
KINDS = [(getattr(shoal.dask, kind.__name__), kind) for kind in shoal._ESTIMATORS]
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]


@pytest.fixture(autouse=True)
def limited():
    """To hang is the failure of peers."""

    def late(*_):
        raise RuntimeError(f"the test took more than {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def client():
    """Two workers that are threads of this process."""
    with (
        dask.config.set({"distributed.admin.system-monitor.interval": "10s"}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def rows_of(count=4000, columns=3, dtype=np.float64):
    generator = np.random.default_rng(0)
    centres = generator.normal(scale=6, size=(5, columns))
    return (centres[generator.integers(5, size=count)] + generator.normal(size=(count, columns))).astype(dtype)


def model_of(estimator):
    found = {}
    for name, value in sorted(vars(estimator).items()):
        if name.endswith("_") and name not in ("labels_", "seeding_seconds_", "feature_names_in_"):
            found[name] = np.asarray(value).tobytes()
    assert len(found) > 4
    return found


def small(kind, **options):
    sizes = {"n_clusters": 5, "n_components": 3, "width": 4, "height": 3, "tol": 1e-8, "epochs": 4, "max_iter": 10}
    known = kind._get_param_names()
    return kind(random_state=7, **{name: value for name, value in sizes.items() if name in known}, **options)


# The first, while there is none.
def test_without_a_client_it_says_so():
    with pytest.raises(ValueError, match="there is no Dask client"):
        small(shoal.dask.KMeans).fit(da.zeros((10, 2)))


@pytest.mark.parametrize("shared, local", KINDS)
def test_arrays_of_any_chunks_give_the_bits_of_one_process(client, shared, local):
    X = rows_of()
    expected = small(local).fit(X)
    for chunks in ((1237, 3), (4000, 2)):
        made = small(shared).fit(da.from_array(X, chunks=chunks))
        assert model_of(made) == model_of(expected)
        labels = made.predict(da.from_array(X, chunks=chunks))
        assert isinstance(labels, da.Array) and hasattr(made, "labels_") == hasattr(expected, "labels_")
        if hasattr(made, "labels_"):
            assert np.array_equal(made.labels_.compute(), expected.labels_)
        assert np.array_equal(labels.compute(), expected.predict(X))
    assert made.score(da.from_array(X, chunks=999)) == expected.score(X)
    assert pickle.dumps(made.to_local().predict(X)) == pickle.dumps(expected.predict(X))
    assert np.array_equal(made.predict(X), expected.predict(X))
    assert type(made.to_local()) is local


def test_what_is_asked_by_row_is_lazy(client):
    X = rows_of(dtype=np.float32)
    lazy = da.from_array(X, chunks=(1500, 3))
    mixture = small(shoal.dask.GaussianMixture).fit(lazy)
    expected = small(shoal.GaussianMixture).fit(X)
    for name in ("predict_proba", "score_samples"):
        made = getattr(mixture, name)(lazy)
        assert isinstance(made, da.Array) and made.dtype == np.float32
        assert made.shape == getattr(expected, name)(X).shape
        assert np.array_equal(made.compute(), getattr(expected, name)(X))
    assert mixture.bic(lazy) == expected.bic(X)
    kmeans = small(shoal.dask.KMeans).fit(lazy)
    assert np.array_equal(kmeans.transform(lazy).compute(), small(shoal.KMeans).fit(X).transform(X))


def test_frames_delayed_parts_futures_and_files_are_rows(client, tmp_path):
    X = rows_of()
    expected = model_of(small(shoal.KMeans).fit(X))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.to_parquet(tmp_path / "rows.parquet")
    np.save(tmp_path / "first.npy", X[:1100])
    np.save(tmp_path / "second.npy", X[1100:])
    parts = [X[:1], X[1:1700], X[1700:]]
    files = [tmp_path / "first.npy", tmp_path / "second.npy"]
    forms = {
        "frame": dd.from_pandas(frame, npartitions=3),
        "parquet": dd.read_parquet(tmp_path / "rows.parquet"),
        "delayed": [dask.delayed(part) for part in parts],
        "futures": client.scatter(parts),
        "files": files,
    }
    for name, rows in forms.items():
        made = small(shoal.dask.KMeans).fit(rows)
        assert model_of(made) == expected, name
        labels = made.predict(rows)
        if isinstance(labels, list):
            labels = da.concatenate([da.from_delayed(each, (np.nan,), np.int32) for each in labels])
        assert np.array_equal(labels.compute(), made.to_local().predict(X)), name
        if name in ("frame", "parquet"):
            assert list(made.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        made = small(shoal.dask.KMeans).fit(forms["frame"])
        made.predict(dd.from_pandas(frame.rename(columns={"a": "z"}), npartitions=1))


def test_weights_may_have_other_chunks(client):
    X = rows_of()
    weights = np.random.default_rng(1).uniform(0, 3, size=len(X))
    expected = model_of(small(shoal.KMeans).fit(X, sample_weight=weights))
    for given in (da.from_array(weights, chunks=777), weights):
        made = small(shoal.dask.KMeans).fit(da.from_array(X, chunks=(1900, 3)), sample_weight=given)
        assert model_of(made) == expected


def test_estimators_keep_the_habits_of_scikit_learn(client):
    from sklearn.base import clone

    made = small(shoal.dask.KMeans, client=client)
    assert clone(made).get_params() == made.get_params()
    assert "client" in made.get_params()
    assert type(pickle.loads(pickle.dumps(small(shoal.dask.KMeans)))) is shoal.dask.KMeans
    with pytest.raises(AttributeError, match="it has KMeans, GaussianMixture"):
        shoal.dask.Kmeans
    seen = []
    small(shoal.dask.KMeans, client=client, callback=seen.append).fit(da.from_array(rows_of(), chunks=(2000, 3)))
    assert seen and seen[-1].phase == "kmeans"


def test_refusals_say_what_to_do(client):
    lazy = da.from_array(rows_of(), chunks=(2000, 3))
    with pytest.raises(TypeError, match="use fit"):
        small(shoal.dask.KMeans).partial_fit(lazy)
    with pytest.raises(ValueError, match="init must be a name or an array on a cluster"):
        small(shoal.dask.KMeans, init=lambda *_, **__: None).fit(lazy)
    with pytest.raises(ValueError, match="X has 2 features, but KMeans is expecting 3"):
        small(shoal.dask.KMeans).fit(lazy).score(lazy[:, :2])
    with pytest.raises(ValueError, match="partition 1 of X has 2 columns, and partition 0 of X has 3"):
        small(shoal.dask.KMeans).fit([dask.delayed(np.ones((4, 3))), dask.delayed(np.ones((4, 2)))])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead: X"):
        small(shoal.dask.KMeans).fit(lazy[:, 0])
    with pytest.raises(ValueError, match="Expected 1D array, got 2D array instead: sample_weight"):
        small(shoal.dask.KMeans).fit(lazy, sample_weight=lazy)
    with pytest.raises(ValueError, match="partition 1 is bad"):
        small(shoal.dask.KMeans).fit([dask.delayed(np.ones((40, 3))), dask.delayed(_fail)()])


def _fail():
    raise ValueError("partition 1 is bad")


def test_a_call_of_an_actor_that_is_gone_is_a_loss():
    from shoal._cluster.engine import WorkerLost

    class Gone:
        def __getattr__(self, name):
            raise RuntimeError("Worker holding Actor was lost.  Status: error")

    holder = types.SimpleNamespace(proxy=Gone(), address=None)
    with pytest.raises(WorkerLost, match="Actor was lost"):
        shoal.dask._engine.DaskEngine.call(None, holder, "begin").result(1)


def test_workers_within_reach_are_called_directly(client, monkeypatch):
    def place():
        engine = shoal.dask._engine.DaskEngine(client)
        holder = engine.place(engine.workers()[0], 1, [], [], 0, 0)
        assert engine.call(holder, "runner").result(10) == shoal._shoal.runner()
        engine.release(holder)
        return holder.address

    address = place()
    assert address in client.scheduler_info()["workers"]

    async def silent(**_):
        await asyncio.sleep(1)

    monkeypatch.setattr(shoal.dask._engine, "REACH_SECONDS", 0.05)
    for worker in client.cluster.workers.values():
        monkeypatch.setitem(worker.handlers, "identity", silent)
    assert place() is None
    monkeypatch.setattr(client, "direct_to_workers", True)  # it is not tried then
    assert place() == address


def test_a_killed_worker_is_replaced_and_changes_no_bit(limited):
    X = rows_of(40000)
    expected = model_of(small(shoal.KMeans).fit(X))
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        limited()  # processes that begin on a busy machine take what they take
        ends, forwarded = [], []
        forward = cluster.scheduler.handlers["proxy"]
        cluster.scheduler.handlers["proxy"] = lambda **words: forwarded.append(words) or forward(**words)

        def kill(progress):
            if progress.phase == "kmeans" and not ends:
                workers = client.run(os.getpid)
                os.kill(workers[min(workers)], signal.SIGKILL)
                ends.append(time.monotonic())

        made = small(shoal.dask.KMeans, client=client, callback=kill).fit(da.from_array(X, chunks=(5000, 3)))
        assert ends and model_of(made) == expected and not forwarded
        limited()
        client.direct_to_workers = False  # as where the scheduler alone is within reach
        made = small(shoal.dask.KMeans, client=client).fit(da.from_array(X, chunks=(5000, 3)))
        assert model_of(made) == expected and forwarded
