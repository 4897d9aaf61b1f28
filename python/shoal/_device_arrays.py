"""Arrays in the memory of CUDA devices, of whatever library: PyTorch, CuPy, JAX, anything with DLPack
or ``__cuda_array_interface__``."""

from __future__ import annotations

import numbers

import numpy as np

# DLPack's numbers: memory that the host can read (its own, and pinned), and memory of CUDA devices (also managed).
HOST_KINDS = (1, 3)
CUDA_KINDS = (2, 13)


def on_device(X) -> bool:
    """Whether X is an array in the memory of a CUDA device."""
    if isinstance(X, np.ndarray):
        return False
    if hasattr(X, "__dlpack_device__"):
        return int(X.__dlpack_device__()[0]) in CUDA_KINDS
    return hasattr(X, "__cuda_array_interface__")


def with_dlpack(X):
    """X itself, or the same memory as CuPy's array when X has ``__cuda_array_interface__`` alone (Numba's arrays)."""
    if hasattr(X, "__dlpack__"):
        return X
    try:
        import cupy
    except ImportError as missing:
        raise ImportError(
            f"X ({type(X).__module__}) has __cuda_array_interface__ but no __dlpack__, so CuPy is needed to read it: "
            "install cupy, or pass an array with __dlpack__"
        ) from missing
    return cupy.asarray(X)


def dtype_of(X) -> str:
    """'float32', ..., whatever the library calls its types."""
    return str(X.dtype).rpartition(".")[2]


def _library(X) -> str:
    return type(X).__module__.partition(".")[0]


def empty_like(X, shape, dtype):
    """An array of X's library on X's device, not yet written."""
    library, name = _library(X), np.dtype(dtype).name
    if library == "torch":
        import torch

        return torch.empty(shape, dtype=getattr(torch, name), device=X.device)
    import cupy

    # Libraries whose arrays cannot be written to (JAX) get CuPy's, which they take by DLPack without a copy.
    with cupy.cuda.Device(int(X.__dlpack_device__()[1])):
        return cupy.empty(shape, dtype)


def contiguous(X):
    """X, or a copy on its device whose elements lie one behind the other; without PyTorch's gradients."""
    if _library(X) == "torch":
        return X.detach().contiguous()
    import cupy

    with cupy.cuda.Device(int(X.__dlpack_device__()[1])):
        return cupy.ascontiguousarray(cupy.from_dlpack(X))


def copied_to_host(X):
    """A NumPy array of the elements when X is an array on a device; anything else unchanged."""
    if not on_device(X):
        return X
    if hasattr(X, "detach"):  # PyTorch
        return X.detach().cpu().numpy()
    if hasattr(X, "get"):  # CuPy
        return X.get()
    if hasattr(X, "__array__"):  # JAX
        return np.asarray(X)
    return with_dlpack(X).get()


def rows_at(X, places: list[int]):
    """Rows of X, and their places, both on X's device."""
    if _library(X) == "torch":
        import torch

        index = torch.as_tensor(places, device=X.device)
        return X[index], index
    import cupy

    with cupy.cuda.Device(int(X.__dlpack_device__()[1])):
        index = cupy.asarray(places)
    return X[index if isinstance(X, cupy.ndarray) else np.asarray(places)], index


def weights_like(X, sample_weight):
    """Weights on X's device, copied there when they are not: float32 where they are, else float64."""
    library, rows = _library(X), X.shape[0]
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(rows, sample_weight, dtype=np.float64)
    elif not hasattr(sample_weight, "dtype"):
        sample_weight = np.asarray(sample_weight, dtype=np.float64)
    name = "float32" if dtype_of(sample_weight) == "float32" else "float64"
    if library == "torch":
        import torch

        weights = torch.as_tensor(sample_weight, dtype=getattr(torch, name), device=X.device)
    else:
        import cupy

        with cupy.cuda.Device(int(X.__dlpack_device__()[1])):
            weights = cupy.asarray(sample_weight, dtype=name)
    if tuple(weights.shape) != (rows,):
        raise ValueError(f"sample_weight.shape == {tuple(weights.shape)}, expected ({rows},)!")
    return weights
