"""make_mixture: rows of a random mixture."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from . import _shoal
from ._gaussian_mixture import GaussianMixture
from ._mixture_model import draw
from ._running import seed_of, whole_numbers_from


@validate_params(
    {
        "n_samples": [whole_numbers_from(1)],
        "n_features": [whole_numbers_from(1)],
        "n_components": [whole_numbers_from(1)],
        "covariance_type": [StrOptions({"full", "tied", "diag", "spherical"})],
        "dirichlet_alpha": [Interval(Real, 0, None, closed="neither"), None],
        "mean_scale": [Interval(Real, 0, None, closed="left")],
        "wishart_degrees": [Interval(Real, 0, None, closed="neither"), None],
        "unit_covariances": ["boolean"],
        "dtype": "no_validation",
        "random_state": ["random_state"],
        "return_mixture": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def make_mixture(
    n_samples=100,
    n_features=2,
    n_components=3,
    *,
    covariance_type="full",
    dirichlet_alpha=None,
    mean_scale=100.0,
    wishart_degrees=None,
    unit_covariances=False,
    dtype=np.float64,
    random_state=None,
    return_mixture=False,
):
    """Draws a mixture at random, and rows from it.

    Means are N(0, mean_scale * I); covariances are Wishart(I, wishart_degrees) through the Bartlett factor; weights are
    uniform numbers over their sum, or Dirichlet.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Rows, columns and components.
    covariance_type : {'full', 'tied', 'diag', 'spherical'}, default='full'
        Shape of the covariances.
    dirichlet_alpha : float or None, default=None
        Concentration of Dirichlet weights, greater than zero; None draws uniform numbers over their sum.
    mean_scale : float, default=100.0
        Variance of each coordinate of the means: at 100 few components overlap, at 1 most do.
    wishart_degrees : float or None, default=None
        Degrees of freedom, greater than n_features - 1; None is n_features + 2.
    unit_covariances : bool, default=False
        Divide the covariances by the degrees of freedom, so that their mean is I.
    dtype : data-type, default=numpy.float64
        Of the rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the mixture and of its rows.
    return_mixture : bool, default=False
        Return the mixture too.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,), int32
        The component of each row.
    mixture : GaussianMixture
        The mixture that the rows were drawn from, ready to predict; only with ``return_mixture``.
    """
    seed = seed_of(random_state)
    drawn = _shoal.gmm_generate(
        components=n_components,
        columns=n_features,
        covariance_type=covariance_type,
        dirichlet_alpha=dirichlet_alpha,
        mean_scale=mean_scale,
        wishart_degrees=wishart_degrees or 0.0,
        divide_by_degrees=unit_covariances,
        seed=seed,
    )
    X, y = draw(covariance_type, drawn["weights"], drawn["means"], drawn["covariances"], n_samples, seed)
    X = X.astype(dtype, copy=False)
    if not return_mixture:
        return X, y
    mixture = GaussianMixture(n_components, covariance_type=covariance_type, random_state=seed)
    mixture._take_model(drawn)
    mixture.n_features_in_ = n_features
    return X, y, mixture
