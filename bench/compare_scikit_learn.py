#!/usr/bin/env python3
"""Runs shoal and scikit-learn one after the other on the same data from the same start, and writes what came out.

Called by script/bench, which builds shoal and installs the newest scikit-learn. Seconds an iteration are shoal's own
`seconds_per_iteration` and, for scikit-learn, the difference between a longer and a shorter fit divided by the difference of
their iterations, so that neither counts reading, starting or final labels. Medians over repeats, the two taking turns.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time
import warnings

import numpy as np
import sklearn
from performance_page import write_pages
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRATCH = ROOT / "build" / "bench-data"
SHOAL = ROOT / "build" / "release" / "bin" / "shoal"

# Family, covariance type, rows, columns, components, how many times faster the project wants to be.
SPEED = [
    ("gmm", "full", 2**18, 8, 10, 40),
    ("gmm", "full", 65536, 54, 7, 30),
    ("gmm", "full", 32768, 32, 64, 30),
    ("gmm", "diag", 2**18, 8, 10, 25),
    ("kmeans", None, 2**22, 2, 2, 6),
    ("kmeans", None, 10**5, 2, 128, 8),
    ("kmeans", None, 2**20, 16, 64, 4),
    ("kmeans", None, 2**17, 128, 256, 2),
]
# Seconds of rest after a fit of scikit-learn's. The threads of its BLAS go on spinning after their last product, for 80 ms
# where products are large (OpenBLAS 0.3), and would take a processor from whoever is measured next.
REST = 0.5
# Fits with two threads and with one, turn about, after each of scikit-learn's: neighbours of a virtual machine slow it for
# seconds at a time, so that only fits run one after the other tell what a second thread gains.
PAIRS = 5
COVARIANCES = ("full", "tied", "diag", "spherical")


def shoal(*arguments, threads=2):
    """Runs the command line; its --json object."""
    command = [str(SHOAL), *map(str, arguments), "--threads", str(threads), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def write_start(weights, means, variances, kind):
    """A mixture with those variances in each column, in the shape of its type."""
    components, columns = means.shape
    covariances = {
        "full": np.tile(np.diag(variances), (components, 1, 1)),
        "tied": np.diag(variances),
        "diag": np.tile(variances, (components, 1)),
        "spherical": np.full(components, variances[0]),
    }[kind]
    path = SCRATCH / "start.json"
    path.write_text(
        json.dumps(
            {
                "format": "shoal/gmm",
                "version": 1,
                "covariance_type": kind,
                "weights": weights.tolist(),
                "means": means.tolist(),
                "covariances": covariances.tolist(),
            }
        )
    )
    return path


def mixture(kind, weights, means, variances, iterations, scalar):
    components, columns = means.shape
    precisions = {
        "full": np.tile(np.diag(1 / variances), (components, 1, 1)),
        "tied": np.diag(1 / variances),
        "diag": np.tile(1 / variances, (components, 1)),
        "spherical": np.full(components, 1 / variances[0]),
    }[kind]
    return GaussianMixture(
        components,
        covariance_type=kind,
        tol=0,
        max_iter=iterations,
        weights_init=weights.astype(scalar),
        means_init=means.astype(scalar),
        precisions_init=precisions.astype(scalar),
        init_params="random_from_data",
    )


def timed(fit):
    begin = time.perf_counter()
    fitted = fit()
    return time.perf_counter() - begin, fitted.n_iter_


def seconds_an_iteration(short, long):
    """From the runs of a short fit and of a long one: the difference of their medians, so that one slow run has no say."""
    seconds = [statistics.median(each for each, _ in runs) for runs in (short, long)]
    iterations = [runs[0][1] for runs in (short, long)]
    return (seconds[1] - seconds[0]) / (iterations[1] - iterations[0])


def gmm_speed(kind, rows, columns, components, spread, repeats, random):
    means = random.normal(0, spread, (components, columns))
    data = (means[random.integers(components, size=rows)] + random.normal(size=(rows, columns))).astype(np.float32)
    weights = np.full(components, 1 / components)
    np.save(SCRATCH / "rows.npy", data)
    start = write_start(weights, means, np.ones(columns), kind)

    def ours(threads):
        return shoal("gmm", "fit", SCRATCH / "rows.npy", "--components", components, "--covariance", kind, "--init", start,
                     "--max-iterations", 20, "--tolerance", 0, "--scalar", "float32", threads=threads)  # fmt: skip

    def peer(iterations):
        return mixture(kind, weights, means, np.ones(columns), iterations, np.float32).fit(data)

    return alternate(ours, lambda: peer(1), lambda: peer(4), repeats)


def kmeans_speed(rows, columns, clusters, repeats, random):
    data = random.normal(size=(rows, columns)).astype(np.float32)
    data[: rows // 2] += 0.25
    start = data[random.choice(rows, clusters, replace=False)]
    np.save(SCRATCH / "rows.npy", data)
    path = SCRATCH / "start.json"
    path.write_text(
        json.dumps({"format": "shoal/kmeans", "version": 1, "centroids": start.astype(np.float64).tolist()})
    )

    def ours(threads):
        return shoal("kmeans", "fit", SCRATCH / "rows.npy", "--clusters", clusters, "--init", path, "--max-iterations", 12,
                     "--tolerance", 0, "--scalar", "float32", threads=threads)  # fmt: skip

    def peer(iterations):
        return KMeans(clusters, init=start, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd").fit(data)

    # A whole fit of scikit-learn's takes as long as many of its cheap iterations, and varies by as much as some.
    return alternate(ours, lambda: peer(2), lambda: peer(42), repeats)


def alternate(ours, short_peer, long_peer, repeats):
    two, one, short, long = [], [], [], []
    for _ in range(repeats):
        short.append(timed(short_peer))
        long.append(timed(long_peer))
        time.sleep(REST)
        for _ in range(PAIRS):
            runs = ours(2), ours(1)
            two.append(runs[0]["seconds_per_iteration"])
            one.append(runs[1]["seconds_per_iteration"])
            if runs[0]["history"] != runs[1]["history"]:
                sys.exit("one and two threads gave different histories")
    return {
        "shoal_two_threads": statistics.median(two),
        "shoal_one_thread": statistics.median(one),
        "two_threads_gain": statistics.median(single / double for single, double in zip(one, two)),
        "scikit_learn": seconds_an_iteration(short, long),
        "peak_bytes": runs[0]["peak_resident_bytes"],
    }


def work(family, kind, rows, columns, components):
    """Multiply-adds of one iteration that leaves nothing out, using symmetry and triangularity."""
    if family == "kmeans":
        return rows * components * columns
    if kind == "full":
        return rows * components * (columns * (columns + 1) + 2 * columns)
    return rows * components * 4 * columns


def measure_speed(repeats):
    peaks = json.loads(subprocess.check_output([str(ROOT / "build" / "release" / "bin" / "peaks")]))
    limit = next(peak for peak in peaks if peak["threads"] == 2)
    random = np.random.default_rng(0)
    cases = []
    for family, kind, rows, columns, components, goal in SPEED:
        # Mixtures twice: components that are well apart, where most responsibilities are zero, and components that
        # overlap, where none is.
        for name, spread in (("apart", 3.0), ("overlapping", 0.3)) if family == "gmm" else (("", 0.0),):
            if family == "gmm":
                found = gmm_speed(kind, rows, columns, components, spread, repeats, random)
            else:
                found = kmeans_speed(rows, columns, components, repeats, random)
            case = {"family": family, "covariance_type": kind, "rows": rows, "columns": columns, "components": components,
                    "data": name, "goal": goal, **found}  # fmt: skip
            case["multiply_adds"] = work(family, kind, rows, columns, components)
            case["bytes"] = 4 * rows * columns
            case["of_multiply_add_peak"] = (
                case["multiply_adds"] / found["shoal_two_threads"] / limit["float32_multiply_adds"]
            )
            case["of_read_bandwidth"] = case["bytes"] / found["shoal_two_threads"] / limit["read_bytes"]
            print(f"{family} {kind or ''} {rows} x {columns}, {components} {name}: "
                  f"{found['scikit_learn'] / found['shoal_two_threads']:.1f} times", flush=True)  # fmt: skip
            cases.append(case)
    return {"peaks": peaks, "speed": cases}


def load(path, columns):
    if path.suffix == ".npy":
        return np.load(path)[:, :columns].astype(np.float64)
    comma = path.name.endswith(".csv.gz")
    return np.loadtxt(path, delimiter="," if comma else None, skiprows=1 if comma else 0, usecols=range(columns))


def measure_agreement(folder, iterations):
    sets = [("shuttle", "shuttle.csv.gz", 9, 7), ("covertype10", "covertype10.npy", 10, 7)]
    for name, components in (("a1", 20), ("a2", 35), ("s1", 15), ("s2", 15), ("s4", 15), ("birch1", 100),
                             ("unbalance", 8), ("d31", 31), ("r15", 15), ("aggregation", 7)):  # fmt: skip
        sets.append((name, f"sipu/{name}.data.gz", 2, components))
    cases = []
    for name, file, columns, components in sets:
        if not (folder / file).exists():
            print(f"agreement on {name} is left out: there is no {folder / file}")
            continue
        rows = load(folder / file, columns)
        means = rows[[i * len(rows) // components for i in range(components)]]
        weights = np.full(components, 1 / components)
        np.save(SCRATCH / "rows.npy", rows)
        case = {"data": name, "rows": len(rows), "columns": columns, "components": components}
        for kind in COVARIANCES:
            variances = np.exp2(np.round(np.log2(rows.var(axis=0))))
            if kind == "spherical":
                variances = np.full(columns, np.exp2(np.round(np.log2(variances.mean()))))
            start = write_start(weights, means, variances, kind)

            def peer(data):
                return mixture(kind, weights, means, variances, iterations, np.float64).fit(data).score(data)  # noqa: B023

            expected = peer(rows)
            # The peer against itself: no agreement with it can be closer.
            again = peer(rows[np.random.default_rng(1).permutation(len(rows))])
            case[kind] = {"scikit_learn_permuted": abs(again / expected - 1)}
            for scalar in ("float64", "float32"):
                got = shoal("gmm", "fit", SCRATCH / "rows.npy", "--components", components, "--covariance", kind, "--init",
                            start, "--max-iterations", iterations, "--tolerance", 0, "--scalar", scalar)  # fmt: skip
                case[kind][scalar] = abs(got["mean_log_likelihood"] / expected - 1)
        case["kmeans"] = kmeans_agreement(rows, means, iterations)
        print(name, *(f"{key}: {value['float64']:.0e} {value['float32']:.0e}" for key, value in case.items()
                      if isinstance(value, dict)), flush=True)  # fmt: skip
        cases.append(case)
    return {"agreement_iterations": iterations, "agreement": cases}


def kmeans_agreement(rows, means, iterations):
    # Rows of whole numbers are often exactly as far from one row as from another; a start between them has no such ties.
    start = means + rows.std(axis=0) / 64 * np.sqrt(np.arange(1, means.size + 1).reshape(means.shape) % 7 + 1)
    path = SCRATCH / "start.json"
    path.write_text(json.dumps({"format": "shoal/kmeans", "version": 1, "centroids": start.tolist()}))
    expected = KMeans(len(start), init=start, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd").fit(rows).inertia_
    found = {}
    for scalar in ("float64", "float32"):
        got = shoal("kmeans", "fit", SCRATCH / "rows.npy", "--clusters", len(start), "--init", path, "--max-iterations",
                    iterations, "--tolerance", 0, "--scalar", scalar)  # fmt: skip
        found[scalar] = abs(got["inertia"] / expected - 1)
    return found


def measure_memory():
    """The peak of a fit less the rows, which are mapped and so part of it."""
    cases = []
    for family, rows, columns, components in (("gmm", 2**22, 8, 10), ("gmm", 2**18, 64, 64), ("kmeans", 2**22, 8, 256)):
        np.save(SCRATCH / "rows.npy", np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32))
        noun = ["gmm", "fit"] if family == "gmm" else ["kmeans", "fit"]
        count = "--components" if family == "gmm" else "--clusters"
        got = shoal(*noun, SCRATCH / "rows.npy", count, components, "--init", "random-rows", "--max-iterations", 3,
                    "--tolerance", 0)  # fmt: skip
        size = components * (1 + columns + (columns * columns if family == "gmm" else 0)) * 8
        data = 4 * rows * columns
        cases.append({"family": family, "rows": rows, "columns": columns, "components": components, "data_bytes": data,
                      "statistics_bytes": size, "peak_over_data": got["peak_resident_bytes"] - data})  # fmt: skip
        print(f"{family} {rows} x {columns}, {components}: {cases[-1]['peak_over_data'] / 2**20:.0f} MiB over the data")
    return {"memory": cases}


def measure_large():
    """A file of 4 GiB, in memory and streamed through 64 MiB of row buffers."""
    path = SCRATCH / "large.npy"
    rows = 2**27
    if not path.exists():
        shoal("data", "generate", "--rows", rows, "--columns", 8, "--components", 10, "--scalar", "float32", "--output", path)
    subprocess.run(["cat", path], stdout=subprocess.DEVNULL, check=True)  # into the page cache
    common = ("gmm", "fit", path, "--components", 10, "--init", "random-rows", "--max-iterations", 5, "--tolerance", 0)
    resident, streamed = [], []
    for _ in range(3):
        resident.append(shoal(*common, "--memory-limit", "8GiB"))
        streamed.append(shoal(*common, "--memory-limit", "64MiB"))
        if resident[-1]["history"] != streamed[-1]["history"]:
            sys.exit("streamed and in memory gave different histories")
    middle = [statistics.median(run["seconds_per_iteration"] for run in runs) for runs in (resident, streamed)]
    return {"large": {"bytes": path.stat().st_size, "seconds_resident": middle[0], "seconds_streamed": middle[1],
                      "seconds_whole_resident": statistics.median(run["seconds"] for run in resident),
                      "seconds_whole_streamed": statistics.median(run["seconds"] for run in streamed),
                      "peak_streamed": max(run["peak_resident_bytes"] for run in streamed)}}  # fmt: skip


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    name = re.search(r"model name\s*: (.*)", info)
    system = re.search(r'PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text())
    return {
        "cpu": name.group(1) if name else platform.machine(),
        "threads": len(os.sched_getaffinity(0)),
        "system": system.group(1) if system else platform.system(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit_learn": sklearn.__version__,
        "shoal": subprocess.check_output([str(SHOAL), "--version"], text=True).strip(),
    }


def main():
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__.split("\n")[0])
    parser.add_argument("--large", action="store_true", help="also fit a generated file of 4 GiB, in memory and streamed")
    parser.add_argument("--only", choices=("speed", "agreement", "memory"), help="one part alone; prints, writes no page")
    parser.add_argument("--data", type=pathlib.Path, help="folder of the published data sets")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    folder = options.data or pathlib.Path(os.environ.get("SHOAL_DATA", ROOT.parent / "shared" / "data"))
    warnings.filterwarnings("ignore")
    SCRATCH.mkdir(parents=True, exist_ok=True)

    today = datetime.date.today().isoformat()
    result = {"date": today, "machine": machine(), "command": "script/bench" + (" --large" if options.large else "")}
    if options.only in (None, "speed"):
        result |= measure_speed(options.repeats)
    if options.only in (None, "memory"):
        result |= measure_memory()
    if options.only in (None, "agreement"):
        result |= measure_agreement(folder, 12)
    if options.large:
        result |= measure_large()
    if options.only:
        print(json.dumps(result, indent=1))
        return
    slug = re.sub(r"[^a-z0-9]+", "-", result["machine"]["cpu"].lower()).strip("-")
    path = ROOT / "bench" / "results" / f"{slug}-{today}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(write_pages(result, ROOT))
    print(f"Written: {path.relative_to(ROOT)}, docs/performance.md and README.md")


if __name__ == "__main__":
    main()
