"""
A fit in three processes
========================

What an iteration sums over the rows is a value: it can be made of a part of the rows, saved, sent, and combined.
"""

# %%
# What one process does
# ---------------------
#
# Three processes share nothing but a folder. Told which rows are its own, each reads the model, sums these rows under it, and
# leaves a file. ``first_row`` and ``total_rows`` say where they lie among all.

import pathlib
import pickle
import subprocess
import sys
import tempfile
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import shoal

PROGRAM = """
import pathlib, pickle, sys
import numpy as np
import shoal

for line in sys.stdin:
    part, first_row, total_rows = map(int, line.split())
    model = pickle.loads(pathlib.Path("model.pickle").read_bytes())
    rows = np.load(f"rows{part}.npy", mmap_mode="r")
    made = shoal.statistics.accumulate(model, rows, first_row=first_row, total_rows=total_rows)
    shoal.statistics.save(made, f"part{part}.statistics")
    print("done", flush=True)
"""

temporary = tempfile.TemporaryDirectory()
folder = pathlib.Path(temporary.name)
processes = [
    subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    for _ in range(3)
]

# %%
# The iterations
# --------------
#
# In each, the three files are combined, and the model is maximised over what they hold.

ITERATIONS = 4


def fit_in_processes(model, rows, cuts, with_place):
    parts = range(len(processes))
    for part in parts:
        np.save(folder / f"rows{part}.npy", rows[cuts[part] : cuts[part + 1]])
    for iteration in range(ITERATIONS):
        (folder / "model.pickle").write_bytes(pickle.dumps(model))
        for part in parts:
            place = f"{cuts[part]} {len(rows)}" if with_place else "0 0"
            processes[part].stdin.write(f"{part} {place}\n")
        for process in processes:
            assert process.stdout.readline() == "done\n"
        files = [folder / f"part{part}.statistics" for part in parts]
        total = shoal.statistics.combine(*map(shoal.statistics.load, files))
        print(f"iteration {iteration + 1}: {total.mean_log_likelihood:.6f}")
        model = shoal.statistics.maximise(total, model)
    return model


# %%
# The same in one process
# -----------------------
#
# All begin with the same model: here a fit to a few rows, stopped after one iteration. ``fit`` with a warm start goes on from
# it.

warnings.simplefilter("ignore", ConvergenceWarning)
draw = np.random.default_rng(0)
centres = draw.normal(scale=4, size=(4, 3))
rows = centres[draw.integers(4, size=60_000)] + draw.standard_normal((60_000, 3))

start = shoal.GaussianMixture(4, tol=0, random_state=0, max_iter=1).fit(rows[:2000])
whole = pickle.loads(pickle.dumps(start))
whole.set_params(warm_start=True, max_iter=ITERATIONS).fit(rows)

# %%
# Parts that are cut where ``cut_rows`` says give the very bits of ``fit``:

cuts = shoal.statistics.cut_rows(start, len(rows), 3)
print("cut at rows", cuts)
exact = fit_in_processes(start, rows, cuts, with_place=True)
assert np.array_equal(exact.weights_, whole.weights_)
assert np.array_equal(exact.means_, whole.means_)
assert np.array_equal(exact.covariances_, whole.covariances_)

# %%
# Parts that are cut anywhere agree with it up to rounding, and need not say where they lie:

anywhere = fit_in_processes(start, rows, [0, 11_111, 44_444, 60_000], with_place=False)
for name in ("weights_", "means_", "covariances_"):
    found, expected = getattr(anywhere, name), getattr(whole, name)
    difference = np.abs(found - expected).max() / np.abs(expected).max()
    print(f"{name:<12} differ by {difference:.1e} of the largest")
    assert difference < 1e-12

# %%

for process in processes:
    process.stdin.close()
    process.wait()
temporary.cleanup()
