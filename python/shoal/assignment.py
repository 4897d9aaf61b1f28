"""Linear assignment: which column each row takes at least cost, with the proof of it.

Every result has the dual potentials that prove it, and ``certified`` says that an independent check has found them valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _shoal
from ._input import refuse_masked
from ._running import counted

__all__ = ["Assignment", "linear_sum_assignment", "solve"]


@dataclass(frozen=True, eq=False)
class Assignment:
    """An assignment with its proof. Made by :func:`solve`.

    Of a batch every attribute has one more dimension in front, the problems; an infeasible one has -1 and not-a-number, and the
    conflicting rows and columns are not told.

    Attributes
    ----------
    feasible : bool
        False when every assignment needs a forbidden pair; then ``conflicting_rows`` and ``conflicting_columns`` say why.
    certified : bool
        An independent check has found the potentials a proof.
    cost : float
        Sum of the costs of the pairs, and of the prices that were paid.
    column_of_row, row_of_column : ndarray of int64
        -1 where there is none; empty when infeasible.
    row_potentials, column_potentials : ndarray of float64
        ``u[i] + v[j] <= cost[i, j]``, with equality for the pairs (the other way round when maximised).
    conflicting_rows, conflicting_columns : ndarray of int64
        Rows that have allowed pairs only in these columns, which are one fewer; for more rows than columns, the other way round.
    """

    feasible: bool
    certified: bool
    cost: float
    column_of_row: np.ndarray
    row_of_column: np.ndarray
    row_potentials: np.ndarray
    column_potentials: np.ndarray
    conflicting_rows: np.ndarray
    conflicting_columns: np.ndarray


_NONE = np.empty(0, dtype=np.int64)


# Up to here float64 holds every whole number.
_EXACT = 2**53


def _refuse_rounding(costs: np.ndarray) -> None:
    """Whole numbers that float64 would round, so that the answer would be that of other costs."""
    if costs.dtype.kind in "iu" and costs.size and (int(costs.max()) > _EXACT or int(costs.min()) < -_EXACT):
        raise ValueError("costs that are whole numbers must be at most 2**53 in size here; divide them or subtract a constant")


def _arrays(costs: Any, dimensions: tuple[int, ...]) -> np.ndarray:
    refuse_masked(costs, "costs")
    costs = np.asarray(costs)
    if costs.ndim not in dimensions:
        known = " or three" if 3 in dimensions else ""
        raise ValueError(f"costs must be a matrix of two{known} dimensions; got {costs.ndim}")
    if costs.dtype not in (np.float32, np.float64, np.int32, np.int64):
        if not (np.issubdtype(costs.dtype, np.number) or costs.dtype == bool) or np.iscomplexobj(costs):
            raise ValueError(f"costs must be real numbers; got {costs.dtype}")
        _refuse_rounding(costs)
        costs = costs.astype(np.float64)
    return np.ascontiguousarray(costs)


def _solve_sparse(costs: Any, method: str, maximize: bool, price: float, n_threads: int) -> dict[str, Any]:
    costs = costs.tocsr()
    if costs.dtype.kind not in "biuf":
        raise ValueError(f"costs must be real numbers; got {costs.dtype}")
    if not costs.has_canonical_format:  # ascending columns, none twice
        costs = costs.copy()
        costs.sum_duplicates()
    _refuse_rounding(costs.data)
    return _shoal.assignment_solve_sparse(
        np.ascontiguousarray(costs.indptr, dtype=np.int64),
        np.ascontiguousarray(costs.indices, dtype=np.int64),
        np.ascontiguousarray(costs.data, dtype=np.float64),
        costs.shape[1],
        method,
        maximize,
        price,
        n_threads,
    )


def solve(
    costs: Any,
    *,
    method: str = "auto",
    maximize: bool = False,
    price: float | None = None,
    random_state: int = 0,
    n_threads: int = 0,
    device: str = "cpu",
) -> Assignment:
    """The assignment of least cost, or of the greatest.

    Parameters
    ----------
    costs : array-like of shape (n_rows, n_columns) or (n_problems, n_rows, n_columns), or sparse matrix of SciPy
        float32, float64, int32 and int64 are read as they are. An infinite cost forbids a pair. Three dimensions are many problems,
        which threads share. A sparse matrix lists the allowed pairs, zeros that it stores among them; all others are forbidden.
    method : str
        "auto", "shortest-augmenting-paths", "hungarian", "auction" and "brute-force" (at most 12 rows or columns) are exact; "random",
        "greedy", "greedy-naive" and "greedy-paths" are not. Sparse costs take "auto", and "auction" for as many rows as columns.
    maximize : bool
        Seek the greatest sum.
    price : float, optional
        What a row costs that stays single (when maximised: earns). Without one, as many pairs are made as the smaller side has.
    random_state : int
        Seed of "random".
    n_threads : int
        Threads of "auction" and of many problems; 0: all that the process may use.
    device : str
        Where "auction" finds its prices: "cpu", or "cuda" for a GPU.

    Returns
    -------
    Assignment
    """
    single = float("inf") if price is None else float(price)
    random_state, n_threads = counted(random_state, "random_state", 2**64 - 1), counted(n_threads, "n_threads")
    whole = ("column_of_row", "row_of_column", "conflicting_rows", "conflicting_columns")
    if hasattr(costs, "tocsr"):
        if device != "cpu":
            raise ValueError(f"device={device!r} needs dense costs; got a sparse matrix")
        found = _solve_sparse(costs, method, maximize, single, n_threads)
    else:
        costs = _arrays(costs, (2, 3))
        if costs.ndim == 3:
            if device != "cpu":
                raise ValueError(f"device={device!r} needs one matrix; got {costs.shape[0]}")
            if 0 in costs.shape[1:]:
                raise ValueError(f"many problems need rows and columns; got the shape {costs.shape}")
            _refuse_rounding(costs)
            costs = np.ascontiguousarray(costs, dtype=np.float64)
            found = _shoal.assignment_solve_batch(costs, method, maximize, single, random_state, n_threads)
            return Assignment(**found, conflicting_rows=_NONE, conflicting_columns=_NONE)
        found = _shoal.assignment_solve(costs, method, maximize, single, random_state, n_threads, device)
    values: dict[str, Any] = {
        name: np.array(value, dtype=np.int64) if name in whole else value for name, value in found.items()
    }
    return Assignment(**values)


def linear_sum_assignment(
    cost_matrix: Any, maximize: bool = False, *, return_duals: bool = False
) -> tuple[np.ndarray, ...]:
    """SciPy's function of this name, with its signature, and on request the dual potentials.

    Parameters
    ----------
    cost_matrix : array-like of shape (n_rows, n_columns)
        An infinite cost forbids a pair; with ``maximize``, minus infinity does.
    maximize : bool
        Seek the greatest sum.
    return_duals : bool
        Also return the potentials of rows and columns.

    Returns
    -------
    rows, columns : ndarray of int64
        The pairs, rows ascending.
    row_potentials, column_potentials : ndarray of float64
        Only with ``return_duals``.

    Raises
    ------
    ValueError
        When every assignment needs a forbidden pair, with the rows that conflict; and for a cost that is not a number.
    """
    if hasattr(cost_matrix, "tocsr"):
        raise ValueError("linear_sum_assignment needs a dense matrix; shoal.assignment.solve takes sparse ones")
    costs = _arrays(cost_matrix, (2,))
    if maximize and np.issubdtype(costs.dtype, np.floating):
        if np.isposinf(costs).any():
            raise ValueError("matrix contains invalid numeric entries")
        costs = np.where(np.isneginf(costs), np.inf, costs).astype(costs.dtype, copy=False)
    found = solve(costs, maximize=maximize)
    if not found.feasible:
        raise ValueError(
            f"cost matrix is infeasible: rows {found.conflicting_rows.tolist()} and columns "
            f"{found.conflicting_columns.tolist()} have too few allowed pairs"
        )
    rows = np.flatnonzero(found.column_of_row >= 0)
    pairs = (rows, found.column_of_row[rows])
    return (*pairs, found.row_potentials, found.column_potentials) if return_duals else pairs
