"""Which rows are drawn, and how they come to the host."""

import numpy as np

from ._device_arrays import copied_to_host

DEFAULT_MAX_POINTS = 5000


def _mix(values):
    # The finaliser of SplitMix64 (Steele, Lea & Flood 2014): each bit of the index changes each bit of the result.
    values = np.asarray(values, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def subsample(rows, at_most):
    """At most ``at_most`` distinct row numbers below ``rows``, ascending.

    All of them, or one from each of ``at_most`` equal stretches at a hashed place. The HTML reports of the command line
    draw the same rows.
    """
    count = min(rows, at_most)
    if count == 0:
        return np.empty(0, dtype=np.int64)
    numbers = np.arange(count + 1, dtype=np.uint64)
    whole, rest = np.uint64(rows // count), np.uint64(rows % count)
    starts = numbers * whole + numbers * rest // np.uint64(count)
    lengths = starts[1:] - starts[:-1]
    return (starts[:-1] + _mix(numbers[:-1]) % lengths).astype(np.int64)


def drawing_order(count):
    """A fixed permutation: rows drawn in it do not hide one group behind another because the data came sorted."""
    return np.argsort(_mix(np.arange(count)), kind="stable")


def to_host(values):
    """A NumPy array of anything array-like, from a GPU too."""
    return np.asarray(copied_to_host(values))


class Sample:
    """The rows that a picture shows.

    ``native`` is what the estimator is given: the same kind of container as the data, so that feature names and devices
    stay as they were in the fit. ``values`` are the same rows on the host in float64.
    """

    def __init__(self, X, max_points):
        if isinstance(max_points, bool) or not isinstance(max_points, (int, np.integer)) or max_points < 1:
            raise ValueError(f"max_points must be a positive integer, not {max_points!r}")
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        if len(X.shape) != 2:
            raise ValueError(f"X must have two dimensions, rows and columns; its shape is {tuple(X.shape)}")
        self.rows_in_all = int(X.shape[0])
        if self.rows_in_all == 0:
            raise ValueError("X has no rows to draw")
        self.indices = subsample(self.rows_in_all, int(max_points))
        self.native = X if len(self.indices) == self.rows_in_all else _take(X, self.indices)
        self.values = to_host(self.native).astype(np.float64)
        if not np.isfinite(self.values).all():
            row, column = np.argwhere(~np.isfinite(self.values))[0]
            raise ValueError(
                f"X has the value {self.values[row, column]} in row {self.indices[row]}, column {column} (counting from 0)"
            )
        self.column_names = [str(name) for name in X.columns] if hasattr(X, "columns") else None

    @property
    def note(self):
        """What the picture leaves out; empty when it shows every row."""
        drawn = len(self.indices)
        return "" if drawn == self.rows_in_all else f"{drawn:,} of {self.rows_in_all:,} rows"


def _take(X, indices):
    if hasattr(X, "iloc"):  # pandas
        return X.iloc[indices]
    return X[indices]
