#!/usr/bin/env python3
"""What choosing a start takes, in iterations of the loop that follows: every start of mixtures and k-means, over N, d and K.

    python3 bench/seeding_cells.py [--device cuda] [--programs build/cuda/bin] [--seconds 0.05] [--limit 480] [--out FILE.json]

Rows are uniform, without clusters. bench/seeding_cells.cpp times the cells, in the order below, and the file has those that came within
the limit. "kmeans" of a mixture is a whole fit of k-means, whose own steps ("steps_of_kmeans") are not counted in its ratio.
"""

import argparse
import datetime
import json
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST = 30
SHAPE = ("family", "type", "scalar", "rows", "columns", "components")
COLUMNS = [1, 2, 8, 16, 17, 33, 64, 128, 129, 200, 512, 768]
COMPONENTS = [1, 2, 20, 64, 256, 1000]


def machine(device):
    if device == "cpu":
        from sweep import processor

        return processor()
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def cells():
    yield "kmeans - float32 1048576 32 4096"
    yield "kmeans - float64 1048576 32 4096"
    for kind in ("full", "tied", "diag", "spherical"):
        for scalar in ("float32", "float64"):
            yield f"gmm {kind} {scalar} 100000 200 20"
            # Neighbours in each of the three, by turns.
            for d in COLUMNS:
                yield f"gmm {kind} {scalar} 100000 {d} 20"
            for k in COMPONENTS:
                yield f"gmm {kind} {scalar} 100000 8 {k}"
                yield f"gmm {kind} {scalar} 10000 33 {k}"
            for rows in (10**4, 10**6):
                for d in (2, 17, 64):
                    yield f"gmm {kind} {scalar} {rows} {d} 64"
    for scalar in ("float32", "float64"):
        for d in COLUMNS:
            yield f"kmeans - {scalar} 100000 {d} 64"
        for k in COMPONENTS:
            for rows in (10**4, 10**5, 10**6):
                yield f"kmeans - {scalar} {rows} 8 {k}"


def ratios(cell):
    """Each start's seconds over those of an iteration."""
    own = {name: value for name, value in cell.items() if name not in SHAPE + ("iteration", "steps_of_kmeans", "failure")}
    if "kmeans" in own:
        own["kmeans"] -= cell["steps_of_kmeans"]
    return {name: round(value / cell["iteration"], 2) for name, value in own.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/cuda/bin")
    parser.add_argument("--seconds", type=float, default=0.05, help="of a figure's runs, about")
    parser.add_argument("--limit", type=float, default=480, help="seconds of all")
    parser.add_argument("--cells", type=pathlib.Path, help="a file of cells, in place of all of them")
    parser.add_argument("--out", type=pathlib.Path)
    wanted = parser.parse_args()
    name = machine(wanted.device)
    today = datetime.date.today().isoformat()
    out = wanted.out or ROOT / f"bench/results/starts-{name.lower().replace(' ', '-')}-{today}.json"
    lines = wanted.cells.read_text().splitlines() if wanted.cells else list(dict.fromkeys(cells()))
    command = [wanted.programs / "seeding_cells", wanted.device, str(wanted.seconds)]
    end = time.monotonic() + wanted.limit
    measured = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        for line in lines:
            if time.monotonic() > end:
                break
            program.stdin.write(line + "\n")
            program.stdin.flush()
            cell = json.loads(program.stdout.readline())
            if "failure" not in cell:
                cell["iterations"] = ratios(cell)
                over = {start: ratio for start, ratio in cell["iterations"].items() if ratio > MOST}
                print(line, f"{1e3 * cell['iteration']:.4g} ms", cell["iterations"], "OVER" if over else "", flush=True)
            measured.append(cell)
        program.stdin.close()
    out.write_text(json.dumps({"date": today, "machine": name, "device": wanted.device, "cells": measured}, indent=1) + "\n")
    starts = [ratio for cell in measured for ratio in cell.get("iterations", {}).values()]
    print(f"{sum(ratio > MOST for ratio in starts)} of {len(starts)} starts take more than {MOST} iterations")


if __name__ == "__main__":
    main()
