#!/usr/bin/env python3
"""Whole calls of the Python package against scikit-learn's, on the same data from the same start, one after the other.

    build/python/bin/python bench/compare_python.py [--quick]

Prints a table of medians: what a user waits for, validation and results included, and writes
bench/results/python-CPU-DATE.json. Run it on a quiet machine after script/python. --quick takes fewer repetitions, and writes
nothing.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import time
import warnings

import numpy as np
import sklearn
import sklearn.cluster
import sklearn.mixture

import shoal


def mixture_start(X, K):
    d = X.shape[1]
    return {
        "weights_init": np.full(K, 1 / K),
        "means_init": X[:K].astype(np.float64),
        "precisions_init": np.tile(np.eye(d) / X.var(), (K, 1, 1)),
    }


def cases():
    """(title, call for either library's classes, goal): the factor by which shoal should be faster, or milliseconds."""
    X = shoal.make_mixture(2**18, 8, 10, random_state=1, dtype=np.float32)[0]
    options = dict(max_iter=20, tol=0.0, **mixture_start(X, 10))
    yield "mixture, 20 iterations, 262,144 × 8, K = 10", lambda Mixture, _: (lambda: Mixture(10, **options).fit(X)), "20 ×"
    fitted = {}

    def predict(Mixture, _):
        model = fitted.setdefault(Mixture, Mixture(10, max_iter=1, tol=0.0, **mixture_start(X, 10)).fit(X))
        return lambda: model.predict_proba(X)

    yield "predict_proba, 262,144 × 8, K = 10", predict, "10 ×"
    Y = shoal.make_mixture(2**20, 16, 64, random_state=1, dtype=np.float32)[0]
    yield "k-means to the end, 1,048,576 × 16, K = 64", lambda _, KMeans: (lambda: KMeans(64, init=Y[:64], n_init=1).fit(Y)), "3 ×"
    yield (
        "k-means from k-means++, 1,048,576 × 16, K = 64",
        lambda _, KMeans: (lambda: KMeans(64, random_state=0).fit(Y)),
        "3 ×",
    )
    Z = shoal.make_mixture(100, 2, 3, random_state=0)[0]
    yield "mixture, 100 × 2, K = 3", lambda Mixture, _: (lambda: Mixture(3, random_state=0).fit(Z)), "1 ms"


def milliseconds(call):
    started = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - started)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    calls = []
    print(f"| whole call | scikit-learn {sklearn.__version__} | shoal {shoal.__version__} | faster | goal |")
    print("|---|---|---|---|---|")
    for title, make, goal in cases():
        theirs = make(sklearn.mixture.GaussianMixture, sklearn.cluster.KMeans)
        ours = make(shoal.GaussianMixture, shoal.KMeans)
        pairs = [(milliseconds(theirs), milliseconds(ours)) for _ in range(1)]  # warm-up, and how long it takes
        repetitions = max(3, min(200, int((5e3 if quick else 2e4) / sum(pairs[0]))))
        pairs = [(milliseconds(theirs), milliseconds(ours)) for _ in range(repetitions)]
        peer, mine = (statistics.median(column) for column in zip(*pairs))
        calls.append({"call": title, "scikit_learn_ms": peer, "shoal_ms": mine, "goal": goal, "repetitions": repetitions})
        print(f"| {title} | {peer:.4g} ms | {mine:.4g} ms | {peer / mine:.1f} × | {goal} |", flush=True)
    if quick:
        return
    cpu = re.findall(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    result = {"date": datetime.date.today().isoformat(), "processor": cpu[0].strip() if cpu else "unknown",
              "threads": len(os.sched_getaffinity(0)), "scikit_learn": sklearn.__version__, "shoal": shoal.__version__,
              "calls": calls}  # fmt: skip
    name = re.sub(r"[^a-z0-9]+", "-", result["processor"].lower()).strip("-")
    path = pathlib.Path(__file__).resolve().parent / "results" / f"python-{name}-{result['date']}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(path)


if __name__ == "__main__":
    main()
