"""shoal.ray: the second engine, where Ray is installed."""

import numpy as np
import pytest

import shoal

ray = pytest.importorskip("ray", reason="Ray is not installed")
import shoal.ray  # noqa: E402


def test_the_bits_are_those_of_one_process():
    X = np.random.default_rng(0).normal(size=(5000, 3))
    weights = np.random.default_rng(1).uniform(1, 2, size=5000)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        parts = [ray.put(part) for part in (X[:1700], X[1700:])]
        made = shoal.ray.fit(shoal.KMeans(6, random_state=0), parts, sample_weight=[ray.put(weights)])
        score = shoal.ray.score(made, parts)
    finally:
        ray.shutdown()
    expected = shoal.KMeans(6, random_state=0).fit(X, sample_weight=weights)
    assert np.array_equal(made.cluster_centers_, expected.cluster_centers_)
    assert score == expected.score(X)
