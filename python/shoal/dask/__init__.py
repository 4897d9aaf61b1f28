"""The estimators of shoal on a Dask cluster: each worker holds rows, and the model has the bits of one process.

Needs ``pip install 'shoal[dask]'``.
"""

from ._estimators import ESTIMATORS

globals().update(ESTIMATORS)
__all__ = list(ESTIMATORS)
