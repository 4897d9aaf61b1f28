"""Linear assignment compared with SciPy's on the same costs, one core: python bench/compare_assignment.py BENCH_FOLDER.

BENCH_FOLDER holds the program linear_assignment (-DSHOAL_BENCH=ON). Costs are exponential or whole numbers of 1…100; the least
of a few repeats is shown in milliseconds, and the two costs must be the same.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy
from scipy.optimize import linear_sum_assignment


def least_milliseconds(costs, repeats):
    least = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        rows, columns = linear_sum_assignment(costs)
        least = min(least, 1e3 * (time.perf_counter() - begin))
    return least, costs[rows, columns].sum()


def main():
    program = pathlib.Path(sys.argv[1]) / "linear_assignment"
    sizes = [int(word) for word in sys.argv[2:]] or [1000, 2000]
    print(f"SciPy {scipy.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("exponential", "whole 1..100", "uniform, n x 2n"):
            for size in sizes:
                random = np.random.default_rng(size)
                if kind == "exponential":
                    costs = random.exponential(size=(size, size))
                elif kind == "whole 1..100":
                    costs = random.integers(1, 101, size=(size, size)).astype(float)
                else:
                    costs = random.uniform(size=(size, 2 * size))
                path = pathlib.Path(folder) / "costs.npy"
                np.save(path, costs)
                repeats = 7 if size <= 2000 else 3
                words = subprocess.run([program, path, str(repeats)], check=True, capture_output=True, text=True).stdout.split()
                ours, cost = float(words[0]), float(words[1])
                theirs, their_cost = least_milliseconds(costs, repeats)
                assert abs(cost - their_cost) <= 1e-9 * abs(their_cost), (cost, their_cost)
                print(f"{kind:16} n = {size:5}  SciPy {theirs:8.1f} ms  shoal {ours:8.1f} ms  {theirs / ours:5.1f} x  cost {cost:.6g}")


if __name__ == "__main__":
    main()
