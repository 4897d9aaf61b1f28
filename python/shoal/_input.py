"""What users hand over, as rows that the library reads: in place wherever the layout allows it."""

from __future__ import annotations

import mmap
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from . import _device_arrays as device_arrays
from . import _shoal

# Mapped files up to this size are copied once; larger ones piece by piece, so that they are never in memory as a whole.
MAPPED_COPIED_BYTES = 256 << 20


@dataclass(slots=True)
class Data:
    """Checked rows on their way into the library."""

    rows: Any  # _shoal.Rows
    count: int
    columns: int
    dtype: type  # the scalar that the computation runs in, and that its results have
    array: Any  # the array that the rows lie in
    device: str = "cpu"  # where the rows lie: "cpu", "cuda:0", ...
    shared: bool = False  # among ranks, each of which holds some of the rows

    def labels(self):
        """An array for the labels of a fit; None for rows that are shared, whose labels nobody has all of."""
        return None if self.shared else self.empty(self.count, np.int32)

    def empty(self, shape, dtype):
        """An array for results, where the rows lie and of their library."""
        return np.empty(shape, dtype) if self.device == "cpu" else device_arrays.empty_like(self.array, shape, dtype)


def read(estimator, X, *, reset: bool, sample_weight=None, least_rows: int = 1) -> Data:
    """X as rows, after scikit-learn's checks of its shape and its feature names.

    Values are not looked at here: the library refuses what is not finite, by row and column, while it reads them.
    """
    if isinstance(X, Data):
        if reset:
            estimator.n_features_in_ = X.columns
        return X
    refuse_masked(X, "X")
    if _plain(X, least_rows) and (reset or _expected(estimator, X)):
        array = X
        if reset:
            estimator.n_features_in_ = X.shape[1]
            estimator.__dict__.pop("feature_names_in_", None)
    elif device_arrays.on_device(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return device_data(X, sample_weight, estimator.precision)
    else:
        array = validate_data(
            estimator,
            on_host(X),
            reset=reset,
            dtype="numeric",
            order=None,
            ensure_all_finite=False,
            ensure_min_samples=least_rows,
        )
    return as_data(array, sample_weight, estimator.precision, estimator.memory_limit)


def as_data(array: np.ndarray, sample_weight, precision: str, memory_limit: int | None) -> Data:
    """A two-dimensional NumPy array as rows."""
    array = readable(array)
    if precision == "auto":
        float32 = array.dtype in (np.float32, np.float16)
    else:
        float32 = precision != "float64"
    weights = weights_for(sample_weight, array.shape[0])
    rows = _shoal.Rows(array, weights, float32, _residence(array, memory_limit), _residence(weights, None))
    return Data(rows, array.shape[0], array.shape[1], np.float32 if float32 else np.float64, array)


def device_data(X, sample_weight, precision: str) -> Data:
    """A two-dimensional array on a CUDA device as rows."""
    X = device_arrays.with_dlpack(X)
    shape, dtype = tuple(X.shape), device_arrays.dtype_of(X)
    if len(shape) != 2:
        raise ValueError(f"Expected 2D array, got {len(shape)}D array instead. X is on a CUDA device.")
    if shape[0] < 1 or shape[1] < 1:
        raise ValueError(f"X has {shape[0]} rows and {shape[1]} columns; both must be at least 1")
    if precision != "auto" and dtype != ("float64" if precision == "float64" else "float32"):
        raise ValueError(f"precision={precision!r} cannot be used for {dtype} on a CUDA device: convert X there")
    weights = None if sample_weight is None else device_arrays.weights_like(X, sample_weight)
    rows = _shoal.Rows(X, weights)
    return Data(rows, *shape, np.float32 if rows.float32 else np.float64, X, f"cuda:{rows.device}")


def _plain(X, least_rows: int) -> bool:
    """The common case, for which scikit-learn's checks would find nothing and cost more than a small fit."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.char in "fd"
        and X.dtype.isnative
        and X.shape[0] >= least_rows
        and X.shape[1] >= 1
    )


def _expected(estimator, X) -> bool:
    known = estimator.__dict__
    return "feature_names_in_" not in known and known.get("n_features_in_") == X.shape[1]


def on_host(X, name: str = "X"):
    """Arrays of other libraries in the host's memory, as NumPy arrays of the same memory; anything else unchanged."""
    if isinstance(X, np.ndarray):
        return X
    if hasattr(X, "__dlpack__") and hasattr(X, "__dlpack_device__"):
        if int(X.__dlpack_device__()[0]) not in device_arrays.HOST_KINDS:
            raise NotImplementedError(
                f"{name} lies on a device of DLPack type {X.__dlpack_device__()[0]}, which cannot be read; "
                "move it to the host"
            )
        return np.from_dlpack(X)
    return X


def refuse_masked(array, name: str) -> None:
    """Refuses masked values, which NumPy hands on as if they were there."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise ValueError(
            f"{name} is a masked array with {np.ma.count_masked(array)} masked values: remove or replace them "
            "(numpy.ma.MaskedArray.filled)"
        )


def readable(array: np.ndarray) -> np.ndarray:
    """The array itself, or a copy of elements that no source reads: wider than 64 bits, of foreign byte order, or with
    steps between them that are no whole elements (a field of packed records)."""
    kind = array.dtype.kind
    if kind not in "biuf":
        raise ValueError(f"X must hold real numbers; its dtype is {array.dtype}")
    if array.dtype.itemsize > 8 or not array.dtype.isnative:
        array = array.astype(np.float64)
    steps = (step for step, size in zip(array.strides, array.shape) if size > 1)
    if not array.flags.aligned or any(step % array.itemsize for step in steps):
        array = np.array(array, order="C")
    return array


def weights_for(sample_weight, rows: int) -> np.ndarray | None:
    """One weight for each row, or None for weights of one."""
    if sample_weight is None:
        return None
    refuse_masked(sample_weight, "sample_weight")
    if isinstance(sample_weight, numbers.Real):
        return np.full(rows, sample_weight, dtype=np.float64)
    weights = np.asarray(on_host(device_arrays.copied_to_host(sample_weight), "sample_weight"))
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar; sample_weight has {weights.ndim} dimensions")
    if weights.shape[0] != rows:
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected ({rows},)!")
    if weights.dtype.kind == "O":
        weights = weights.astype(np.float64)
    if weights.dtype.kind not in "biuf":
        raise ValueError(f"sample_weight must hold real numbers; its dtype is {weights.dtype}")
    return readable(weights)


def _residence(array: np.ndarray | None, memory_limit: int | None):
    """How the library reads the array: what lies in a mapped file is copied, so that a file that another process shortens
    is an error and no signal. Pages of a file that is mapped shared can be given back, and come again."""
    small = array is not None and array.nbytes <= (memory_limit or MAPPED_COPIED_BYTES)
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and getattr(array, "_mmap", None) is not None:
            if small:
                return _shoal.Residence.copied
            shared = array.mode != "c"
            return _shoal.Residence.in_pieces_given_back if shared else _shoal.Residence.in_pieces
        array = array.base
    if isinstance(array, memoryview):
        array = array.obj
    if isinstance(array, mmap.mmap):
        return _shoal.Residence.copied if small else _shoal.Residence.in_pieces
    return _shoal.Residence.in_place
