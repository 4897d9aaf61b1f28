"""Assignment and metrics beside SciPy and scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn import metrics as peer

import shoal


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.int64, np.int16])
@pytest.mark.parametrize("shape", [(30, 30), (20, 300), (300, 20), (0, 3)])
def test_costs_are_those_of_scipy(dtype, shape):
    costs = (1000 * np.random.default_rng(3).uniform(size=shape)).astype(dtype)
    for maximize in (False, True):
        rows, columns, u, v = shoal.assignment.linear_sum_assignment(costs, maximize, return_duals=True)
        peer_rows, peer_columns = linear_sum_assignment(costs, maximize)
        assert np.array_equal(rows, peer_rows)
        assert costs[rows, columns].sum(dtype=float) == pytest.approx(costs[peer_rows, peer_columns].sum(dtype=float), rel=1e-12)
        slack = costs.astype(float) - u[:, None] - v[None, :]
        assert (slack >= -1e-9).all() if not maximize else (slack <= 1e-9).all()


def test_results_prove_themselves():
    costs = np.random.default_rng(1).exponential(size=(400, 400))
    found = shoal.assignment.solve(costs)
    assert found.feasible and found.certified
    assert found.row_potentials.sum() + found.column_potentials.sum() == pytest.approx(found.cost)
    assert shoal.assignment.solve(costs, method="auction").cost == pytest.approx(found.cost)
    greedy = shoal.assignment.solve(costs, method="greedy")
    assert not greedy.certified and greedy.cost > found.cost
    assert shoal.assignment.solve(costs, price=1e-3).column_of_row.min() == -1


def test_forbidden_pairs():
    costs = np.array([[1.0, np.inf], [2.0, np.inf]])
    found = shoal.assignment.solve(costs)
    assert not found.feasible and found.certified and found.conflicting_rows.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"rows \[0, 1\]"):
        shoal.assignment.linear_sum_assignment(costs)
    allowed = shoal.assignment.linear_sum_assignment([[-np.inf, 3], [2, 9]], maximize=True)
    assert allowed[1].tolist() == [1, 0]
    with pytest.raises(ValueError, match="row 1 and column 0"):
        shoal.assignment.solve([[1.0, 2.0], [np.nan, 1.0]])
    with pytest.raises(ValueError, match="two or three dimensions"):
        shoal.assignment.solve([1.0, 2.0])
    with pytest.raises(ValueError, match="method must be one of"):
        shoal.assignment.solve([[1.0]], method="munkres")


@pytest.mark.parametrize("shape", [(16, 16), (5, 9), (9, 5)])
@pytest.mark.parametrize("maximize", [False, True])
def test_many_problems_are_single_ones(shape, maximize):
    costs = np.random.default_rng(2).exponential(size=(200, *shape))
    costs[7] = np.inf
    many = shoal.assignment.solve(costs, maximize=maximize, n_threads=2)
    assert many.certified.all() and many.cost.shape == (200,) and many.column_of_row.shape == costs.shape[:2]
    for n in (0, 7, 199):
        one = shoal.assignment.solve(costs[n], maximize=maximize)
        assert many.feasible[n] == one.feasible and many.cost[n] == one.cost
        if one.feasible:
            assert many.column_of_row[n].tolist() == one.column_of_row.tolist()
            assert many.row_potentials[n].tolist() == one.row_potentials.tolist()
    assert not many.feasible[7] and (many.column_of_row[7] == -1).all()
    single = shoal.assignment.solve(costs[:3].astype(np.float32), price=0.1)
    assert single.column_of_row.min() == -1
    with pytest.raises(ValueError, match="rows and columns"):
        shoal.assignment.solve(np.empty((3, 0, 2)))
    costs[5, 1, 2] = np.nan
    with pytest.raises(ValueError, match="problem 5"):
        shoal.assignment.solve(costs)


def test_sparse_costs_are_dense_ones_with_forbidden_pairs():
    random = np.random.default_rng(4)
    dense = np.where(random.uniform(size=(60, 60)) < 0.3, random.uniform(0, 1, size=(60, 60)), np.inf)
    np.fill_diagonal(dense, 2)
    allowed = np.isfinite(dense)
    rows, columns = np.nonzero(allowed)
    listed = sparse.coo_array((dense[allowed], (rows, columns)), shape=dense.shape)
    best = shoal.assignment.solve(dense)
    for method in ("auto", "auction"):
        for kind in (listed, listed.tocsr(), listed.tocsc()):
            found = shoal.assignment.solve(kind, method=method)
            assert found.certified and found.cost == pytest.approx(best.cost, rel=1e-13)
    assert shoal.assignment.solve(listed, maximize=True).cost == pytest.approx(shoal.assignment.solve(dense, maximize=True).cost)
    assert not shoal.assignment.solve(sparse.csr_array((2, 2))).feasible
    with pytest.raises(ValueError, match="sparse costs need"):
        shoal.assignment.solve(listed, method="hungarian")
    with pytest.raises(ValueError, match="needs dense costs"):
        shoal.assignment.solve(listed, method="auction", device="cuda")


def test_metrics_of_groups_and_memberships():
    random = np.random.default_rng(6)
    truth, found = random.integers(0, 3, 5000), random.integers(0, 4, 5000)
    table = shoal.metrics.contingency(truth, found)
    assert np.array_equal(table["counts"], peer.cluster.contingency_matrix(truth, found))
    rows, columns = linear_sum_assignment(table["counts"], maximize=True)
    assert table["counts"][rows, table["match"]].sum() == table["counts"][rows, columns].sum()
    X = random.normal(size=(5000, 2)) + 4 * truth[:, None]
    assert shoal.metrics.separation(X, truth)["silhouette"] == pytest.approx(peer.silhouette_score(X, truth), rel=0, abs=1e-12)
    centroids = np.array([X[truth == k].mean(axis=0) for k in range(3)])
    far = np.linalg.norm(X[:, None] - centroids, axis=2)
    own = far[np.arange(5000), truth]
    far[np.arange(5000), truth] = np.inf
    nearest = far.min(axis=1)
    expected = ((nearest - own) / np.maximum(nearest, own)).mean()
    assert shoal.metrics.simplified_silhouette(X, truth, centroids) == pytest.approx(expected, rel=0, abs=1e-12)
    assert shoal.metrics.centroid_index(centroids, centroids[::-1]) == 0
    assert shoal.metrics.centroid_index(centroids, np.repeat(centroids[:1], 3, axis=0)) == 2
    p, q = np.eye(3)[truth], np.eye(3)[(truth + 1) % 3]
    error, match = shoal.metrics.modelling_error(p, q)
    assert error == 0 and match.tolist() == [1, 2, 0]


def test_metrics_are_those_of_scikit_learn():
    random = np.random.default_rng(5)
    truth = random.integers(0, 4, 500)
    found = np.where(random.uniform(size=500) < 0.7, truth, random.integers(0, 6, 500))
    X = random.normal(size=(500, 3)) + truth[:, None]
    mine = shoal.metrics.agreement(truth, found)
    for name, function in {
        "rand_index": peer.rand_score,
        "adjusted_rand_index": peer.adjusted_rand_score,
        "mutual_information": peer.mutual_info_score,
        "normalized_mutual_information": peer.normalized_mutual_info_score,
        "adjusted_mutual_information": peer.adjusted_mutual_info_score,
        "homogeneity": peer.homogeneity_score,
        "completeness": peer.completeness_score,
        "v_measure": peer.v_measure_score,
        "fowlkes_mallows_index": peer.fowlkes_mallows_score,
    }.items():
        assert mine[name] == pytest.approx(function(truth, found), rel=0, abs=1e-12), name
    apart = shoal.metrics.separation(X, found)
    assert apart["silhouette"] == pytest.approx(peer.silhouette_score(X, found), rel=0, abs=1e-12)
    assert apart["davies_bouldin_index"] == pytest.approx(peer.davies_bouldin_score(X, found), rel=1e-12)
    assert apart["calinski_harabasz_index"] == pytest.approx(peer.calinski_harabasz_score(X, found), rel=1e-12)
    assert shoal.metrics.agreement(["a", "b", "b"], [2, 1, 1])["matched_accuracy"] == 1


def test_metrics_refuse_what_would_be_another_number():
    draw = np.random.default_rng(0)
    X, labels = draw.normal(size=(20, 3)), np.arange(20) % 3
    centroids = X[:3]
    metrics = shoal.metrics
    for value in (np.nan, np.inf):
        broken = X.copy()
        broken[4, 1] = value
        for call in (metrics.separation, lambda X, y: metrics.simplified_silhouette(X, y, centroids)):
            with pytest.raises(ValueError, match="Input X contains"):
                call(broken, labels)
    with pytest.raises(ValueError, match="omplex"):
        metrics.separation(X + 1j, labels)
    for wrong in (labels + 0.7, labels + 2**32, labels - 1):
        with pytest.raises(ValueError, match="no centroid's number"):
            metrics.simplified_silhouette(X, wrong, centroids)
    same = metrics.simplified_silhouette(X, labels.astype(float), centroids)
    assert same == metrics.simplified_silhouette(X, labels, centroids)
    with pytest.raises(ValueError, match="row 1 .* is NaN"):
        metrics.agreement([0, np.nan], [0, 1])
    with pytest.raises(ValueError, match="one dimension; got 2"):
        metrics.contingency([[0, 1]], [[0, 1]])


def test_costs_that_would_become_others_are_refused():
    sparse = pytest.importorskip("scipy.sparse")
    large = np.array([[2**53 + 1, 2**53], [2**53, 2**53]])
    for costs in (large[np.newaxis], sparse.csr_matrix(large), large.astype(np.uint64)):
        with pytest.raises(ValueError, match=r"2\*\*53"):
            shoal.assignment.solve(costs)
    with pytest.raises(ValueError, match="real numbers"):
        shoal.assignment.solve(sparse.csr_matrix(np.eye(2) + 1j))
    with pytest.raises(ValueError, match="1 masked"):
        shoal.assignment.linear_sum_assignment(np.ma.array(np.eye(2), mask=[[1, 0], [0, 0]]))
    with pytest.raises(ValueError, match="dense"):
        shoal.assignment.linear_sum_assignment(sparse.csr_matrix(np.eye(2)))
    found = shoal.assignment.solve(np.eye(2))
    assert found == found and found != shoal.assignment.solve(np.eye(2))


@pytest.mark.parametrize("rows", [2, 3, 4, 7])
def test_groups_of_one_row_that_agree(rows):
    truth = np.arange(rows)
    assert shoal.metrics.agreement(truth, truth[::-1])["adjusted_mutual_information"] == 1
    assert shoal.metrics.agreement(truth, np.zeros(rows, int))["adjusted_mutual_information"] == 0
