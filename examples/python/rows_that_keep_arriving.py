"""
Rows that keep arriving
=======================

Each batch is seen once and forgotten. ``partial_fit`` moves the sums that the model stands for
towards those of the batch, and the model follows rows that drift.
"""

# %%
# Three groups. Two stay where they are, one walks away from batch to batch.

import numpy as np
from matplotlib import pyplot

import shoal
import shoal.plot

BATCHES, ROWS = 60, 2000
draw = np.random.default_rng(0)


def centres_at(batch):
    return np.array([[-3.0, 0.0], [3.0, 0.0], [0.0, 1.5 + 6 * batch / BATCHES]])


def next_batch(batch):
    group = draw.integers(3, size=ROWS)
    return centres_at(batch)[group] + draw.normal(scale=0.7, size=(ROWS, 2))


# %%
# This is stepwise EM (Cappé & Moulines 2009). The step for batch t is (t + 1) to the power of
# ``-step_decay``: with 1 all batches weigh alike for ever, and the less it is, the sooner old rows
# are forgotten. Both are fed here, from the same start.

models = {
    decay: shoal.GaussianMixture(3, step_decay=decay, random_state=0)
    for decay in (0.55, 1.0)
}
paths = {decay: [] for decay in models}
for batch in range(BATCHES):
    rows = next_batch(batch)
    for decay, model in models.items():
        model.partial_fit(rows)
        paths[decay].append(model.means_)

# %%
# The walker's way, and where the two models believe it to be. The one that forgets follows more closely.

figure, panels = pyplot.subplots(1, 2, figsize=(11, 5), layout="constrained", sharey=True)
walk = np.array([centres_at(batch)[2] for batch in range(BATCHES)])
for axes, (decay, model) in zip(panels, models.items()):
    shoal.plot.data(model, rows, ax=axes)
    axes.plot(*walk.T, color="black", linewidth=1, linestyle=":")
    walker = int(np.argmax(model.means_[:, 1]))
    axes.plot(*np.array(paths[decay])[:, walker].T, color="black", linewidth=1.5)
    axes.set_title(f"step_decay={decay}", loc="left")
    print(f"step_decay={decay}: {abs(model.means_[walker, 1] - walk[-1, 1]):.2f} behind")
