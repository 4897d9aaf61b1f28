"""GaussianMixture: scikit-learn's estimator on shoal's folds."""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _device_arrays as device_arrays
from . import _shoal
from ._covariances import covariance_shape, inverted, precision_factors
from ._input import Data, read
from ._running import (
    ILL_DEFINED,
    RUNNING_CONSTRAINTS,
    START_AGAIN,
    checkpoint_of,
    named_errors,
    nth_seed,
    reporter,
    resources,
    seed_of,
)

# The sentence that users of scikit-learn filter warnings by.
_NOT_CONVERGED = (
    "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, or "
    "check for degenerate data."
)

_INITIALIZATIONS = ("kmeans", "random", "random_from_data", "k-means++", "k-means||", "kmeans-of-tenth")
_ALGORITHMS = ("batch", "incremental", "asynchronous", "stepwise")


class GaussianMixture(DensityMixin, BaseEstimator):
    """A mixture of Gaussians, fitted by expectation-maximisation.

    The constructor, the attributes and the methods are those of :class:`sklearn.mixture.GaussianMixture`; what is added
    comes last. Rows are read where they lie when they are float32 or float64 with contiguous columns, and converted
    piece by piece otherwise; nothing of the size rows x components is ever held except results that you ask for. The
    same data, seed and parameters give the same bits with any number of threads.

    Parameters
    ----------
    n_components : int, default=1
        Number of components K.
    covariance_type : {'full', 'tied', 'diag', 'spherical'}, default='full'
        A matrix for each component, one matrix for all, a diagonal each, or a variance each.
    tol : float, default=1e-3
        Iterations stop when the mean log-likelihood changes by less than this; 0 runs ``max_iter`` of them.
    reg_covar : float, default=1e-6
        Added to the diagonal of every covariance, in the data's units squared.
    max_iter : int, default=100
        Most iterations of one initialization; 0 returns the initial model.
    n_init : int, default=1
        Initializations; the fit with the greatest log-likelihood is kept.
    init_params : {'kmeans', 'k-means++', 'random', 'random_from_data', 'k-means||', 'kmeans-of-tenth'}, default='kmeans'
        'kmeans' takes weights, means and covariances from a clustering, 'random' from random responsibilities.
        'k-means++' and 'random_from_data' choose rows as means, with equal weights and covariances of
        ``reg_covar`` * I, so that the first iteration gives each row to the nearest of them. 'k-means||' chooses means by
        Bahmani et al. (2012), with the variances of the whole data's columns, and 'kmeans-of-tenth' by k-means on a
        random tenth of the rows.
    weights_init : array-like of shape (n_components,), default=None
        Initial weights; with any of the three, the others come from ``init_params``.
    means_init : array-like of shape (n_components, n_features), default=None
        Initial means.
    precisions_init : array-like, default=None
        Inverses of the initial covariances, in the shape of ``precisions_``.
    random_state : int, RandomState instance or None, default=None
        Seed of the initialization and of :meth:`sample`. An int is the seed of the command line and of C++ too.
    warm_start : bool, default=False
        Start each fit from the model of the last.
    verbose : int, default=0
        Print the log-likelihood every ``verbose_interval`` iterations.
    verbose_interval : int, default=10
        Iterations between two lines.
    step_decay : float, default=0.6
        The exponent kappa of :meth:`partial_fit` and of ``algorithm='stepwise'``, in (0.5, 1].
    algorithm : {'batch', 'incremental', 'asynchronous', 'stepwise'}, default='batch'
        How often the model moves during a pass over the rows, which is one iteration. 'batch' moves it once.
        'incremental' (Neal & Hinton 1998) moves it after every superchunk of rows, with what those rows contributed
        before taken out; the same bits for any number of threads. 'asynchronous' does the same by threads that do not
        wait for each other: several threads repeat a result in distribution only, GPUs, whose order is fixed, to the
        bit. 'stepwise' (Cappe & Moulines 2009) takes decaying steps, and approaches a maximum without reaching
        it. With all but 'batch', ``lower_bounds_`` are figures of the rows under the models that they met.
    acceleration : {'squarem'} or None, default=None
        'squarem' (Varadhan & Roland 2008) extrapolates the models of 'batch', and drops one that explains the rows
        worse: fewer iterations where components overlap.
    chunk_rows : int or None, default=None
        Rows of a chunk, whose statistics every algorithm but 'batch' keeps or sums; None chooses by the shape of
        the data. On GPUs a multiple of 4096, unless each shard of the rows (data below 512 MiB
        are one shard) is one chunk.
    superchunks : int or None, default=None
        Times that the model of those algorithms moves in a pass, at most 512 on GPUs. None is 32, fewer for few rows;
        on GPUs 2 to 32 by the size of the data, and 16 for 'stepwise'.
    threshold : float, default=0.0
        'asynchronous' leaves out chunks whose responsibilities moved by no more than this for each unit of weight.
    async_em_2013 : bool, default=False
        Fit as Altinigneli, Plant & Boehm (KDD 2013) do: their parameters take the place of ``algorithm``,
        ``chunk_rows``, ``superchunks``, ``threshold``, ``init_params``, ``max_iter`` and ``tol``.
    device : str or None, default=None
        Where fits and predictions run: 'cpu', 'cuda', 'cuda:1', 'cuda:0,1', 'cuda:all' or 'auto'. None is the device
        that the data lie on.
    precision : {'auto', 'float32', 'float64', 'tf32', 'bf16'}, default='auto'
        The scalar of the arithmetic on rows; 'auto' is float32 for float32 and float16 data, else float64. 'tf32' and
        'bf16' allow CUDA devices to round the factors of products of float32 rows to 11 and 8 bits. Sums of many
        rows and all parameters are float64 in any case.
    threads : int or None, default=None
        Threads to use. None: as many as threadpoolctl, the variables ``SHOAL_THREADS`` or ``OMP_NUM_THREADS``, or the
        processors that the process may use allow, and one where more would not pay.
    memory_limit : int or None, default=None
        Bytes for the buffers of rows that cannot be read in place. A mapped file larger than this (256 MiB for None) is
        read piece by piece and never resident as a whole.
    checkpoint : str, os.PathLike or None, default=None
        A file that the fit is saved to as it goes, at most once a second, and resumed from.
    callback : callable or None, default=None
        Called with a :class:`shoal.Progress` after each iteration; what it raises ends the fit.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Weights of the components.
    means_ : ndarray of shape (n_components, n_features)
        Means, in float64 whatever the data.
    covariances_ : ndarray
        Covariances: (K, d, d) full, (d, d) tied, (K, d) diag, (K,) spherical.
    precisions_, precisions_cholesky_ : ndarray
        Inverses of the covariances, and their upper triangular factors U with precision = U U^T (diag and spherical:
        inverse standard deviations).
    converged_ : bool
        Whether the stop rule was met before ``max_iter``.
    n_iter_ : int
        Iterations of the fit that was kept.
    seeding_seconds_ : float
        Time to choose where the fit starts, of all initializations; :meth:`fit` sets it.
    lower_bound_ : float
        Mean log-likelihood of the model that the last iteration started from, per unit of weight.
    lower_bounds_ : list of float
        The same for every iteration.
    n_reseeded_ : int
        Components that lost all their rows and were given the row that fitted worst.
    n_steps_ : int
        Batches that :meth:`partial_fit` has taken; a fit counts as one.
    weight_seen_ : float
        What the rows of these batches weigh: their number, or the sum of their weights.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import GaussianMixture
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> mixture = GaussianMixture(n_components=2, random_state=0).fit(X)
    >>> sorted(mixture.means_[:, 0].round(6).tolist())
    [1.0, 10.0]
    """

    # Where the figure that iterations improve is kept, and what it is called.
    _objective = ("lower_bounds_", "mean log-likelihood")

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions({"full", "tied", "diag", "spherical"})],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init_params": [StrOptions(set(_INITIALIZATIONS))],
        "weights_init": ["array-like", None],
        "means_init": ["array-like", None],
        "precisions_init": ["array-like", None],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "verbose_interval": [Interval(Integral, 1, None, closed="left")],
        "step_decay": [Interval(Real, 0.5, 1, closed="right")],
        "algorithm": [StrOptions(set(_ALGORITHMS))],
        "acceleration": [StrOptions({"squarem"}), None],
        "chunk_rows": [Interval(Integral, 1, None, closed="left"), None],
        "superchunks": [Interval(Integral, 1, None, closed="left"), None],
        "threshold": [Interval(Real, 0.0, None, closed="left")],
        "async_em_2013": ["boolean"],
        **RUNNING_CONSTRAINTS,
    }

    def __init__(
        self,
        n_components=1,
        *,
        covariance_type="full",
        tol=1e-3,
        reg_covar=1e-6,
        max_iter=100,
        n_init=1,
        init_params="kmeans",
        weights_init=None,
        means_init=None,
        precisions_init=None,
        random_state=None,
        warm_start=False,
        verbose=0,
        verbose_interval=10,
        step_decay=0.6,
        algorithm="batch",
        acceleration=None,
        chunk_rows=None,
        superchunks=None,
        threshold=0.0,
        async_em_2013=False,
        device=None,
        precision="auto",
        threads=None,
        memory_limit=None,
        checkpoint=None,
        callback=None,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.step_decay = step_decay
        self.algorithm = algorithm
        self.acceleration = acceleration
        self.chunk_rows = chunk_rows
        self.superchunks = superchunks
        self.threshold = threshold
        self.async_em_2013 = async_em_2013
        self.device = device
        self.precision = precision
        self.threads = threads
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.callback = callback

    # Fitting

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Fits the mixture.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, at least as many as components.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weights, not negative. A weight of two is the same as the row twice.

        Returns
        -------
        self : GaussianMixture

        Raises
        ------
        ValueError
            When a parameter is out of its range, when there are fewer rows than components, for values or weights that
            cannot be used (with the first row that has one), and when a covariance collapses (with its component).
        NotImplementedError
            When ``device`` names a GPU and the package was built without CUDA.
        """
        self._fit(X, sample_weight, None)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_predict(self, X, y=None, sample_weight=None):
        """Fits the mixture and returns the component of each row; the same as ``fit(X).predict(X)``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, at least as many as components.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weights, not negative. A weight of two is the same as the row twice.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32

        Raises
        ------
        ValueError, NotImplementedError
            As :meth:`fit`.
        """
        return self._fit(X, sample_weight, np.int32)

    def _fit(self, X, sample_weight, labels_type):
        self._check_algorithm()
        data = read(self, X, reset=True, sample_weight=sample_weight)
        require_rows(data.count, self.n_components)
        warm = self.warm_start and hasattr(self, "converged_")
        labels = None if labels_type is None else data.empty(data.count, labels_type)
        with named_errors():
            fitted = self._resumed(data, labels) if warm else self._from_scratch(data, labels)
        self._take(fitted)
        self.n_steps_ = 1
        self.weight_seen_ = float(fitted["total_weight"])
        if not self.converged_ and self.max_iter > 0:
            warnings.warn(_NOT_CONVERGED, ConvergenceWarning, stacklevel=4)
        return labels

    def _check_algorithm(self) -> None:
        if self.acceleration is not None and self.algorithm != "batch":
            raise ValueError(f"acceleration={self.acceleration!r} needs algorithm='batch'; got {self.algorithm!r}")
        if self.async_em_2013 and (self.algorithm not in ("batch", "asynchronous") or self.acceleration is not None):
            raise ValueError("async_em_2013=True needs algorithm='asynchronous' or 'batch', and acceleration=None")
        if self.threshold > 0 and self.algorithm != "asynchronous" and not self.async_em_2013:
            raise ValueError(f"threshold needs algorithm='asynchronous'; got {self.algorithm!r}")

    # What shoal.statistics asks of an estimator

    _family = "gmm"

    def _require_fold(self) -> None:
        name = "asynchronous" if self.async_em_2013 else self.algorithm
        if name != "batch":
            raise ValueError(
                f"statistics need algorithm='batch'; got {name!r}, whose model moves within a pass over the rows"
            )

    def _model(self) -> tuple[tuple, dict]:
        return (self.covariance_type, *_model_arrays(self.weights_, self.means_, self.covariances_)), {}

    def _maximise_options(self, epoch) -> dict:
        return {"regularization": float(self.reg_covar)}

    def _take_maximised(self, made) -> None:
        self._take_model(made)

    def _resumed(self, data: Data, labels) -> dict:
        start = (self.weights_, self.means_, self.covariances_)
        # None after max_iter=0, which compared nothing.
        before = self.lower_bound_ if math.isfinite(self.lower_bound_) else None
        return self._run(data, labels, init="model", start=start, previous=before)

    def _from_scratch(self, data: Data, labels) -> dict:
        given = self._given(data.columns)
        seed = seed_of(self.random_state)
        if all(part is not None for part in given):
            return self._run(data, labels, init="model", start=given)
        points = self.init_params in ("k-means++", "random_from_data")
        if not points and all(part is None for part in given):
            return self._run(data, labels, init=self.init_params, seed=seed, restarts=self.n_init)
        # The library's first model with some of its parts replaced, one initialization after another.
        best: dict = {}
        for restart in range(self.n_init):
            first = self._run(data, None, init=self.init_params, seed=nth_seed(seed, restart), max_iter=0, quiet=True)
            weights, means, covariances = first["weights"], first["means"], first["covariances"]
            if points:
                covariances = self._smallest_covariances(data.columns)
            start = [mine if mine is not None else theirs for mine, theirs in zip(given, (weights, means, covariances))]
            fitted = self._run(data, None, init="model", start=start)
            if not best or fitted["mean_log_likelihood"] > best["mean_log_likelihood"]:
                best = fitted
        if labels is not None:
            self._predict_into(data, best, labels=labels)
        return best

    def _smallest_covariances(self, columns: int) -> np.ndarray:
        if self.reg_covar == 0:
            raise ValueError(f"{ILL_DEFINED} (init_params={self.init_params!r} starts from covariances of reg_covar.)")
        kind, K = self.covariance_type, self.n_components
        if kind == "spherical":
            return np.full(K, float(self.reg_covar))
        if kind == "diag":
            return np.full((K, columns), float(self.reg_covar))
        matrix = float(self.reg_covar) * np.eye(columns)
        return matrix if kind == "tied" else np.tile(matrix, (K, 1, 1))

    def _run(self, data, labels, *, init, start=None, seed=0, restarts=1, previous=None, max_iter=None, quiet=False):
        if start is not None:
            start = tuple(np.ascontiguousarray(part, dtype=np.float64) for part in start)
        iterations = int(self.max_iter if max_iter is None else max_iter)
        report = None
        if not quiet:
            report = reporter(self.callback, self.verbose, self.verbose_interval, self._objective[1])
        return _shoal.gmm_fit(
            data.rows,
            components=self.n_components,
            covariance_type=self.covariance_type,
            init=init,
            start=start,
            max_iterations=iterations,
            tolerance=self.tol,
            regularization=self.reg_covar,
            restarts=restarts,
            seed=seed,
            previous_log_likelihood=previous,
            algorithm=self.algorithm,
            acceleration=self.acceleration or "none",
            chunk_rows=self.chunk_rows or 0,
            superchunks=self.superchunks or 0,
            threshold=float(self.threshold),
            step_exponent=float(self.step_decay),
            async_em_2013=bool(self.async_em_2013),
            checkpoint="" if quiet else checkpoint_of(self),
            labels=labels,
            report=report,
            **resources(self, data, self.n_components, iterations * int(restarts)),
        )

    def _given(self, columns: int) -> tuple:
        """weights_init, means_init and the covariances of precisions_init, checked; None where not given."""
        K, kind = self.n_components, self.covariance_type
        weights = means = covariances = None
        if self.weights_init is not None:
            weights = _parameter(self.weights_init, "weights_init")
            _require_shape(weights, (K,), "weights")
            if np.any(weights < 0) or np.any(weights > 1):
                raise ValueError(
                    "The parameter 'weights' should be in the range [0, 1], but got max value "
                    f"{weights.min():.5f}, min value {weights.max():.5f}"
                )
            if abs(weights.sum() - 1) > 1e-6:
                raise ValueError(
                    f"The parameter 'weights' should be normalized, but got sum(weights) = {weights.sum():.5f}"
                )
        if self.means_init is not None:
            means = _parameter(self.means_init, "means_init")
            _require_shape(means, (K, columns), "means")
        if self.precisions_init is not None:
            precisions = _parameter(self.precisions_init, "precisions_init")
            _require_shape(precisions, covariance_shape(kind, K, columns), f"{kind} precision")
            covariances = inverted(precisions, kind)
        return weights, means, covariances

    def _take(self, fitted: dict) -> None:
        self._take_model(fitted)
        history = fitted["history"].tolist()
        self.converged_ = bool(fitted["converged"])
        self.n_iter_ = int(fitted["iterations"])
        self.seeding_seconds_ = float(fitted["seeding_seconds"])
        self.lower_bounds_ = history
        self.lower_bound_ = history[-1] if history else -np.inf
        self.n_reseeded_ = int(fitted["reseeded"])
        self._criteria = {name: fitted[name] for name in ("bic", "aic", "mean_log_likelihood")}

    def _take_model(self, fitted: dict) -> None:
        self.weights_ = fitted["weights"]
        self.means_ = fitted["means"]
        self.covariances_ = fitted["covariances"]
        self.precisions_cholesky_ = precision_factors(self.covariances_, self.covariance_type)
        if self.covariance_type in ("full", "tied"):
            self.precisions_ = self.precisions_cholesky_ @ np.swapaxes(self.precisions_cholesky_, -1, -2)
        else:
            self.precisions_ = self.precisions_cholesky_**2

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Takes one batch of rows into the model, by stepwise EM (Cappe & Moulines 2009).

        With s the expected sufficient statistics per unit of weight that the model stands for (weights, first and
        second moments: all that EM knows of the rows), a batch moves it to (1 - eta) s + eta s(batch), and the model is
        maximised over s again. The step eta is (t + 1) ** -step_decay for batch t = 0, 1, ... if it weighs as much as
        the mean of all so far, this one among them, in proportion if it weighs more or less, and at most 1: the last
        short batch of a loader moves the model little. The first batch starts the model by ``init_params`` and is taken
        whole, and with ``step_decay=1`` all rows weigh alike. After :meth:`fit`, whose rows count as one batch, the next
        is t = 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The batch; the first one needs at least as many rows as components.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weights of the rows, in the same unit for all batches.

        Returns
        -------
        self : GaussianMixture
            ``lower_bound_`` is then the mean log-likelihood of the batch before it was taken in.

        Raises
        ------
        ValueError, NotImplementedError
            As :meth:`fit`; the model is then as it was.
        """
        first = not hasattr(self, "weights_")
        data = read(self, X, reset=first, sample_weight=sample_weight)
        with named_errors():
            if first:
                require_rows(data.count, self.n_components)
                started = GaussianMixture(**{**self.get_params(deep=False), "max_iter": 0, "checkpoint": None})
                fitted = started._from_scratch(data, None)
                batches, weight_seen = 0, 0.0
            else:
                self._check_same_model()
                fitted = {"weights": self.weights_, "means": self.means_, "covariances": self.covariances_}
                batches, weight_seen = self.n_steps_, self.weight_seen_
            moved = _shoal.gmm_update(
                data.rows,
                self.covariance_type,
                *_model_arrays(fitted["weights"], fitted["means"], fitted["covariances"]),
                step_size=(batches + 1) ** -float(self.step_decay),
                batches=batches,
                weight_seen=weight_seen,
                regularization=self.reg_covar,
                **resources(self, data, self.n_components),
            )
        self._take_model(moved)
        self.n_iter_ = self.n_steps_ = batches + 1
        self.weight_seen_ = moved["weight_seen"]
        self.converged_ = False
        self.lower_bound_ = moved["mean_log_likelihood"]
        self.lower_bounds_ = [*getattr(self, "lower_bounds_", []), self.lower_bound_]
        return self

    def _check_same_model(self) -> None:
        held, wanted = len(self.weights_), self.n_components
        if held != wanted:
            raise ValueError(f"n_components is {wanted}, but partial_fit began with {held}: {START_AGAIN}")
        if self.covariances_.shape != covariance_shape(self.covariance_type, held, self.means_.shape[1]):
            kind = self.covariance_type
            raise ValueError(f"covariance_type is {kind!r} now, not what partial_fit began with: {START_AGAIN}")

    # Using the model

    def predict(self, X):
        """The component of each row: the one with the greatest responsibility.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of the fit.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32

        Raises
        ------
        sklearn.exceptions.NotFittedError
            When there is no model yet.
        ValueError
            When X has other columns than the fit, or a value that is not finite.
        """
        data = self._read_fitted(X)
        labels = data.empty(data.count, np.int32)
        self._predict_into(data, labels=labels)
        return labels

    def predict_proba(self, X):
        """The responsibilities of the components for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of the fit.

        Returns
        -------
        responsibilities : ndarray of shape (n_samples, n_components)
            Rows sum to one; float32 for float32 data.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            When there is no model yet.
        ValueError
            When X has other columns than the fit, or a value that is not finite.
        """
        data = self._read_fitted(X)
        probabilities = data.empty((data.count, len(self.weights_)), data.dtype)
        self._predict_into(data, probabilities=probabilities)
        return probabilities

    def score_samples(self, X):
        """The log-density of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of the fit.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)

        Raises
        ------
        sklearn.exceptions.NotFittedError
            When there is no model yet.
        ValueError
            When X has other columns than the fit, or a value that is not finite.
        """
        data = self._read_fitted(X)
        density = data.empty(data.count, data.dtype)
        self._predict_into(data, log_density=density)
        return density

    def score(self, X, y=None, sample_weight=None):
        """The mean log-density of the rows, per unit of weight.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of the fit.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weights of the rows.

        Returns
        -------
        score : float

        Raises
        ------
        sklearn.exceptions.NotFittedError
            When there is no model yet.
        ValueError
            When X has other columns than the fit, or a value that is not finite.
        """
        return self._predict_into(self._read_fitted(X, sample_weight))

    def _read_fitted(self, X, sample_weight=None) -> Data:
        if "weights_" not in self.__dict__:
            check_is_fitted(self)
        return read(self, X, reset=False, sample_weight=sample_weight)

    def _predict_into(self, data, model=None, **outputs) -> float:
        if model is None:
            parts = (self.weights_, self.means_, self.covariances_)
        else:
            parts = (model["weights"], model["means"], model["covariances"])
        with named_errors():
            return _shoal.gmm_predict(
                data.rows,
                self.covariance_type,
                *_model_arrays(*parts),
                **{**resources(self, data, len(parts[0])), **outputs},
            )

    def sample(self, n_samples=1):
        """Draws rows from the mixture.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows, ordered by component as in scikit-learn. With the same seed a longer sample holds the rows of a shorter
            one.
        y : ndarray of shape (n_samples,), int32
            Their components.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"Invalid value for 'n_samples': {n_samples} . The sampling requires at least one sample.")
        X, y = draw(self.covariance_type, self.weights_, self.means_, self.covariances_, n_samples, self.random_state)
        order = np.argsort(y, kind="stable")
        return X[order], y[order]

    def bic(self, X):
        """The Bayesian information criterion on rows: -2 log-likelihood + parameters * ln(rows). Less is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of the fit.

        Returns
        -------
        bic : float
            Each row counts once. :func:`shoal.select_components` counts weights.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            When there is no model yet.
        ValueError
            When X has other columns than the fit, or a value that is not finite.
        """
        data = self._read_fitted(X)
        return -2 * self._predict_into(data) * data.count + self._n_parameters() * math.log(data.count)

    def aic(self, X):
        """Akaike's information criterion on rows: -2 log-likelihood + 2 parameters. Less is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of the fit.

        Returns
        -------
        aic : float
            Each row counts once. :func:`shoal.select_components` counts weights.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            When there is no model yet.
        ValueError
            When X has other columns than the fit, or a value that is not finite.
        """
        data = self._read_fitted(X)
        return -2 * self._predict_into(data) * data.count + 2 * self._n_parameters()

    def _n_parameters(self) -> int:
        """Free parameters: those of the covariances, the means, and all weights but one."""
        K, d = self.means_.shape
        covariances = {
            "full": K * d * (d + 1) // 2,
            "tied": d * (d + 1) // 2,
            "diag": K * d,
            "spherical": K,
        }[self.covariance_type]
        return covariances + K * d + K - 1


def require_rows(rows: int, components: int) -> None:
    """Refuses fewer rows than components."""
    if rows < components:
        raise ValueError(
            f"Expected n_samples >= n_components but got n_components = {components}, n_samples = {rows}"
        )


def draw(kind, weights, means, covariances, count, random_state):
    """Rows of a mixture and their components, in the order in which they are drawn."""
    X = np.empty((int(count), means.shape[1]))
    y = np.empty(int(count), np.int32)
    _shoal.gmm_sample(
        kind, *_model_arrays(weights, means, covariances), seed=seed_of(random_state), first=0, out=X, labels=y
    )
    return X, y


def _model_arrays(weights, means, covariances) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        np.ascontiguousarray(weights, dtype=np.float64),
        np.ascontiguousarray(means, dtype=np.float64),
        np.ascontiguousarray(covariances, dtype=np.float64),
    )


def _parameter(given, name: str) -> np.ndarray:
    """A parameter of the user's, wherever it lies, in float64 on the host."""
    given = device_arrays.copied_to_host(given)
    return check_array(given, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name=name)


def _require_shape(array, shape, name) -> None:
    if array.shape != shape:
        raise ValueError(f"The parameter '{name}' should have the shape of {shape}, but got {array.shape}")
