"""Many small assignments next to their peers: python bench/compare_assignment_batches.py OUTPUT.json.

10⁵ problems of 16 × 16 by shoal.assignment.solve, certificates included, by lapx's lapjvr_batch (pip install lapx==0.11.1) and by a loop
over SciPy's solver. Solvers take turns, and the least of their rounds counts, in microseconds of processor time for a problem, all threads
together, so that a busy machine changes little.
"""

import argparse
import json
import pathlib
import time

import lap
import numpy as np
import scipy
from scipy.optimize import linear_sum_assignment

import shoal
from compare_assignment import processor_name

PROBLEMS = 100_000


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("output", type=pathlib.Path)
    words.add_argument("--rounds", type=int, default=5)
    words = words.parse_args()
    costs = np.random.default_rng(1).uniform(size=(PROBLEMS, 16, 16))
    some = costs[: PROBLEMS // 10]
    solvers = {"scipy": (lambda: [linear_sum_assignment(matrix) for matrix in some], len(some))}
    for threads in (1, 2):
        solvers[f"lapjvr_batch, {threads}"] = (lambda n=threads: lap.lapjvr_batch(costs, n_threads=n), PROBLEMS)
        solvers[f"shoal, {threads}"] = (lambda n=threads: shoal.assignment.solve(costs, n_threads=n), PROBLEMS)
    assert shoal.assignment.solve(costs).certified.all()
    least = dict.fromkeys(solvers, float("inf"))
    for _ in range(words.rounds):
        for name, (solve, problems) in solvers.items():
            begin = time.process_time()
            solve()
            least[name] = min(least[name], 1e6 * (time.process_time() - begin) / problems)
    print({name: round(value, 3) for name, value in least.items()})
    words.output.write_text(json.dumps({"processor": processor_name(), "problems": PROBLEMS, "size": 16, "clock": "processor time",
                                        "rounds": words.rounds, "scipy": scipy.__version__, "lapx": lap.__version__,
                                        "microseconds": least}, indent=1) + "\n")


if __name__ == "__main__":
    main()
