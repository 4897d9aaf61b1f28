"""How many threads a fit uses by itself: what variables, threadpoolctl and joblib say."""

import os

import joblib
import numpy as np
import pytest
import threadpoolctl

import shoal
from shoal import KMeans

ROWS = np.random.default_rng(0).normal(size=(40_000, 4))


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in ("SHOAL_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)


def threads_of_a_fit(**options):
    """Threads of this process while a fit runs."""
    seen = []
    counting = KMeans(8, max_iter=3, tol=0, random_state=0, callback=lambda _: seen.append(os.listdir("/proc/self/task")))
    counting.set_params(**options).fit(ROWS)
    return len(seen[-1])


def test_variables_count_in_their_order(monkeypatch):
    alone = threads_of_a_fit(threads=1)
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert shoal.show_config()["threads"] == 3
    assert threads_of_a_fit() == alone + 2
    monkeypatch.setenv("SHOAL_THREADS", "4")
    assert threads_of_a_fit() == alone + 3
    assert threads_of_a_fit(threads=2) == alone + 1


@pytest.mark.parametrize("name", ["SHOAL_THREADS", "OMP_NUM_THREADS"])
def test_a_variable_that_is_no_number_is_named(monkeypatch, name):
    monkeypatch.setenv(name, "many")
    with pytest.raises(ValueError, match=f"{name} must be a number of threads.*'many'"):
        KMeans(8).fit(ROWS)
    KMeans(8, threads=2).fit(ROWS)
    # Nor does it disturb what others do with threadpoolctl.
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        pass
    with threadpoolctl.threadpool_limits(2):
        KMeans(8).fit(ROWS)
    with pytest.raises(ValueError, match=name):
        KMeans(8).fit(ROWS)


def test_threadpoolctl_bounds_fits(monkeypatch):
    monkeypatch.setenv("SHOAL_THREADS", "4")
    alone = threads_of_a_fit(threads=1)
    (info,) = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "shoal"]
    assert info["num_threads"] == 4 and info["version"] == shoal.__version__
    with threadpoolctl.threadpool_limits(1):
        assert threads_of_a_fit() == alone
        with threadpoolctl.threadpool_limits({"shoal": 3}):
            assert threads_of_a_fit() == alone + 2
        assert threads_of_a_fit() == alone
        assert threads_of_a_fit(threads=2) == alone + 1
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert threads_of_a_fit() == alone + 3
    monkeypatch.setenv("SHOAL_THREADS", "2")  # limits leave nothing behind
    assert threads_of_a_fit() == alone + 1


def test_joblib_bounds_fits():
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        configs = joblib.Parallel(n_jobs=2)(joblib.delayed(shoal.show_config)() for _ in range(2))
    assert [config["threads"] for config in configs] == [1, 1]
