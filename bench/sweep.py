#!/usr/bin/env python3
"""Sweeps over the number of rows, columns and components or clusters: one thread, all threads, one GPU, and scikit-learn.

The questions are those of the sources: each of N, d and K grows while the other two stay, and whoever asks sees where threads
and a GPU begin to pay. All arms run the same iterations from the same start on the same float32 rows; a figure is the
median of seconds an iteration over repeats, shoal's from the loop's own clock and scikit-learn's from the difference of two
fits. An arm stops growing in a sweep when one iteration takes it longer than --longest seconds, and the file says so.
bench/sweep_pictures.py draws what this writes.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Of each family: the three quantities where the others stay, and the values that one of them takes.
SWEEPS = {
    "gmm": {
        "stay": {"rows": 2**17, "columns": 8, "components": 10},
        "rows": [2**n for n in (8, 10, 12, 14, 16, 18, 20, 22, 24)],
        "columns": [1, 2, 4, 8, 16, 32, 64, 128],
        "components": [1, 2, 4, 8, 16, 32, 64, 128],
    },
    "kmeans": {
        "rows": [10**n for n in range(1, 8)],
        "columns": [2**n for n in range(1, 8)],
        "components": [2**n for n in range(1, 8)],
        "stay": {"rows": 10**5, "columns": 2, "components": 2},
    },
}


# About the two centres of k-means' rows: the source's clusters stand apart. With a noise of 1 they would be one.
NOISE = 0.05


def rows_and_start(family, rows, columns, components, noise=NOISE, seed=11):
    """Rows about overlapping centres, and the start; for k-means the source's two clusters at 0.25 and -0.25."""
    random = np.random.default_rng(seed)
    data = random.standard_normal((rows, columns), dtype=np.float32)
    if family == "kmeans":
        data *= np.float32(noise)
        data[: rows // 2] += 0.25
        data[rows // 2 :] -= 0.25
        return data, data[random.choice(rows, components, replace=False)]
    means = random.normal(0, 1, (components, columns)).astype(np.float32)
    data += means[random.integers(components, size=rows)]
    return data, means


def write_start(path, family, start):
    components, columns = start.shape
    model = {"format": f"shoal/{family}", "version": 1}
    if family == "kmeans":
        model["centroids"] = start.astype(float).tolist()
    else:
        model |= {"covariance_type": "full", "weights": [1 / components] * components, "means": start.astype(float).tolist(),
                  "covariances": np.tile(np.eye(columns), (components, 1, 1)).tolist()}  # fmt: skip
    path.write_text(json.dumps(model))


class Shoal:
    def __init__(self, program, folder, words):
        self.program, self.folder, self.words = program, folder, words

    def seconds(self, family, data, start, iterations):
        del data, start  # they lie in the folder
        command = [self.program, family, "fit", self.folder / "rows.npy", "--init", self.folder / "start.json",
                   "--max-iterations", iterations, "--tolerance", 0, "--scalar", "float32", "--memory-limit", 0, "--json", *self.words]  # fmt: skip
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{command}\n{done.stderr}")
        answer = json.loads(done.stdout)
        return answer["loop_seconds"] / answer["loop_iterations"]


class ScikitLearn:
    def seconds(self, family, data, start, iterations):
        from sklearn.cluster import KMeans
        from sklearn.mixture import GaussianMixture

        def fit(count):
            if family == "kmeans":
                estimator = KMeans(len(start), init=start, n_init=1, max_iter=count, tol=0, algorithm="lloyd")
            else:
                components, columns = start.shape
                eye = np.tile(np.eye(columns, dtype=np.float32), (components, 1, 1))
                estimator = GaussianMixture(components, tol=0, max_iter=count, means_init=start, precisions_init=eye,
                                            weights_init=np.full(components, 1 / components, np.float32))  # fmt: skip
            begin = time.perf_counter()
            estimator.fit(data)
            seconds = time.perf_counter() - begin
            return seconds, estimator.n_iter_

        few, many = fit(1), fit(iterations)
        return (many[0] - few[0]) / (many[1] - few[1]) if many[1] > few[1] else float("nan")


def measure(arm, family, data, start, repeats):
    """Median seconds an iteration; a first short fit says how many iterations fill a fifth of a second."""
    first = arm.seconds(family, data, start, 3)
    if not first > 0:
        return None
    iterations = int(min(1000, max(4, 0.2 / first)))
    return statistics.median(arm.seconds(family, data, start, iterations) for _ in range(repeats))


def sweep(family, quantity, arms, longest, repeats, folder):
    points, stopped = [], set()
    for value in SWEEPS[family][quantity]:
        shape = SWEEPS[family]["stay"] | {quantity: value}
        if shape["rows"] < shape["components"]:
            continue
        data, start = rows_and_start(family, **shape)
        np.save(folder / "rows.npy", data)
        write_start(folder / "start.json", family, start)
        point = dict(shape)
        for name, arm in arms.items():
            if name in stopped:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # scikit-learn's, that a fit of stated length did not converge
                seconds = measure(arm, family, data, start, repeats)
            if seconds is None:
                continue
            point[name] = seconds
            if seconds > longest:
                stopped.add(name)
        told = ", ".join(f"{name} {1e3 * point[name]:.4g}" for name in arms if name in point)
        print(f"{family} {shape['rows']} x {shape['columns']}, {shape['components']}: {told} ms", flush=True)
        points.append(point)
    return points


def iterations(program, folder, starts):
    """How many iterations k-means takes until no label changes, on the source's two clusters apart and run together."""
    fits = []
    for noise in (NOISE, 1.0):
        for clusters in SWEEPS["kmeans"]["components"]:
            counts = []
            for seed in range(11, 11 + starts):
                data, start = rows_and_start("kmeans", 10**5, 2, clusters, noise, seed)
                np.save(folder / "rows.npy", data)
                write_start(folder / "start.json", "kmeans", start)
                command = [program, "kmeans", "fit", folder / "rows.npy", "--init", folder / "start.json", "--max-iterations", 5000,
                           "--tolerance", 0, "--scalar", "float32", "--device", "cpu", "--json"]  # fmt: skip
                done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
                counts.append(json.loads(done.stdout)["iterations"])
            fits.append({"noise": noise, "clusters": clusters, "median": int(statistics.median(counts)), "iterations": counts})
            print(noise, clusters, counts, flush=True)
    return {"rows": 10**5, "columns": 2, "fits": fits}


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ROOT / "build" / "cuda" / "bin" / "shoal"))
    parser.add_argument("--arms", default="one_thread,all_threads,gpu,scikit_learn", help="which of these to run")
    parser.add_argument("--families", default="gmm,kmeans")
    parser.add_argument("--longest", type=float, default=1, help="seconds an iteration beyond which an arm stops growing")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--iterations", action="store_true", help="count k-means' iterations instead, on the host")
    chosen = parser.parse_args()

    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        if chosen.iterations:
            counted = {"date": datetime.date.today().isoformat()} | iterations(chosen.program, folder, 9)
            path = chosen.output / f"kmeans-iterations-{counted['date']}.json"
            path.write_text(json.dumps(counted, indent=1) + "\n")
            return print(path)
        known = {
            "one_thread": Shoal(chosen.program, folder, ["--device", "cpu", "--threads", "1"]),
            "all_threads": Shoal(chosen.program, folder, ["--device", "cpu"]),
            "gpu": Shoal(chosen.program, folder, ["--device", "cuda"]),
            "scikit_learn": ScikitLearn(),
        }
        arms = {name: known[name] for name in chosen.arms.split(",")}
        result = {"date": datetime.date.today().isoformat(), "cpu": processor(), "threads": len(os.sched_getaffinity(0)),
                  "longest": chosen.longest, "sweeps": {}}  # fmt: skip
        if "gpu" in arms:
            devices = json.loads(subprocess.run([chosen.program, "devices", "--json"], capture_output=True, text=True, check=True).stdout)  # fmt: skip
            found = devices["cuda"]["devices"]
            result["gpu"] = found[0]["name"] if found else sys.exit("this machine has no CUDA device")
        for family in chosen.families.split(","):
            result["sweeps"][family] = {
                quantity: sweep(family, quantity, arms, chosen.longest, chosen.repeats, folder)
                for quantity in ("rows", "columns", "components")
            }
    chosen.output.mkdir(parents=True, exist_ok=True)
    name = result.get("gpu", result["cpu"]).lower().replace(" ", "-").replace("(", "").replace(")", "")
    path = chosen.output / f"sweep-{name}-{result['date']}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(path)


if __name__ == "__main__":
    main()
