#!/usr/bin/env python3
"""What a Dask cluster costs: an iteration on two workers of one thread beside one process of two threads, and beside dask-ml.

    build/python/bin/python bench/compare_dask.py --output bench/results/dask-NAME.json

Needs the package with shoal[dask]; dask-ml is measured where it is installed. Iterations are timed between two reports of progress,
and the median of --repeats fits is kept; those of dask-ml by the difference of a long and a short fit. The models of the cluster and of
the process must be equal, or the script ends with status 1.
"""

import argparse
import datetime
import json
import platform
import statistics
import sys
import time

import dask.array as da
import distributed
import numpy as np

import shoal
import shoal.dask
from shoal._cluster.leader import _Words


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True)
    parser.add_argument("--rows", type=int, default=2**20)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--groups", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--chunks", type=int, default=8)
    return parser.parse_args()


def iteration_seconds(estimator, X):
    """The median time between two reports of one fit."""
    times = []
    estimator.set_params(callback=lambda progress: times.append((progress.phase, time.perf_counter())))
    estimator.fit(X)
    last = times[-1][0]
    marks = [at for phase, at in times if phase == last]
    return statistics.median(b - a for a, b in zip(marks, marks[1:]))


def traffic_of_an_iteration(make, X):
    """Messages and bytes that an iteration takes to and from who leads: those of a long fit less those of a short one."""
    counts = [0, 0]

    def counted(method, words_of):
        def call(self, *arguments):
            made = method(self, *arguments)
            counts[0] += 1
            counts[1] += len(words_of(made, *arguments))
            return made

        return call

    send, receive = _Words.send, _Words.receive
    _Words.send = counted(send, lambda made, to, words: words)
    _Words.receive = counted(receive, lambda made, sender: made)
    try:
        totals = []
        for iterations in (2, 12):
            counts[:] = 0, 0
            make(shoal.dask).set_params(max_iter=iterations).fit(X)
            totals.append(tuple(counts))
    finally:
        _Words.send, _Words.receive = send, receive
    return [(more - less) / 10 for less, more in zip(*totals)]


def peer_seconds(X, start, iterations):
    """An iteration of dask-ml's k-means, or why there is none."""
    try:
        from dask_ml.cluster import KMeans
    except ImportError as error:
        return None, str(error)

    def fit(count):
        begun = time.perf_counter()
        KMeans(len(start), init=start, max_iter=count, tol=0).fit(X)
        return time.perf_counter() - begun

    fit(1)
    return (fit(iterations + 2) - fit(2)) / iterations, None


def main():
    wanted = arguments()
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(wanted.rows, wanted.columns))
    few = rows[:4096]
    start = rows[: wanted.groups].copy()
    how = {"max_iter": wanted.iterations, "tol": 0, "random_state": 0}
    kinds = {
        "k-means": lambda room, **more: room.KMeans(wanted.groups, init=start, n_init=1, **how, **more),
        "mixture, full": lambda room, **more: room.GaussianMixture(
            wanted.groups, init_params="random_from_data", **how, **more
        ),
    }
    result = {
        "made": datetime.date.today().isoformat(),
        "machine": {"processor": platform.processor() or platform.machine(), "system": platform.platform()},
        "versions": {
            "shoal": shoal.__version__,
            "distributed": distributed.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "rows": wanted.rows,
        "columns": wanted.columns,
        "groups": wanted.groups,
        "chunks": wanted.chunks,
        "workers": 2,
        "seconds_of_an_iteration": {},
    }
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        lazy = client.persist(da.from_array(rows, chunks=(-(-wanted.rows // wanted.chunks), wanted.columns)))
        lazy_few = client.persist(da.from_array(few, chunks=(1024, wanted.columns)))
        distributed.wait([lazy, lazy_few])
        for name, make in kinds.items():
            here, there, little = [], [], []
            for _ in range(wanted.repeats):
                local, shared = make(shoal, threads=2), make(shoal.dask)
                here.append(iteration_seconds(local, rows))
                there.append(iteration_seconds(shared, lazy))
                little.append(iteration_seconds(make(shoal.dask), lazy_few))
                own = [value for value in vars(local).values() if isinstance(value, np.ndarray) and value.dtype == float]
                others = [value for value in vars(shared).values() if isinstance(value, np.ndarray) and value.dtype == float]
                if any(a.tobytes() != b.tobytes() for a, b in zip(own, others)):
                    sys.exit(f"{name}: the model of the cluster differs from that of one process")
            result["seconds_of_an_iteration"][name] = {
                "one process, 2 threads": statistics.median(here),
                "2 workers of 1 thread": statistics.median(there),
                "2 workers, 4096 rows": statistics.median(little),
                "overhead": statistics.median(there) - statistics.median(here),
            }
            messages, size = traffic_of_an_iteration(make, lazy)
            result["seconds_of_an_iteration"][name] |= {"messages": messages, "bytes": size}
        seconds, missing = peer_seconds(lazy, start, wanted.iterations)
        result["dask-ml k-means"] = {"seconds_of_an_iteration": seconds, "missing": missing}
        if seconds is not None:
            own = result["seconds_of_an_iteration"]["k-means"]["2 workers of 1 thread"]
            result["dask-ml k-means"]["over shoal"] = seconds / own
    with open(wanted.output, "w") as file:
        json.dump(result, file, indent=2)
        file.write("\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
