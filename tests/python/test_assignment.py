"""Assignment and metrics beside SciPy and scikit-learn."""

import numpy as np
import pytest
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
    with pytest.raises(ValueError, match="two dimensions"):
        shoal.assignment.solve([1.0, 2.0])
    with pytest.raises(ValueError, match="method must be one of"):
        shoal.assignment.solve([[1.0]], method="munkres")


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
