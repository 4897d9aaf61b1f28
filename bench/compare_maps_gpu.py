#!/usr/bin/env python3
"""Trains maps with XPySom and with shoal on one GPU, one after the other, on uniform rows of the same shapes.

XPySom (CuPy) is timed by the clock over several epochs after one that compiles; PyTorch's best-matching units are the usual
formulation, a matrix product and its least element in each row, in float32 and in TF32, over as many rows as fit into 4 GiB of
distances. shoal's figures are those that bench/ladder/som/device_epoch.cpp (som_device_epoch) prints. Peers that are not
installed are left out, and named.

--sweep prints instead how shoal's search and update grow: one of rows, units and columns at a time.
"""

import argparse
import re
import statistics
import subprocess
import time

import numpy as np

PROBLEMS = [(10_000, 12, 200, 200), (100_000, 64, 100, 100)]
SWEEPS = {
    "rows": [(rows, 64, 100, 100) for rows in (12_500, 25_000, 50_000, 100_000, 200_000, 400_000)],
    "units": [(50_000, 64, side, side) for side in (50, 100, 200, 400)],
    "columns": [(50_000, columns, 100, 100) for columns in (12, 28, 60, 92, 124)],
}


def median(values):
    return statistics.median(values)


def xpysom_epoch(rows, width, height):
    """Milliseconds of an epoch of XPySom, gaussian neighbourhood, float32."""
    import cupy
    from xpysom import XPySom

    map_ = XPySom(width, height, rows.shape[1], random_seed=1, xp=cupy)
    data = cupy.asarray(rows)
    map_.train(data, 1)

    def epochs(count):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        map_.train(data, count)
        cupy.cuda.Device().synchronize()
        return time.perf_counter() - start

    return median((epochs(6) - epochs(1)) / 5 * 1e3 for _ in range(3))


def torch_units(rows, units, tf32):
    """Milliseconds of the best-matching units by a matrix product."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = tf32
    x = torch.as_tensor(rows, device="cuda")
    w = torch.as_tensor(units, device="cuda")
    at_once = max(1, 2**30 // len(units))

    def find():
        half = 0.5 * (w * w).sum(1)
        return torch.cat([(half - part @ w.T).argmin(1) for part in x.split(at_once)])

    find()
    times = []
    for _ in range(7):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        find()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return median(times)


def sweep(program):
    """A table for each sweep: the time of the search and of the update, and what is left of it by its law."""
    for name, problems in SWEEPS.items():
        print(f"\n| {name} | search, ms | ps/(rows·units·columns) | update, ms | ps/(units·(width + height)·columns) |")
        print("|---|---|---|---|---|")
        for rows, columns, width, height in problems:
            shape = [str(value) for value in (rows, columns, width, height)]
            printed = subprocess.run(
                [program, "float32", "euclidean", *shape], check=True, capture_output=True, text=True
            ).stdout
            uniform = next(line for line in printed.splitlines() if "uniform" in line)
            units, update = re.search(r"units +([0-9.]+) .*update +([0-9.]+)", uniform).groups()
            search = float(units) * 1e9 / (rows * width * height * columns)
            smoothing = float(update) * 1e9 / (width * height * (width + height) * columns)
            what = f"{rows:,} × {columns} on {width} × {height}"
            print(f"| {what} | {float(units):.3f} | {search:.4f} | {float(update):.3f} | {smoothing:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/cuda/bin/som_device_epoch", help="shoal's; default %(default)s")
    parser.add_argument("--sweep", action="store_true", help="how the cost grows, without the peers")
    arguments = parser.parse_args()
    if arguments.sweep:
        return sweep(arguments.program)
    for count, columns, width, height in PROBLEMS:
        random = np.random.default_rng(1)
        rows = random.random((count, columns), dtype=np.float32)
        units = random.random((width * height, columns), dtype=np.float32)
        print(f"{count} x {columns} on {width} x {height}", flush=True)
        for what, run in (
            ("XPySom, an epoch", lambda: xpysom_epoch(rows, width, height)),
            ("PyTorch, units, float32", lambda: torch_units(rows, units, False)),
            ("PyTorch, units, TF32", lambda: torch_units(rows, units, True)),
        ):
            try:
                print(f"  {what:26} {run():9.3f} ms", flush=True)
            except ImportError as failure:
                print(f"  without {what}: {failure}", flush=True)
    subprocess.run([arguments.program, "float32", "euclidean"], check=True)


if __name__ == "__main__":
    main()
