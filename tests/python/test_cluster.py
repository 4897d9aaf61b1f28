"""Fits whose rows several holders have, by an engine of threads: bits, losses and refusals, without any cluster."""

import gc
import signal
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import shoal
from shoal import _shoal
from shoal._cluster import holder as holder_module
from shoal._cluster.engine import Worker, WorkerLost
from shoal._cluster.holder import Devices, Holder, Mapped, Task
from shoal._cluster.leader import Leader, Part, Parts, local_devices

SECONDS = 20


@pytest.fixture(autouse=True)
def limited():
    """To hang is the failure of peers."""

    def late(*_):
        raise RuntimeError(f"the test took more than {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


class Call:
    def __init__(self, engine, holder, future):
        self.engine, self.holder, self.future, self.heard = engine, holder, future, False

    def result(self, seconds):
        if self.engine.lost(self.holder):
            raise WorkerLost(self.holder.worker)
        answer = self.future.result(seconds)
        self.heard = True
        return answer


class ThreadEngine:
    """Workers that are threads. `lose` is asked before each call of a holder whether its worker goes now."""

    def __init__(self, count, lose=lambda *_: False):
        self.names = [f"worker {i}" for i in range(count)]
        self.lose, self.gone, self.placed, self.last = lose, set(), [], {}

    def workers(self):
        return [Worker(name, 1, "here") for name in self.names if name not in self.gone]

    def place(self, worker, rank, slices, weights, first, weights_first):
        holder = Holder(rank, slices, weights, first, weights_first, worker.threads)
        holder.worker, holder.rank, holder.calls = worker.name, rank, ThreadPoolExecutor(1)
        self.placed.append((rank, worker.name))
        return holder

    def call(self, holder, method, *arguments):
        if self.lose(holder, method):
            # A new process would have a name of its own.
            self.gone.add(holder.worker)
            self.names.append(f"{holder.worker}'")
        self.last[holder.rank] = Call(self, holder, holder.calls.submit(getattr(holder, method), *arguments))
        return self.last[holder.rank]

    def lost(self, holder):
        return holder.worker in self.gone

    def release(self, holder):
        holder.stop()
        holder.calls.shutdown(wait=False)


def rows_of(count=6000, columns=3, dtype=np.float64, seed=0):
    generator = np.random.default_rng(seed)
    centres = generator.normal(scale=6, size=(5, columns))
    return (centres[generator.integers(5, size=count)] + generator.normal(size=(count, columns))).astype(dtype)


def parts_of(array, ends):
    bounds = [0, *ends, len(array)]
    return Parts(
        [Part(array[a:b], b - a, f"partition {i} of X") for i, (a, b) in enumerate(zip(bounds, bounds[1:]))]
    )


def led(engine, estimator, X, ends=(), weights=None, method="fit"):
    weights = None if weights is None else parts_of(weights, (17,))
    leader = Leader(engine, parts_of(X, ends), weights, X.shape[1], X.dtype == np.float32, estimator.device)
    try:
        return leader.run(estimator, method)
    finally:
        leader.close()


def model_of(estimator):
    """All numbers that a fit leaves, as bytes."""
    found = {}
    for name, value in sorted(vars(estimator).items()):
        if name.endswith("_") and name not in ("labels_", "seeding_seconds_"):
            found[name] = np.asarray(value).tobytes()
    assert len(found) > 4
    return found


def small(kind, **options):
    """An estimator of that kind which takes several iterations."""
    sizes = {"n_clusters": 5, "n_components": 3, "width": 4, "height": 3, "tol": 1e-8, "epochs": 4, "max_iter": 20}
    known = kind._get_param_names()
    return kind(random_state=7, **{name: value for name, value in sizes.items() if name in known}, **options)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", shoal._ESTIMATORS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_cut_and_any_number_of_workers_give_the_bits_of_one_process(kind, dtype):
    X = rows_of(dtype=dtype)
    expected = model_of(small(kind).fit(X))
    for workers, ends in ((1, ()), (2, (1, 700, 5001)), (3, (4096,)), (7, range(100, 6000, 611))):
        fitted, _ = led(ThreadEngine(workers), small(kind), X, ends)
        assert model_of(fitted) == expected, f"{workers} workers"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", shoal._ESTIMATORS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_travel_with_their_rows(kind, dtype):
    X = rows_of(dtype=dtype)
    weights = np.random.default_rng(1).uniform(0, 3, size=len(X)).astype(dtype)
    expected = small(kind).fit(X, sample_weight=weights)
    fitted, _ = led(ThreadEngine(3), small(kind), X, (2000,), weights)
    assert model_of(fitted) == model_of(expected)
    assert led(ThreadEngine(2), expected, X, (5,), weights, "score")[1] == expected.score(X, sample_weight=weights)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_workers_go_on_while_who_leads_steps_and_reports():
    engine, waited_for = ThreadEngine(3), []

    def reported(progress):
        if progress.phase == "gmm":
            waited_for.append(sum(not call.heard for call in engine.last.values()))

    led(engine, small(shoal.GaussianMixture, callback=reported, init_params="random_from_data"), rows_of())
    assert len(waited_for) > 2 and set(waited_for) == {3}


def test_a_holder_is_given_the_rows_that_a_fold_of_few_lanes_asks_for():
    X = rows_of(32768, 2)
    how = {"n_clusters": 1000, "init": "random", "n_init": 1, "max_iter": 2, "random_state": 0}
    engine = ThreadEngine(3)
    fitted, _ = led(engine, shoal.KMeans(**how), X)
    assert model_of(fitted) == model_of(shoal.KMeans(**how).fit(X))
    assert len(engine.placed) > 3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", shoal._ESTIMATORS)
def test_a_lost_worker_is_replaced_and_changes_no_bit(kind):
    X = rows_of()
    calls = []

    def once(holder, method):
        calls.append(holder)
        return len(calls) == 16

    engine = ThreadEngine(2, once)
    fitted, _ = led(engine, small(kind), X, (1000,))
    assert model_of(fitted) == model_of(small(kind).fit(X))
    assert len(engine.gone) == 1 and len(engine.placed) == 3


def test_the_third_loss_of_a_partition_names_it():
    X = rows_of()
    engine = ThreadEngine(2, lambda holder, method: holder.rank == 2 and method == "exchange")
    message = r"partition 1 of X \(rows 3072 to 5999\) was lost 3 times with its worker: worker 1, worker 1', worker 1''"
    with pytest.raises(RuntimeError, match=message):
        led(engine, small(shoal.KMeans), X, (3072,))


def test_other_builds_are_refused_by_host(monkeypatch):
    def other(self):
        host, version, build, _ = _shoal.runner()
        return (f"host of {self._rank}", version, build, "SSE2" if self._rank == 2 else _shoal.runner()[3])

    monkeypatch.setattr(Holder, "runner", other)
    with pytest.raises(ValueError, match="the instruction set of rank 2 on host of 2 is SSE2, and that of rank 0 on"):
        led(ThreadEngine(2), small(shoal.KMeans), rows_of())


def test_errors_are_those_of_one_process():
    X = rows_of()
    X[5321, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN(.|\n)*row 5321"):
        led(ThreadEngine(3), small(shoal.KMeans), X, (4000,))
    with pytest.raises(ValueError, match="stepwise|several times a pass|algorithm='batch'"):
        led(ThreadEngine(2), shoal.GaussianMixture(2, algorithm="stepwise", random_state=0), rows_of())
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(5,\), expected \(6000,\)"):
        led(ThreadEngine(2), small(shoal.KMeans), rows_of(), (), np.ones(5))


def test_what_a_callback_raises_ends_the_fit():
    seen = []

    def stop(progress):
        seen.append(progress)
        if progress.phase == "kmeans":
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        led(ThreadEngine(2), small(shoal.KMeans, callback=stop), rows_of())
    assert seen


def test_a_checkpoint_of_a_cluster_goes_on_without_one(tmp_path):
    X, place = rows_of(), tmp_path / "place"

    def stop(progress):
        if progress.phase == "kmeans" and progress.step == 2:
            raise KeyError("enough")

    with pytest.raises(KeyError):
        led(ThreadEngine(2), small(shoal.KMeans, callback=stop, checkpoint=place), X)
    assert model_of(small(shoal.KMeans, checkpoint=place).fit(X)) == model_of(small(shoal.KMeans).fit(X))


@pytest.fixture
def hosts_for_gpus(monkeypatch):
    """Workers that are to compute on GPUs compute on their hosts, with the lanes' rows for those of shards."""
    monkeypatch.setattr(Leader, "_devices", lambda self: ["cpu"] * len(self._on))
    monkeypatch.setattr(
        Leader,
        "_on_device",
        lambda self, rank, count: _shoal.Ranks(0, count + 1, True, self).rows_for(
            rank, rows=self._rows.rows, columns=self._columns, scalar_bytes=4 if self._float32 else 8
        ),
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", shoal._ESTIMATORS)
def test_workers_with_gpus_lead_themselves(kind, hosts_for_gpus):
    X = rows_of()
    expected = small(kind).fit(X)
    for workers in (1, 2, 3):
        fitted, made = led(ThreadEngine(workers), small(kind, device="cuda:local"), X, (1, 700, 5001))
        assert made is fitted and fitted.device == "cuda:local"
        assert model_of(fitted) == model_of(expected), f"{workers} workers"
    expected.set_params(device="cuda:local")
    score = led(ThreadEngine(2), expected, X, (5,), None, "score")[1]
    assert score == expected.set_params(device=None).score(X)


def test_workers_with_gpus_are_replaced_warn_and_refuse(hosts_for_gpus):
    X = rows_of()
    calls = []

    def once(holder, method):
        calls.append(holder)
        return len(calls) == 16

    engine = ThreadEngine(2, once)
    with pytest.warns(Warning, match="did not converge|max_iter"):
        led(engine, small(shoal.GaussianMixture, device="cuda:local").set_params(max_iter=3, tol=0), X)
    assert len(engine.gone) == 1
    with pytest.raises(ValueError, match="workers with GPUs lead themselves"):
        led(ThreadEngine(2), small(shoal.KMeans, device="cuda:local", callback=print), X)


def test_ranks_that_are_threads_keep_their_own_warnings():
    begun, ended, said = threading.Event(), threading.Event(), []
    before = warnings.showwarning, list(warnings.filters)

    def first():
        with holder_module._warnings.of_this_thread() as warned:
            begun.set()
            ended.wait(10)
            warnings.warn("of the first", UserWarning)
        said.extend(warned)

    thread = threading.Thread(target=first)
    with pytest.warns(UserWarning, match="of nobody") as others:
        thread.start()
        begun.wait(10)
        with holder_module._warnings.of_this_thread() as warned:
            warnings.warn("of the second", UserWarning)
        warnings.warn("of nobody", UserWarning)
        ended.set()
        thread.join()
    assert said == [("of the first", UserWarning)] and warned == [("of the second", UserWarning)] and len(others) == 1
    assert (warnings.showwarning, list(warnings.filters)) == before


def test_few_rows_take_the_gpu_of_one_worker():
    leader = Leader(ThreadEngine(3), parts_of(rows_of(), ()), None, 3, False, "cuda:local")
    assert len(leader._on) == 1 and leader._held == [(0, 6000)]
    # 2²⁷ rows are eight shards, of whole units; the last of three workers has two of them.
    many = Parts([Part(None, 1 << 27, "all")])
    leader = Leader(ThreadEngine(3), many, None, 16, True, "cuda:local")
    ends = [leader._on_device(rank, 3)[1] for rank in (1, 2, 3)]
    assert ends == [3 << 24, 6 << 24, 1 << 27]


def test_each_worker_takes_a_gpu_of_its_host():
    workers = [Worker(f"worker {i}", 1, host) for i, host in enumerate("aabab")]
    two = Devices(3, None)
    assert local_devices(workers, [two] * 5) == ["cuda:0", "cuda:1", "cuda:0", "cuda:2", "cuda:1"]
    # Who has started them has shown each another first one.
    shown = [Devices(2, visible) for visible in ("0,1", "1,0")]
    assert local_devices(workers[:2], shown) == ["cuda:0", "cuda:0"]
    shown = [Devices(2, "0,1")] * 2
    assert local_devices(workers[:2], shown) == ["cuda:0", "cuda:1"]
    with pytest.raises(ValueError, match="process 2 of a host that has 2 GPUs"):
        local_devices([Worker(f"worker {i}", 1, "a") for i in range(3)], [Devices(2, None)] * 3)
    with pytest.raises(RuntimeError, match="worker 1 was to compute on a GPU of a, and sees none"):
        local_devices(workers[:2], [two, Devices(0, None)])


def test_a_holder_that_nobody_needs_ends_its_rank():
    X = rows_of()
    holder = Holder(1, [(X, 0, len(X))], [], 0, 0, None)
    heard = holder.begin(Task(small(shoal.KMeans), "fit", 3, len(X), 3, False, False))
    assert heard.waits_for == 0
    thread = holder._run.thread
    assert thread.is_alive()
    del holder
    gc.collect()
    thread.join(5)
    assert not thread.is_alive()


def test_mapped_files_are_opened_where_they_are_needed(tmp_path):
    X = rows_of()
    np.save(tmp_path / "rows.npy", X)
    path = str(tmp_path / "rows.npy")
    parts = Parts([Part(Mapped(path, a, a + 1500), 1500, path) for a in range(0, 6000, 1500)])
    leader = Leader(ThreadEngine(2), parts, None, 3, False)
    fitted, _ = leader.run(small(shoal.KMeans), "fit")
    leader.close()
    assert model_of(fitted) == model_of(small(shoal.KMeans).fit(X))
