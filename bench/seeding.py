#!/usr/bin/env python3
"""Greedy k-means++ against k-means||: seconds to choose the first centroids, and how good the fits are that begin there.

    python3 bench/seeding.py [--shoal build/release/bin/shoal]

Both take turns on the same generated rows. `inertia` is that of the clusters after at most 50 steps; the quotient says how much
greater it is from k-means|| than from k-means++. What this measured is why `--init auto` takes which of them
(shoal/kmeans/tuning.hpp). Writes bench/results/seeding-CPU-DATE.json.
"""

import argparse
import datetime
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WAYS = ("k-means++", "k-means-parallel")
# Rows, columns and clusters: from where both take no time to where one takes minutes.
SHAPES = [
    (2**16, 16, 16),
    (2**16, 16, 64),
    (2**16, 16, 256),
    (2**18, 2, 64),
    (2**18, 16, 64),
    (2**18, 32, 256),
    (2**20, 16, 16),
    (2**20, 16, 64),
    (2**20, 16, 256),
    (2**17, 2, 1024),
]


def processor():
    names = re.findall(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return names[0].strip() if names else "unknown"


def answer(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def measure(shoal, folder, rows, columns, clusters, seeds):
    path = folder / "rows.npy"
    answer(shoal, "data", "generate", "--rows", rows, "--columns", columns, "--components", clusters, "--scalar", "float32",
           "--seed", 1, "--output", path, "--json")  # fmt: skip
    seconds, inertia = {way: [] for way in WAYS}, {way: [] for way in WAYS}
    threads = 0
    for seed in range(seeds):
        for way in WAYS:
            fit = answer(shoal, "kmeans", "fit", path, "--clusters", clusters, "--init", way, "--seed", seed,
                         "--max-iterations", 50, "--device", "cpu", "--json")  # fmt: skip
            seconds[way].append(fit["seeding_seconds"])
            inertia[way].append(fit["inertia"])
            threads = fit["threads"]
    path.unlink()
    medians = [statistics.median(seconds[way]) for way in WAYS]
    qualities = [statistics.median(inertia[way]) for way in WAYS]
    made = {"rows": rows, "columns": columns, "clusters": clusters, "seconds": seconds, "inertia": inertia,
            "times_cheaper": medians[0] / medians[1], "inertia_quotient": qualities[1] / qualities[0]}  # fmt: skip
    print(f"{rows:>9,} x {columns:>2}, {clusters:>4}: k-means++ {1e3 * medians[0]:8.1f} ms, k-means|| "
          f"{1e3 * medians[1]:8.1f} ms, inertia {made['inertia_quotient']:.4f}", flush=True)  # fmt: skip
    return made, threads


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shoal", type=pathlib.Path, default=ROOT / "build" / "release" / "bin" / "shoal")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = [measure(options.shoal, pathlib.Path(scratch), *shape, options.seeds) for shape in SHAPES]
    today = datetime.date.today().isoformat()
    name = re.sub(r"[^a-z0-9]+", "-", processor().lower()).strip("-")
    path = ROOT / "bench" / "results" / f"seeding-{name}-{today}.json"
    result = {"date": today, "processor": processor(), "threads": found[0][1], "command": "bench/seeding.py",
              "shapes": [made for made, _ in found]}  # fmt: skip
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(path)


if __name__ == "__main__":
    main()
