"""What users of Dask hand over, as parts whose rows are counted."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from distributed import Client, Future

from .._cluster.holder import Mapped
from .._cluster.leader import Part, Parts

# Rows of a mapped file that are one part, by which their losses are counted and predictions are cut.
MAPPED_BYTES = 64 << 20


class Collection(NamedTuple):
    """Rows, or one column of weights."""

    parts: Parts
    columns: int
    dtype: np.dtype
    names: Any  # of the columns, or None


def is_collection(X) -> bool:
    """Whether the rows are anywhere but in this process."""
    if isinstance(X, (str, os.PathLike, Future)) or dask.is_dask_collection(X):
        return True
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(map(is_collection, X))


def collection(client: Client, X, name: str = "X", dimensions: int = 2) -> Collection:
    """The parts of X, as `name` in errors, in their order."""
    made = _files(X, dimensions) or _known_array(X, name, dimensions) or _counted(client, X, name, dimensions)
    if made.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers; its dtype is {made.dtype}")
    if made.parts.rows < 1 or made.columns < 1:
        raise ValueError(f"{name} has {made.parts.rows} rows and {made.columns} columns; both must be at least 1")
    return made


def is_frame(X) -> bool:
    return hasattr(X, "to_delayed") and hasattr(X, "map_partitions")


def paths_of(X) -> list[str]:
    """The files that X names; none where it is something else."""
    if isinstance(X, (str, os.PathLike)):
        return [os.fspath(X)]
    if isinstance(X, (list, tuple)) and X and all(isinstance(each, (str, os.PathLike)) for each in X):
        return [os.fspath(each) for each in X]
    return []


def array_of(X):
    """A Dask array whose columns are in one block."""
    return X.rechunk({1: -1}) if X.ndim == 2 and X.numblocks[1] > 1 else X


def mapped_parts(path: str) -> tuple[list[Mapped], np.ndarray]:
    array = np.load(path, mmap_mode="r")
    if array.ndim not in (1, 2):
        raise ValueError(f"{path}: expected an array of one or two dimensions, got {array.ndim}")
    row_bytes = array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
    step = max(1, MAPPED_BYTES // max(1, row_bytes))
    ends = [min(first + step, len(array)) for first in range(0, len(array), step)]
    return [Mapped(os.path.abspath(path), max(0, end - (end - 1) % step - 1), end) for end in ends], array


def _files(X, dimensions) -> Collection | None:
    paths = paths_of(X)
    if not paths:
        return None
    parts, shapes, dtypes = [], [], []
    for path in paths:
        mapped, array = mapped_parts(path)
        parts += [Part(each, each.end - each.first, f"{path}[{each.first}:{each.end}]") for each in mapped]
        shapes.append(array.shape[1:])
        dtypes.append(array.dtype)
    return Collection(Parts(parts), _columns_of(shapes, paths, dimensions), np.result_type(*dtypes), None)


def _known_array(X, name, dimensions) -> Collection | None:
    if not isinstance(X, da.Array) or np.isnan(X.shape[0]):
        return None
    columns = _columns_of([X.shape[1:]], [name], dimensions)
    X = array_of(X)
    parts = [
        Part(part, int(rows), f"partition {number} of {name}")
        for number, (part, rows) in enumerate(zip(X.to_delayed().ravel().tolist(), X.chunks[0]))
    ]
    return Collection(Parts(parts), columns, X.dtype, None)


def _shape_of(part) -> tuple:
    array = part.to_numpy() if hasattr(part, "to_numpy") else np.asarray(part)
    return array.shape, array.dtype.str


def _counted(client: Client, X, name, dimensions) -> Collection:
    """Parts that have to be computed before anybody knows how many rows they have."""
    names = list(map(str, X.columns)) if is_frame(X) and hasattr(X, "columns") else None
    if isinstance(X, da.Array):
        pieces = array_of(X).to_delayed().ravel().tolist()
    elif is_frame(X):
        pieces = list(X.to_delayed())
    else:
        pieces = list(X) if isinstance(X, (list, tuple)) else [X]
    futures = [piece if isinstance(piece, Future) else client.compute(piece) for piece in pieces]
    found = client.gather(client.map(_shape_of, futures, pure=False))
    labels = [f"partition {number} of {name}" for number in range(len(pieces))]
    parts = [Part(piece, shape[0], label) for piece, (shape, _), label in zip(pieces, found, labels)]
    columns = _columns_of([shape[1:] for shape, _ in found], labels, dimensions)
    return Collection(Parts(parts), columns, np.result_type(*(np.dtype(kind) for _, kind in found)), names)


def _columns_of(shapes, names, dimensions: int) -> int:
    """How many columns all parts have; their shapes are those of one row."""
    for shape, name in zip(shapes, names):
        if len(shape) + 1 != dimensions:
            raise ValueError(f"Expected {dimensions}D array, got {len(shape) + 1}D array instead: {name}")
    counts = [shape[0] if shape else 1 for shape in shapes]
    for count, name in zip(counts, names):
        if count != counts[0]:
            raise ValueError(f"{name} has {count} columns, and {names[0]} has {counts[0]}: all parts must have the same")
    return counts[0]
