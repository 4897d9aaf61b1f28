#!/usr/bin/env python3
"""One epoch of a self-organizing map against MiniSom's batch mode and Somoclu's CPU kernel, on the same rows in one run.

    script/build
    python3 -m venv build/maps && build/maps/bin/pip install minisom setuptools
    build/maps/bin/pip install --no-build-isolation somoclu    # compiles; where there is an nvcc its setup.py must not find it
    build/maps/bin/python bench/compare_maps.py

Seconds of an epoch are shoal's own `seconds_per_iteration` on two threads, and of the peers the difference between three epochs
and one on the rows that are timed, halved. Both peers do the same for every row, so where a whole epoch would take minutes they
get the first rows, and the seconds are scaled to all; the table says how many. Medians over repeats, all taking turns. Writes
bench/results/maps-CPU-DATE.json.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = "2"
import numpy as np  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRATCH = ROOT / "build" / "bench-data"

# Rows, columns, side of the map, how many rows the peers get, and how many times faster the project wants to be.
PROBLEMS = [
    (10_000, 12, 200, {"minisom": 200, "somoclu": 10_000}),
    (100_000, 64, 100, {"minisom": 200, "somoclu": 10_000}),
]
GOALS = {"minisom": 10, "somoclu": 5}


def processor():
    names = re.findall(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return names[0].strip() if names else "unknown"


def shoal_seconds(program, rows, side, epochs):
    path = SCRATCH / "map-rows.npy"
    np.save(path, rows)
    command = [program, "som", "fit", path, "--width", side, "--height", side, "--radius", f"{side / 4}:{side / 4}",
               "--epochs", epochs, "--init", "random-values", "--threads", 2, "--json"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"shoal ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["seconds_per_iteration"]


def minisom_train(rows, side, first, epochs):
    import minisom

    peer = minisom.MiniSom(side, side, rows.shape[1], sigma=side / 4, learning_rate=1)
    peer._weights = first.reshape(side, side, -1).astype(np.float64)
    peer.train_batch_offline(rows, epochs)


def somoclu_train(rows, side, first, epochs):
    import somoclu

    peer = somoclu.Somoclu(side, side, kerneltype=0, compactsupport=False, initialcodebook=first.copy())
    peer.train(rows, epochs=epochs, radius0=side / 4, radiusN=side / 4, scale0=1, scaleN=1)


def timed_epochs(train, rows, side, first, epochs):
    begin = time.perf_counter()
    train(rows, side, first, epochs)
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shoal", type=pathlib.Path, default=ROOT / "build" / "release" / "bin" / "shoal")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    SCRATCH.mkdir(parents=True, exist_ok=True)
    peers = {"minisom": minisom_train, "somoclu": somoclu_train}
    results = []
    print("| one epoch | peer | peer, ms | rows timed | shoal, ms | faster | goal |\n|---|---|---|---|---|---|---|")
    for rows, columns, side, timed in PROBLEMS:
        random = np.random.default_rng(1)
        data = random.random((rows, columns), dtype=np.float32)
        first = random.random((side * side, columns), dtype=np.float32)
        ours, theirs = [], {name: {1: [], 3: []} for name in peers}
        for _ in range(options.repeats):
            ours.append(shoal_seconds(options.shoal, data, side, 4))
            for name, train in peers.items():
                for epochs, seconds in theirs[name].items():
                    seconds.append(timed_epochs(train, data[: timed[name]], side, first, epochs))
        here = statistics.median(ours)
        for name in peers:
            short, long = (statistics.median(theirs[name][epochs]) for epochs in (1, 3))
            there = (long - short) / 2 * rows / timed[name]
            result = {"rows": rows, "columns": columns, "width": side, "height": side, "peer": name,
                      "peer_version": importlib.metadata.version(name), "rows_timed": timed[name],
                      "peer_seconds": there, "peer_runs": theirs[name], "shoal_seconds": here, "shoal_runs": ours,
                      "faster": there / here, "goal": GOALS[name]}
            results.append(result)
            print(f"| {rows:,} × {columns}, {side} × {side} | {name} {result['peer_version']} | "
                  f"{1e3 * there:,.0f} | {timed[name]:,} | {1e3 * here:.4g} | {result['faster']:.0f} × | "
                  f"{GOALS[name]} × |", flush=True)
    name = re.sub(r"[^a-z0-9]+", "-", processor().lower()).strip("-")
    today = datetime.date.today().isoformat()
    path = ROOT / "bench" / "results" / f"maps-{name}-{today}.json"
    path.write_text(json.dumps({"date": today, "processor": processor(), "threads": 2, "results": results}, indent=1) + "\n")
    print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
