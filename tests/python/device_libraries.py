"""Arrays on a CUDA device by the libraries that make them, for the tests that need one."""

import numpy as np
import pytest

from shoal import _shoal


def missing():
    """Why tests that need a device cannot run; empty when they can. A driver that does not serve this build is no reason."""
    if not _shoal.built_with_cuda:
        return "CUDA support was not built"
    return "" if _shoal.cuda_devices() else "this machine has no CUDA device"


needs_device = pytest.mark.skipif(missing() != "", reason=missing())


def torch_array(X):
    return pytest.importorskip("torch").as_tensor(X, device="cuda")


def cupy_array(X):
    return pytest.importorskip("cupy").asarray(X)


def jax_array(X):
    jax = pytest.importorskip("jax")
    return jax.device_put(X, jax.devices("gpu")[0])


def host(array):
    return array.get() if hasattr(array, "get") else np.asarray(array.cpu())


LIBRARIES = {"torch": torch_array, "cupy": cupy_array, "jax": jax_array}


def lies_beside(result, X):
    return result.__dlpack_device__() == X.__dlpack_device__()
