"""Exact linear assignment beside its peers, on the same costs in one run: python bench/compare_assignment.py BENCH_FOLDER OUTPUT.json.

BENCH_FOLDER holds the program linear_assignment (-DSHOAL_BENCH=ON). Peers are SciPy, and of lapx (pip install lapx==0.11.1) `lapjvh`
and `lapjvr`. Solvers take turns, one core each, and the least of their rounds counts, in milliseconds of processor time, so that a busy
machine changes little. Up to n = 512 the time is the mean over many matrices. shoal's time holds its certificate, which must be valid; all costs must agree. On a quiet machine:

    taskset -c 0 python bench/compare_assignment.py build/release/bin bench/results/assignment-MACHINE.json --rounds 7
"""

import argparse
import json
import pathlib
import platform
import subprocess
import tempfile
import time

import lap
import numpy as np
import scipy
from scipy.optimize import linear_sum_assignment


def costs_of(kind, n, matrix):
    random = np.random.default_rng((n, matrix))
    if kind == "exponential":
        return random.exponential(size=(n, n))
    if kind == "uniform":
        return random.uniform(size=(n, n))
    if kind.startswith("integers 1.."):
        return random.integers(1, int(kind[12:]) + 1, size=(n, n)).astype(float)
    if kind == "geometric":
        here, there = random.uniform(size=(n, 2)), random.uniform(size=(n, 2))
        return np.sqrt(((here[:, None] - there[None]) ** 2).sum(-1))
    if kind == "Machol-Wien":
        return np.outer(np.arange(1.0, n + 1), np.arange(1.0, n + 1))
    if kind == "rank one":
        return np.outer(random.uniform(size=n), random.uniform(size=n))
    if kind == "all equal":
        return np.full((n, n), 2.5)
    if kind == "powers of two":
        return np.exp2(random.integers(0, 40, size=(n, n)).astype(float))
    if kind == "shifted":
        return random.uniform(size=(n, n)) + 10 * random.uniform(size=(1, n)) + 10 * random.uniform(size=(n, 1))
    raise ValueError(kind)


def processor_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def measure(program, folder, kind, n, rounds):
    # One small matrix again and again would teach the processor its branches.
    matrices = max(1, min(40, 10**6 // n**2))
    costs = np.array([costs_of(kind, n, matrix) for matrix in range(matrices)])
    path = pathlib.Path(folder) / "costs.npy"
    np.save(path, costs.reshape(-1, n))

    def shoal():
        words = subprocess.run([program, path, str(max(1, min(5, 10**7 // n**2 // matrices)))], check=True, capture_output=True, text=True).stdout.split()
        assert words[2] == "certified", words
        return float(words[0]), float(words[1])

    def peer(solve):
        def call():
            least = float("inf")
            for _ in range(max(1, min(5, 10**6 // n**2 // matrices))):
                begin = time.thread_time()
                found = sum(solve(matrix) for matrix in costs)
                least = min(least, 1e3 * (time.thread_time() - begin) / matrices)
            return least, found
        return call

    def scipy_cost(matrix):
        return matrix[linear_sum_assignment(matrix)].sum()

    solvers = {"shoal": shoal, "lapjvh": peer(lambda c: lap.lapjvh(c)[0]), "lapjvr": peer(lambda c: lap.lapjvr(c)[0])}
    if n <= 5000:
        solvers["scipy"] = peer(scipy_cost)
    least, found = {name: float("inf") for name in solvers}, {}
    for round in range(rounds):
        for name, solve in solvers.items():
            if round > 0 and least[name] > 3000:
                continue
            milliseconds, found[name] = solve()
            least[name] = min(least[name], milliseconds)
    for name, cost in found.items():
        assert abs(cost - found["shoal"]) <= 1e-12 * abs(cost), (kind, n, found)
    fastest = min(value for name, value in least.items() if name != "shoal")
    return {"costs": kind, "n": n, "matrices": matrices, "milliseconds": least, "ratio_to_fastest_peer": fastest / least["shoal"]}


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("folder", type=pathlib.Path)
    words.add_argument("output", type=pathlib.Path)
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--smallest", type=int, default=64)
    words.add_argument("--largest", type=int, default=10000)
    words = words.parse_args()
    cases = [(kind, n) for kind in ("exponential", "uniform", "integers 1..100") for n in (64, 128, 256, 512, 1000, 2000, 5000, 10000)]
    cases += [("geometric", n) for n in (64, 128, 256, 512, 2000, 5000)] + [("Machol-Wien", n) for n in (64, 128, 256, 512, 2000)]
    cases += [(kind, n) for kind in ("rank one", "all equal", "powers of two", "shifted", "integers 1..10") for n in (64, 256, 512, 1000)]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, n in cases:
            if not words.smallest <= n <= words.largest:
                continue
            results.append(measure(words.folder / "linear_assignment", folder, kind, n, words.rounds))
            shown = "  ".join(f"{name} {value:9.3f}" for name, value in results[-1]["milliseconds"].items())
            print(f"{kind:16} {n:6}  {shown}  ratio {results[-1]['ratio_to_fastest_peer']:.2f}", flush=True)
    words.output.write_text(json.dumps({"processor": processor_name(), "threads": 1, "clock": "processor time", "rounds": words.rounds,
                                        "scipy": scipy.__version__, "lapx": lap.__version__, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
