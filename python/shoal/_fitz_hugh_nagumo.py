"""FitzHugh-Nagumo waves on an axon or in the plane."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _device_arrays as device_arrays
from . import _shoal
from ._input import on_host, refuse_masked
from ._running import BRIEF_WORK, reporter, seed_of

# Operations of one node in one step, roughly.
NODE_WORK = 20


@dataclass(frozen=True, eq=False)
class Wave:
    """A wave at the times that were asked for. Made by :meth:`FitzHughNagumo.solve`.

    Attributes
    ----------
    times : ndarray of shape (n_times,)
        When the states are kept.
    v, w : array of shape (n_times, n_nodes) or (n_times, n_rows, n_columns)
        The potential and the recovery: NumPy's arrays; PyTorch's where the initial state was one; and where that lies on a CUDA
        device, arrays there, of CuPy for all other libraries.
    spacing : float
        Distance of two nodes.
    steps : int
        Time steps that were taken.
    refused_steps : int
        Steps of "tr-bdf2" whose error was above the tolerance.
    newton_iterations : int
        Of all implicit steps.
    mean_nodes : float
        Nodes that "adaptive" used, in the mean over the steps; 0 for others.
    wave_speed : float or None
        How fast the place where v crosses 1/2 moved between the last two times, positive to the right. None in the plane, and where
        there is not one such place at both times.
    seconds : float
        What the computation took.
    """

    times: np.ndarray
    v: Any
    w: Any
    spacing: float
    steps: int
    refused_steps: int
    newton_iterations: int
    mean_nodes: float
    wave_speed: float | None
    seconds: float


def _numbers(values: Any, name: str) -> np.ndarray:
    """As float64, [rows][columns]."""
    refuse_masked(values, name)
    array = np.asarray(on_host(values, name))
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must have one dimension (an axon) or two (the plane); got {array.ndim}")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers; its dtype is {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.float64)


def _there(v: Any, w: Any, precision: str) -> tuple[Any, Any]:
    """v and w on their CUDA device, each in one piece; w of zeros where it is None."""
    if not _shoal.built_with_cuda:
        raise NotImplementedError("v lies on a CUDA device, and this build is without CUDA (SHOAL_CUDA); move it to the host")
    v = device_arrays.with_dlpack(v)
    dtype = device_arrays.dtype_of(v)
    if len(v.shape) not in (1, 2):
        raise ValueError(f"v must have one dimension (an axon) or two (the plane); got {len(v.shape)}")
    if dtype not in ("float32", "float64"):
        raise ValueError(f"v must be of float32 or float64 on a CUDA device; its dtype is {dtype}")
    if precision not in ("auto", dtype):
        raise ValueError(f"precision={precision!r} cannot be used for {dtype} on a CUDA device: convert v there")
    if w is None:
        w = device_arrays.empty_like(v, tuple(v.shape), dtype)
        w[...] = 0
    else:
        w = device_arrays.with_dlpack(w)
        if device_arrays.dtype_of(w) != dtype:
            raise ValueError(f"w must be of v's dtype, {dtype}, on a CUDA device; its dtype is {device_arrays.dtype_of(w)}")
    return device_arrays.contiguous(v), device_arrays.contiguous(w)


class FitzHughNagumo:
    """The equations v_t = D v_xx + v (1 - v) (v - a) - w and w_t = epsilon (v - gamma w), and how they are solved.

    Parameters
    ----------
    a : float or array-like
        Threshold of excitation. An array gives every node its own, as it may for ``gamma``, ``epsilon`` and ``diffusion``.
    gamma, epsilon : float or array-like
        How fast the recovery itself decays, and how slow it is.
    diffusion : float or array-like
        Of v.
    recovery_diffusion : float
        Of w.
    spacing : float
        Distance of two nodes.
    boundary : str
        "no-flux" (of second order), "input" (v = ``input_level`` at the last node), "periodic-input"
        (v = ``input_level`` (1 - cos(2 pi t / ``input_period``)) / 2 there), or "periodic".
    input_level, input_period : float
        Of the input.
    coupling : float, optional
        With one, the rows of the initial state are axons, each of which pulls so strongly at v of the next; without, a plane.
    noise : float
        Strength of white noise in space and time that drives v, with "explicit" (Euler-Maruyama) or "crank-nicolson" (drift-implicit).
    noise_kind : str
        "additive", or "multiplicative": times v, in Ito's sense.
    random_state : int, RandomState instance or None
        Seed of the noise, which is the same for any number of threads.
    scheme : str
        "explicit", "adaptive", "crank-nicolson", "pieces", "tr-bdf2" or "source-2016" (the waves page tells them apart).
    order : int
        Of the differences in space: 2, or 4 with "explicit", whose steps are then Runge-Kutta's.
    step : float, optional
        Longest time step; fixes it. Without one it is 0.9 of the bound ("explicit", "adaptive"), 0.1 ("crank-nicolson", "pieces"), half of
        spacing squared ("source-2016"), or follows ``tolerance`` ("tr-bdf2").
    tolerance : float
        Error of one step of "tr-bdf2".
    newton_accuracy : float, optional
        What Newton's method may leave of an error: 1e-12, or 1e-6 in float32.
    piece_nodes : int
        With "pieces": nodes from one explicit node to the next.
    differences : str
        Second derivatives of "adaptive" on uneven nodes: "three-point", "five-point" or "spline".
    precision : str
        "float32", "float64", or "auto": the initial state's, float64 for a named one.
    device : str, optional
        Where to compute: "cpu", "cuda", "cuda:1", "cuda:0,1" or "cuda:all"; by default where the initial state lies. GPUs compute
        "explicit" of order 2, and "crank-nicolson" and "tr-bdf2".
    threads : int, optional
        All that the process may use unless given. They change no bit.
    checkpoint : path, optional
        File that the state is saved to now and then; the same call goes on from it.
    callback : callable, optional
        Called with a :class:`Progress` now and then.

    Examples
    --------
    >>> import shoal
    >>> wave = shoal.FitzHughNagumo(a=0.1, epsilon=0, spacing=0.25).solve("front", times=[0, 40], shape=801)
    >>> wave.v.shape
    (2, 801)
    >>> round(wave.wave_speed, 2)
    0.56
    """

    def __init__(
        self,
        *,
        a: Any = 0.1,
        gamma: Any = 2.0,
        epsilon: Any = 0.01,
        diffusion: Any = 1.0,
        recovery_diffusion: float = 0.0,
        spacing: float = 0.5,
        boundary: str = "no-flux",
        input_level: float = 1.0,
        input_period: float = 100.0,
        coupling: float | None = None,
        noise: float = 0.0,
        noise_kind: str = "additive",
        random_state: Any = None,
        scheme: str = "explicit",
        order: int = 2,
        step: float | None = None,
        tolerance: float = 1e-4,
        newton_accuracy: float | None = None,
        piece_nodes: int = 256,
        differences: str = "three-point",
        precision: str = "auto",
        device: str | None = None,
        threads: int | None = None,
        checkpoint: str | os.PathLike | None = None,
        callback: Callable[..., Any] | None = None,
    ):
        if precision not in ("auto", "float32", "float64"):
            raise ValueError(f"precision must be auto, float32 or float64; got {precision!r}")
        self.a = a
        self.gamma = gamma
        self.epsilon = epsilon
        self.diffusion = diffusion
        self.recovery_diffusion = recovery_diffusion
        self.spacing = spacing
        self.boundary = boundary
        self.input_level = input_level
        self.input_period = input_period
        self.coupling = coupling
        self.noise = noise
        self.noise_kind = noise_kind
        self.random_state = random_state
        self.scheme = scheme
        self.order = order
        self.step = step
        self.tolerance = tolerance
        self.newton_accuracy = newton_accuracy
        self.piece_nodes = piece_nodes
        self.differences = differences
        self.precision = precision
        self.device = device
        self.threads = threads
        self.checkpoint = checkpoint
        self.callback = callback

    def solve(
        self, v: Any = "impulse", w: Any = None, *, times: Sequence[float], shape: int | tuple[int, int] = 401
    ) -> Wave:
        """Computes the wave from its state at time 0.

        Parameters
        ----------
        v : array-like of shape (n_nodes,) or (n_rows, n_columns), or str
            The potential at time 0, in the host's memory or on a CUDA device, of any library with DLPack or
            ``__cuda_array_interface__``; or by name, "rest", "impulse", "front" (the exact one of epsilon = 0) or "broken-front" (which
            curls into a spiral), on ``shape``. What lies on a device is float32 or float64 and is computed on one; nothing of it
            passes through the host.
        w : array-like of the same shape, optional
            The recovery at time 0, where v lies; that of the named state, and else zero, unless given.
        times : sequence of float
            When states are kept, ascending from 0 on.
        shape : int or tuple of two ints
            Nodes of a named state: of an axon, or rows and columns of the plane.

        Returns
        -------
        Wave

        Raises
        ------
        ValueError
            For what cannot be computed (an explicit step above its bound, with the bound; a value that is not finite, with its place),
            and when Newton's method fails, with the time.
        NotImplementedError
            For arrays on a GPU where this build is without CUDA.
        """
        there = not isinstance(v, str) and device_arrays.on_device(v)
        if w is not None and device_arrays.on_device(w) != there:
            raise ValueError("v and w must both lie on a CUDA device, or both in the host's memory")
        begin_v: Any
        begin_w: Any
        if there:
            begin_v, begin_w = _there(v, w, self.precision)
            float32 = device_arrays.dtype_of(begin_v) == "float32"
        elif isinstance(v, str):
            rows, columns = (1, shape) if isinstance(shape, (int, np.integer)) else shape
            begin: Any = _shoal.reaction_diffusion_state(
                v, rows=rows, columns=columns, spacing=self.spacing, diffusion=float(np.max(self.diffusion))
            )
            begin_v, begin_w = (part[0] for part in begin) if rows == 1 else begin
            float32 = self.precision == "float32"
        else:
            begin_v = _numbers(v, "v")
            begin_w = np.zeros_like(begin_v)
            float32 = self.precision == "float32" or (
                self.precision == "auto" and hasattr(v, "dtype") and device_arrays.dtype_of(v) in ("float32", "float16")
            )
        if w is not None and not there:
            begin_w = _numbers(w, "w")
        if tuple(begin_w.shape) != tuple(begin_v.shape):
            raise ValueError(f"w must have the shape of v, {tuple(begin_v.shape)}; got {tuple(begin_w.shape)}")
        kept = [float(time) for time in times]
        shape = tuple(begin_v.shape)
        rows, columns = shape if len(shape) == 2 else (1, shape[0])
        states = device_arrays.empty_like(begin_v, (len(kept), 2, *shape), np.float32 if float32 else np.float64) if there else None
        # No scheme takes steps longer than those of explicit ones by much where it is quick.
        steps = (kept[-1] if kept else 0) / (self.step or self.spacing * self.spacing)
        given: dict[str, Any] = {name: getattr(self, name) for name in _PASSED_ON}
        fields = {}
        for name in _FIELDS:
            if np.ndim(given[name]) > 0:
                field = np.broadcast_to(_numbers(given[name], name), shape)
                fields[name] = np.ascontiguousarray(field)
                given[name] = float(field.flat[0])
        given |= {name: getattr(self, name) or 0 for name in ("step", "newton_accuracy")}
        found: dict[str, Any] = _shoal.reaction_diffusion_solve(
            begin_v,
            begin_w,
            rows=rows,
            columns=columns,
            fields=fields,
            seed=seed_of(self.random_state) if self.noise else 0,
            times=kept,
            float32=float32,
            threads=self.threads or 0,
            checkpoint="" if self.checkpoint is None else os.fspath(self.checkpoint),
            device=self.device or (f"cuda:{int(begin_v.__dlpack_device__()[1])}" if there else "cpu"),
            states=states,
            brief=rows * columns * steps * NODE_WORK < BRIEF_WORK,
            report=reporter(self.callback, 0, 1, ""),
            **given,
        )
        if states is None:
            states = found.pop("states").reshape(len(kept), 2, *shape)
        if not there and type(v).__module__.partition(".")[0] == "torch":
            import torch

            states = torch.from_numpy(states)
        return Wave(times=np.array(kept), v=states[:, 0], w=states[:, 1], spacing=self.spacing, **found)


_FIELDS = ("a", "gamma", "epsilon", "diffusion")
_PASSED_ON = (
    "a",
    "gamma",
    "epsilon",
    "diffusion",
    "recovery_diffusion",
    "spacing",
    "boundary",
    "input_level",
    "input_period",
    "coupling",
    "noise",
    "noise_kind",
    "scheme",
    "order",
    "tolerance",
    "piece_nodes",
    "differences",
)
