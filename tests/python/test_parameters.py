"""Parameters as users have them: NumPy's numbers, which grids of parameters hold, and paths."""

import numpy as np
import pytest

import shoal
from shoal import GaussianMixture, KMeans, SelfOrganizingMap


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(120, 3))


@pytest.mark.parametrize(
    "make, parameter",
    [
        (GaussianMixture, "n_components"),
        (GaussianMixture, "n_init"),
        (GaussianMixture, "max_iter"),
        (KMeans, "n_clusters"),
        (KMeans, "n_init"),
        (KMeans, "max_iter"),
        (SelfOrganizingMap, "width"),
        (SelfOrganizingMap, "height"),
        (SelfOrganizingMap, "epochs"),
    ],
)
@pytest.mark.parametrize("kind", [np.int64, np.int8])
def test_whole_numbers_of_numpy(rows, make, parameter, kind):
    options = {"random_state": 0, "tol": 1e9} if make is not SelfOrganizingMap else {"random_state": 0}
    mine = make(**options, **{parameter: kind(3)}).fit(rows)
    theirs = make(**options, **{parameter: 3}).fit(rows)
    assert np.array_equal(mine.predict(rows), theirs.predict(rows))
    assert mine.score(rows) == theirs.score(rows)


def test_whole_numbers_of_numpy_in_functions(rows):
    selected = shoal.select_components(rows, np.arange(1, 4), random_state=0)
    assert [line["n_components"] for line in selected.table] == [1, 2, 3]
    mine, theirs = (shoal.kmeans_plusplus(rows, kind(4), random_state=0)[1] for kind in (np.int64, int))
    assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("estimator", [GaussianMixture(2), KMeans(2), SelfOrganizingMap(2, 2)])
def test_checkpoints_at_paths(rows, tmp_path, estimator):
    for name in (tmp_path / "path.checkpoint", str(tmp_path / "text.checkpoint")):
        estimator.set_params(random_state=0, checkpoint=name).fit(rows)
    assert (tmp_path / "path.checkpoint").read_bytes() == (tmp_path / "text.checkpoint").read_bytes()


def test_select_components_refuses_too_many_before_it_fits(rows):
    fits = []
    with pytest.raises(ValueError, match="n_components = 121, n_samples = 120"):
        shoal.select_components(rows, [1, 121], callback=fits.append)
    assert not fits
