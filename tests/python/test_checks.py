"""scikit-learn's own checks of what an estimator must do."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import shoal

# Every check that may fail, and why.
EXPECTED = {
    "KMeans": {
        "check_sample_weight_equivalence_on_dense_data": "draws for a row twice are not those for a row of weight two, "
        "so that the two fits start elsewhere; scikit-learn's KMeans is excused alike",
    },
}


@parametrize_with_checks(
    [make() for make in shoal._ESTIMATORS],
    expected_failed_checks=lambda estimator: EXPECTED.get(type(estimator).__name__, {}),
)
def test_estimator(estimator, check):
    check(estimator)
