"""
How many groups?
================

Fit every number that might do, and keep the one whose criterion is least. BIC and AIC pay for a better fit with the
parameters that it took.
"""

# %%
# Old Faithful: the lengths of 272 eruptions and the waits after them, in minutes (Azzalini & Bowman 1990). The file lies next to
# the folder of this program.

import numpy as np
from matplotlib import pyplot

import shoal
import shoal.plot

# %%
# ``select_components`` tries each number from several starts and keeps a table of what came out.

eruptions = np.loadtxt("../data/faithful.csv", delimiter=",", skiprows=1)
chosen = shoal.select_components(eruptions, range(1, 9), n_init=5, random_state=0)
shoal.plot.selection(chosen).set_title("Two kinds of eruptions", loc="left")

# %%
# BIC asks for more evidence as rows grow in number, and so chooses fewer groups than AIC. Both are of this table:

row = "{n_components:2d} components: BIC {bic:8.2f}, AIC {aic:8.2f}, {n_iter} iterations"
for line in chosen.table:
    print(row.format(**line))

# %%
# The chosen fit, and how sure each row is of its component. A row half-way has a colour half-way.

best = chosen.best_estimator
figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
shoal.plot.data(best, eruptions, ax=left)
shoal.plot.responsibilities(best, eruptions, ax=right)
for axes in (left, right):
    axes.set(xlabel="length of the eruption, minutes", ylabel="wait after it, minutes")
