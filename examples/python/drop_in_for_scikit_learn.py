"""
In place of scikit-learn
========================

Change the import and keep the program: the same constructor, attributes and methods, in pipelines and grid searches too.
"""

# %%
# Two programs that differ in their imports
# -----------------------------------------
#
# A mixture of ten Gaussians, 100,000 rows of 8 columns, fitted by both from one start, so that both walk the same path.

import time

import sklearn.mixture

import shoal

X, _ = shoal.make_mixture(100_000, n_features=8, n_components=10, random_state=1)
start = dict(n_components=10, means_init=X[:10], tol=0, max_iter=20, init_params="random_from_data", random_state=0)


def timed(estimator):
    began = time.perf_counter()
    estimator.fit(X)
    return estimator, time.perf_counter() - began
