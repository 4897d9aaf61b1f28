"""
In place of scikit-learn
========================

Change the import and keep the program: the same constructor, attributes and methods, in pipelines and grid searches too.
"""

# %%
# Two imports, one program
# ------------------------
#
# Ten Gaussians in eight columns, ten thousand rows. Both libraries start from the same mixture, so that they walk the same path
# and stop at the same iteration.

import time

import numpy as np
import sklearn.mixture

import shoal

X, y = shoal.make_mixture(
    10_000, n_features=8, n_components=10, mean_scale=10, random_state=1
)
start = {
    "weights_init": np.full(10, 0.1),
    "means_init": X[:10],
    "precisions_init": np.array([np.eye(8)] * 10),
}
options = {"n_components": 10, **start}


def timed_fit(estimator):
    """The fit, and the seconds that it took."""
    began = time.perf_counter()
    estimator.fit(X)
    return estimator, time.perf_counter() - began


theirs, their_seconds = timed_fit(sklearn.mixture.GaussianMixture(**options))
ours, our_seconds = timed_fit(shoal.GaussianMixture(**options))
print(
    f"scikit-learn {their_seconds:.2f} s, shoal {our_seconds:.3f} s, for {ours.n_iter_} iterations each"
)
assert ours.n_iter_ == theirs.n_iter_

# %%
# The results agree as far as rounding lets them (shoal sums in another order):

print("means differ by at most", np.abs(ours.means_ - theirs.means_).max())
print("log-likelihoods differ by", abs(ours.score(X) - theirs.score(X)))
assert np.allclose(ours.means_, theirs.means_, rtol=1e-6, atol=1e-6)
assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.9999

# %%
# Where an estimator goes, it goes
# --------------------------------
#
# Pipelines, ``clone``, grid search, ``set_output``, feature names: what scikit-learn asks of an estimator is there.

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

search = GridSearchCV(
    make_pipeline(StandardScaler(), shoal.GaussianMixture(random_state=0)),
    {
        "gaussianmixture__n_components": [5, 10],
        "gaussianmixture__covariance_type": ["full", "diag"],
    },
    cv=2,
).fit(X[:5000])
print(search.best_params_)

# %%
# What a row weighs
# -----------------
#
# Beyond scikit-learn: a mixture takes weights. A row of weight 2 counts as two rows.

weights = np.where(y == 0, 2.0, 1.0)
heavier = shoal.GaussianMixture(**options).fit(X, sample_weight=weights)
twice = shoal.GaussianMixture(**options).fit(np.concatenate([X, X[y == 0]]))
print("weighted against repeated rows:", np.abs(heavier.means_ - twice.means_).max())

# %%
# And the picture
# ---------------

import shoal.plot

axes = shoal.plot.data(ours, X, columns=(0, 1))
axes.set_title("Ten components, the first two of eight columns", loc="left")
