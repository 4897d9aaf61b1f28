"""Maps of arrays on CUDA devices: trained where the rows lie. Skipped where there is no device."""

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from shoal import SelfOrganizingMap, _device_arrays, make_mixture

sys.path.insert(0, str(Path(__file__).parent))
from device_libraries import LIBRARIES, host, lies_beside, needs_device  # noqa: E402


@pytest.fixture(scope="module")
def rows():
    return make_mixture(20_000, 5, 3, random_state=0, dtype=np.float32)[0]


@needs_device
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("lattice", ["rectangular", "hexagonal"])
def test_maps_are_trained_where_the_rows_lie(rows, library, lattice):
    X = LIBRARIES[library](rows)
    options = dict(width=12, height=10, lattice=lattice, epochs=5)
    there, here = SelfOrganizingMap(**options).fit(X), SelfOrganizingMap(**options).fit(rows)
    assert_allclose(there.codebook_, here.codebook_, rtol=1e-4, atol=1e-3)
    assert_allclose(there.quantization_errors_, here.quantization_errors_, rtol=1e-4)
    assert_allclose(there.hits_, here.hits_, atol=5)
    assert lies_beside(there.labels_, X) and _device_arrays.dtype_of(there.labels_) == "int32"
    units = there.predict(X)
    assert lies_beside(units, X) and (host(units) == here.predict(rows)).mean() > 0.99
    assert_array_equal(host(units), host(there.labels_))
    assert_allclose(there.score(X), -there.quantization_error_, rtol=1e-6)
    assert_allclose(there.quality(X)["topographic_error"], there.topographic_error_, atol=1e-3)
    begun = SelfOrganizingMap(**{**options, "epochs": 1}, init=LIBRARIES[library](there.codebook_)).fit(X)
    assert begun.n_iter_ == 1
    with pytest.raises(ValueError, match="online training runs on the host"):
        SelfOrganizingMap(3, 3, training="online").fit(X)


@needs_device
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("metric", ["euclidean", "taxicab", "cosine", "chebyshev"])
def test_maps_take_batches_and_measure_where_the_rows_lie(rows, library, metric):
    X, weights = LIBRARIES[library](rows), np.random.default_rng(0).uniform(0.5, 2, len(rows)).astype(np.float32)
    options = dict(width=12, height=10, metric=metric, epochs=4)
    there, here = SelfOrganizingMap(**options), SelfOrganizingMap(**options)
    for first in range(0, len(rows), 7000):
        batch = slice(first, first + 7000)
        there.partial_fit(X[batch], sample_weight=weights[batch])
        here.partial_fit(rows[batch], sample_weight=weights[batch])
        assert lies_beside(there.labels_, X) and _device_arrays.dtype_of(there.labels_) == "int32"
        assert (host(there.labels_) == here.labels_).mean() > 0.99
    assert_allclose(there.codebook_, here.codebook_, rtol=1e-4, atol=1e-3)
    assert_allclose(there.quantization_errors_, here.quantization_errors_, rtol=1e-4)
    assert_allclose(there.topographic_error_, here.topographic_error_, atol=0.01)
    assert_allclose(there.hits_.sum(), here.hits_.sum(), rtol=1e-6)
    distances = there.transform(X)
    assert lies_beside(distances, X) and _device_arrays.dtype_of(distances) == "float32"
    assert_array_equal(host(distances), there.transform(rows))  # to the bit
    assert_allclose(host(distances).min(axis=1).mean(), -there.score(X), rtol=1e-5)
    there = SelfOrganizingMap(**options, device="cuda").fit(rows)
    assert_array_equal(there.transform(rows[:100]), there.set_params(device="cpu").transform(rows[:100]))


@needs_device
def test_map_batches_with_whole_steps_are_a_fit_there(rows):
    options = dict(width=9, height=7, lattice="hexagonal", epochs=3, step_decay=0, device="cuda")
    whole, parts = SelfOrganizingMap(**options).fit(rows), SelfOrganizingMap(**options)
    for _ in range(3):
        parts.partial_fit(rows)
    assert_array_equal(parts.codebook_, whole.codebook_)
    assert_array_equal(parts.labels_, whole.labels_)
    assert parts.quantization_error_ == whole.quantization_error_
