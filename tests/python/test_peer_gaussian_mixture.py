"""scikit-learn's test_gaussian_mixture.py, as installed, on shoal's classes."""

import sys
from pathlib import Path

import sklearn
import sklearn.cluster
import sklearn.mixture

import shoal

sys.path.insert(0, str(Path(__file__).parent))
from peer import load  # noqa: E402

globals().update(
    load(
        "sklearn.mixture.tests.test_gaussian_mixture",
        {sklearn.mixture: {"GaussianMixture": shoal.GaussianMixture}, sklearn.cluster: {"KMeans": shoal.KMeans}},
    )
)

# Tests that are left out, by name, and why.
EXCLUDED = {
    "test_(suffstat|gaussian_suffstat|compute_log_det|gaussian_mixture_log_probabilities|"
    "gaussian_mixture_estimate_log_prob_resp).*": "tests scikit-learn's private functions, not the class",
    r"test_gaussian_mixture_precisions_init\[.*": "calls private methods of the class",
    "test_gaussian_mixture_all_init_does_not_estimate_gaussian_parameters": "counts calls of a private function",
    "test_gaussian_mixture_(array_api_compliance|raises_where_array_api_not_implemented).*": "array_api_dispatch is "
    "not used: arrays of other libraries are taken as they are (test_arrays.py)",
    "test_init": "of n_init fits the one with the most likely final model is kept, and lower_bound_ is that of the model "
    "one iteration before, so that it need not grow with n_init",
    "test_gaussian_mixture_setting_best_params": "a component that has collapsed onto one row has a variance of exactly "
    "zero here, and is refused by name; there rounding leaves it some 1e-17",
}
if not sklearn.__version__.startswith("1.9."):
    EXCLUDED["test_regularisation"] = "an error of old releases ends otherwise"
