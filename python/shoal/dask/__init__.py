"""The estimators of shoal on a Dask cluster: each worker holds rows, and the model has the bits of one process.

Needs ``pip install 'shoal[dask]'``.
"""

from typing import Any

from ._estimators import ESTIMATORS

globals().update(ESTIMATORS)
__all__ = list(ESTIMATORS)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'shoal.dask' has no attribute {name!r}; it has {', '.join(__all__)}")
