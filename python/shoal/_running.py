"""How a fit is run and what it tells its caller: resources, progress, seeds, and the library's errors."""

from __future__ import annotations

import contextlib
import numbers
import os
import warnings
from typing import Any, Callable, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from . import _shoal

# Below so many differences of an element and a centre in one pass, waking a second thread costs more than it saves.
# Results do not depend on the number of threads.
ONE_THREAD_WORK = 60_000
# A fit of fewer operations ends before a key can be pressed, and needs no thread of its own to watch for that.
BRIEF_WORK = 100_000_000

# The sentence that users of scikit-learn match this error by.
ILL_DEFINED = (
    "Fitting the mixture model failed because some components have ill-defined empirical covariance (for instance "
    "caused by singleton or collapsed samples). Try to decrease the number of components, increase reg_covar, or scale "
    "the input data."
)

# How an error ends when a parameter was changed that a model in progress cannot follow.
START_AGAIN = "set it back, or clone the estimator to start again"


def whole_numbers_from(least: int) -> Interval:
    """As many as the library counts to."""
    return Interval(numbers.Integral, least, 2**63 - 1, closed="both")


RUNNING_CONSTRAINTS: dict[str, list] = {
    "device": [str, None],
    "precision": [StrOptions({"auto", "float32", "float64", "tf32", "bf16"})],
    "threads": [whole_numbers_from(1), None],
    "memory_limit": [whole_numbers_from(1), None],
    "checkpoint": [str, os.PathLike, None],
    "callback": [callable, None],
}


class ColumnScaleWarning(UserWarning):
    """Columns vary so differently that distances between rows hardly see some of them.

    Said where the variances of two columns differ more than 100-fold. ``sklearn.preprocessing.StandardScaler`` lets all
    columns count alike; where the scales are meant,
    ``warnings.filterwarnings("ignore", category=shoal.ColumnScaleWarning)`` silences this.

    Parameters
    ----------
    message : str
        Which columns, and by how much.
    """

    def __init__(self, message: str):
        super().__init__(message)


class Progress(NamedTuple):
    """What a callback is told after each iteration, and of choosing the start where that takes a while.

    Attributes
    ----------
    phase : str
        The family that is fitted, by its noun on the command line; "seeding" while its start is chosen.
    step : int
        Iterations done; restart r begins at r * max_iter.
    steps : int
        The most iterations that there can be, of all restarts together.
    objective : float
        Mean log-likelihood, inertia or quantization error of the parameters that the iteration started from; NaN while
        seeding.
    """

    phase: str
    step: int
    steps: int
    objective: float


def resources(estimator, data, groups: int, iterations: int = 1) -> dict[str, Any]:
    """Where and how a computation over `data` runs, as the binding's keyword arguments."""
    # Integers of Python's own, which do not overflow, where groups and iterations may be NumPy's.
    work = data.count * data.columns * int(groups)
    device = estimator.device or data.device
    return {
        "threads": estimator.threads or (1 if work < ONE_THREAD_WORK else 0),
        "memory_limit": estimator.memory_limit or 0,
        "device": device,
        "device_memory": 0,
        "products": estimator.precision if estimator.precision in ("tf32", "bf16") else "float32",
        "brief": device == "cpu" and work * data.columns * int(iterations) < BRIEF_WORK,
    }


def checkpoint_of(estimator) -> str:
    """The file that a fit is saved to; empty for none."""
    return "" if estimator.checkpoint is None else os.fspath(estimator.checkpoint)


def seed_of(random_state) -> int:
    """A seed for the library's counter-based generators; an int is its own."""
    if isinstance(random_state, numbers.Integral):
        return counted(random_state, "random_state", 2**64 - 1)
    return int(check_random_state(random_state).randint(0, 2**63 - 1, dtype=np.int64))


def counted(value, name: str, most: int = 2**63 - 1) -> int:
    """A whole number that the library can hold."""
    if not isinstance(value, numbers.Integral) or not 0 <= int(value) <= most:
        raise ValueError(f"{name} must be a whole number from 0 to {most}; got {value!r}")
    return int(value)


def nth_seed(seed: int, n: int) -> int:
    """A seed for the n-th of several initializations, far from those that neighbouring seeds lead to."""
    return (seed + n * 0x9E3779B97F4A7C15) % 2**64


def reporter(callback: Callable[[Progress], Any] | None, verbose: int, every: int, objective: str):
    """What is called after each iteration: the user's callback, and lines for verbose. None when neither is."""
    if callback is None and not verbose:
        return None

    def report(phase: str, step: int, steps: int, value: float) -> None:
        if verbose and phase == "seeding":
            if step in (1, steps) or step % max(1, steps // 10) == 0:
                print(f"Seeding: step {step} of {steps}")
        elif verbose and (step % every == 0 or step == 1):
            print(f"Iteration {step} of at most {steps}: {objective} {value:.6g}")
        if callback is not None:
            callback(Progress(phase, step, steps, value))

    return report


def warn_of_scales(estimator, variances, *, stacklevel: int) -> None:
    """Warns when the columns of a fit vary so differently that distances hardly see some of them."""
    varying = np.flatnonzero(variances)
    if not len(varying):
        return
    most, least = (int(varying[pick(variances[varying])]) for pick in (np.argmax, np.argmin))
    ratio = variances[most] / variances[least]
    if ratio <= _shoal.most_alike_scales:
        return
    names = getattr(estimator, "feature_names_in_", [f"column {j}" for j in range(len(variances))])
    warnings.warn(
        f"the variance of {names[most]} is {ratio:,.0f} times that of {names[least]}, which distances hardly see; "
        "sklearn.preprocessing.StandardScaler lets all columns count alike",
        ColumnScaleWarning,
        stacklevel=stacklevel,
    )


class progress_bar:
    """A callback that shows a tqdm bar: ``KMeans(callback=shoal.progress_bar())``.

    Parameters
    ----------
    **options
        Handed to ``tqdm.auto.tqdm``.
    """

    def __init__(self, **options):
        self.options = options
        self._bar = None
        self._phase = ""

    def __call__(self, progress: Progress) -> None:
        from tqdm.auto import tqdm

        if self._bar is None or progress.step <= self._bar.n or progress.phase != self._phase:
            self.close()
            self._bar = tqdm(total=progress.steps, desc=progress.phase, **self.options)
            self._phase = progress.phase
        if not np.isnan(progress.objective):
            self._bar.set_postfix(objective=f"{progress.objective:.6g}", refresh=False)
        self._bar.update(progress.step - self._bar.n)

    def close(self) -> None:
        """Leaves the bar as it is; the next fit starts another."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __getstate__(self):
        return {"options": self.options, "_bar": None, "_phase": ""}

    def __deepcopy__(self, memo):
        return progress_bar(**self.options)


@contextlib.contextmanager
def named_errors(what: str = "X"):
    """Puts the argument's name, and the words that scikit-learn's users know, before the library's message."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        if "ill-defined empirical covariance" in message and not message.startswith(ILL_DEFINED):
            raise ValueError(f"{ILL_DEFINED}\n{message}") from None
        if "the value is NaN" in message:
            raise ValueError(f"Input {what} contains NaN.\n{message}") from None
        if "infinite" in message and "the value is" in message:
            raise ValueError(f"Input {what} contains infinity or a value too large for its dtype.\n{message}") from None
        if message.startswith("the weight of row") or "weights are zero" in message or "of the weights" in message:
            raise ValueError(f"sample_weight: {message}") from None
        raise


def show_config() -> dict[str, Any]:
    """Prints and returns what this installation can do.

    Returns
    -------
    dict
        ``version``, ``instruction_set`` of the kernels on this processor, ``threads`` (what ``threads=None`` means here),
        ``cuda`` (whether the package was built with it) and ``devices``: the names that ``device=`` takes here, each with
        a description.
    """
    found: dict[str, Any] = {
        "version": _shoal.version,
        "instruction_set": _shoal.instruction_set(),
        "threads": _shoal.default_threads(),
        "cuda": _shoal.built_with_cuda,
        "devices": {"cpu": "the host's processor"},
    }
    if _shoal.built_with_cuda:
        try:
            for device in _shoal.cuda_devices():
                memory = device["memory_bytes"] / 2**30
                found["devices"][f"cuda:{device['index']}"] = f"{device['name']}, {memory:.0f} GiB"
        except RuntimeError as error:
            found["cuda_error"] = str(error)
    print(f"shoal {found['version']}")
    print(f"  instruction set  {found['instruction_set']}")
    print(f"  threads          {found['threads']}")
    print(f"  CUDA             {'built' if found['cuda'] else 'not built (configure with SHOAL_CUDA=ON)'}")
    for name, description in found["devices"].items():
        print(f"  {name:<16} {description}")
    if "cuda_error" in found:
        print(f"  CUDA devices     cannot be used: {found['cuda_error']}")
    return found
