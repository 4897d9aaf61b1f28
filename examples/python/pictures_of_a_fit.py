"""
Every picture of a fit
======================

What ``shoal.plot`` can draw, of one mixture and one k-means of the same rows.
"""

# %%
# Four groups in three columns, two of which overlap.

import numpy as np
from matplotlib import pyplot

import shoal
import shoal.plot

draw = np.random.default_rng(2)
stretch = draw.normal(scale=0.8, size=(4, 3, 3)) + np.eye(3)
centres = np.array([[0, 0, 0], [2, 1, 2], [5, -2, 1], [2, 3, 5]])
group = draw.choice(4, size=20_000, p=[0.3, 0.3, 0.25, 0.15])
X = centres[group] + np.einsum("nij,nj->ni", stretch[group], draw.normal(size=(20_000, 3)))
mixture = shoal.GaussianMixture(4, random_state=0).fit(X)
kmeans = shoal.KMeans(4, random_state=0).fit(X)

# %%
# The rows and the fit
# --------------------
#
# Any two columns, with the ellipses of the marginal distribution at one and two standard deviations; or one column, as densities.

figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
shoal.plot.data(mixture, X, columns=(0, 2), ax=left)
shoal.plot.data(mixture, X, columns=1, ax=right)

# %%
# k-means has centroids and no ellipses. Its groups are cut straight, and of one size where they can be.

figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
shoal.plot.data(kmeans, X, columns=(0, 2), ax=left)
left.set_title("k-means", loc="left")
shoal.plot.responsibilities(mixture, X, columns=(0, 2), ax=right)
right.set_title("The mixture's responsibilities, as blends of colours", loc="left")

# %%
# How clearly a row belongs
# -------------------------
#
# One bar for each row. A responsibility of a mixture is a probability; the simplified silhouette compares the distances to the two
# nearest centroids.

figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
shoal.plot.silhouette(mixture, X, ax=left)
shoal.plot.silhouette(kmeans, X, ax=right)

# %%
# The way there
# -------------
#
# Three starts of one mixture. Where a fit starts decides how long it takes, and sometimes where it ends.

figure, axes = pyplot.subplots(figsize=(6.4, 3.8), layout="constrained")
for start in ("kmeans", "k-means||", "random"):
    fit = shoal.GaussianMixture(
        4, init_params=start, max_iter=300, tol=1e-5, random_state=0
    ).fit(X)
    shoal.plot.convergence(fit, label=start, ax=axes)

# sphinx_gallery_thumbnail_number = 3
