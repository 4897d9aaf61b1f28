"""Parameters as users have them: NumPy's numbers, which grids of parameters hold, and paths."""

from numbers import Integral

import numpy as np
import pytest
from sklearn.utils._param_validation import Interval

import shoal


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(120, 3))


def whole_numbers(make):
    """The parameters that must be whole numbers."""
    for name, kinds in make._parameter_constraints.items():
        if None not in kinds and any(isinstance(kind, Interval) and kind.type is Integral for kind in kinds):
            yield name


@pytest.mark.parametrize("make, parameter", [(make, name) for make in shoal._ESTIMATORS for name in whole_numbers(make)])
@pytest.mark.parametrize("kind", [np.int64, np.int8])
def test_whole_numbers_of_numpy(rows, make, parameter, kind):
    options = {"random_state": 0, **({"tol": 1e9} if hasattr(make(), "tol") else {})}
    mine = make(**options, **{parameter: kind(3)}).fit(rows)
    theirs = make(**options, **{parameter: 3}).fit(rows)
    assert np.array_equal(mine.predict(rows), theirs.predict(rows))
    assert mine.score(rows) == theirs.score(rows)


def counts(make):
    """The parameters that may be whole numbers, among others."""
    for name, kinds in make._parameter_constraints.items():
        if any(isinstance(kind, Interval) and kind.type is Integral for kind in kinds):
            yield name


@pytest.mark.parametrize("make, parameter", [(make, name) for make in shoal._ESTIMATORS for name in counts(make)])
@pytest.mark.parametrize("value", [-(2**64), 2**63, 2**64, 10**30])
def test_whole_numbers_that_nothing_counts_to(rows, make, parameter, value):
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of {make.__name__} must be .*range .* 9223372036854775807"):
        make(**{parameter: value}).fit(rows)


@pytest.mark.parametrize("value", [-1, 2**64, 10**30])
def test_whole_numbers_that_nothing_counts_to_in_functions(rows, value):
    for make in shoal._ESTIMATORS:
        with pytest.raises(ValueError, match="random_state"):
            make(random_state=value).fit(rows)
    for name, use in {
        "random_state": lambda: shoal.kmeans_plusplus(rows, 2, random_state=value),
        "n_samples": lambda: shoal.make_mixture(n_samples=value, random_state=0),
        "n_threads": lambda: shoal.assignment.solve(np.eye(3), n_threads=value),
        "random_state ": lambda: shoal.assignment.solve(np.eye(3), method="greedy", random_state=value),
        "n_threads ": lambda: shoal.metrics.separation(rows, np.arange(120) % 2, n_threads=value),
    }.items():
        with pytest.raises(ValueError, match=name.strip()):
            use()


def test_whole_numbers_of_numpy_in_functions(rows):
    selected = shoal.select_components(rows, np.arange(1, 4), random_state=0)
    assert [line["n_components"] for line in selected.table] == [1, 2, 3]
    mine, theirs = (shoal.kmeans_plusplus(rows, kind(4), random_state=0)[1] for kind in (np.int64, int))
    assert np.array_equal(mine, theirs)


def test_every_estimator_has_whole_numbers():
    assert all({*whole_numbers(make)} & {"n_components", "n_clusters", "width"} for make in shoal._ESTIMATORS)


@pytest.mark.parametrize("estimator", [make() for make in shoal._ESTIMATORS])
def test_checkpoints_at_paths(rows, tmp_path, estimator):
    for name in (tmp_path / "path.checkpoint", str(tmp_path / "text.checkpoint")):
        estimator.set_params(random_state=0, checkpoint=name).fit(rows)
    assert (tmp_path / "path.checkpoint").read_bytes() == (tmp_path / "text.checkpoint").read_bytes()


def test_select_components_refuses_too_many_before_it_fits(rows):
    fits = []
    with pytest.raises(ValueError, match="n_components = 121, n_samples = 120"):
        shoal.select_components(rows, [1, 121], callback=fits.append)
    assert not fits
