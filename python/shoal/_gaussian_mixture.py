"""GaussianMixture: scikit-learn's estimator on shoal's folds."""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from . import _shoal
from ._covariances import covariance_shape
from ._input import read
from ._mixture_fit import check_algorithm, from_scratch, require_rows, resumed
from ._mixture_model import MixtureModel, model_arrays
from ._running import RUNNING_CONSTRAINTS, START_AGAIN, named_errors, resources, whole_numbers_from

# The sentence that users of scikit-learn filter warnings by.
_NOT_CONVERGED = (
    "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, or "
    "check for degenerate data."
)

_INITIALIZATIONS = ("kmeans", "random", "random_from_data", "k-means++", "k-means||", "kmeans-of-tenth")
_ALGORITHMS = ("batch", "incremental", "asynchronous", "stepwise")


class GaussianMixture(MixtureModel, DensityMixin, BaseEstimator):
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
        Where fits and predictions run: 'cpu', 'cuda', 'cuda:1', 'cuda:0,1', 'cuda:all', 'cuda:local' or 'auto'. None is
        the device that the data lie on.
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
        "n_components": [whole_numbers_from(1)],
        "covariance_type": [StrOptions({"full", "tied", "diag", "spherical"})],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [whole_numbers_from(0)],
        "n_init": [whole_numbers_from(1)],
        "init_params": [StrOptions(set(_INITIALIZATIONS))],
        "weights_init": ["array-like", None],
        "means_init": ["array-like", None],
        "precisions_init": ["array-like", None],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "verbose_interval": [whole_numbers_from(1)],
        "step_decay": [Interval(Real, 0.5, 1, closed="right")],
        "algorithm": [StrOptions(set(_ALGORITHMS))],
        "acceleration": [StrOptions({"squarem"}), None],
        "chunk_rows": [whole_numbers_from(1), None],
        "superchunks": [whole_numbers_from(1), None],
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
        check_algorithm(self)
        data = read(self, X, reset=True, sample_weight=sample_weight)
        require_rows(data.count, self.n_components)
        warm = self.warm_start and hasattr(self, "converged_")
        labels = None if labels_type is None else data.empty(data.count, labels_type)
        with named_errors():
            fitted = resumed(self, data, labels) if warm else from_scratch(self, data, labels)
        self._take(fitted)
        self.n_steps_ = 1
        self.weight_seen_ = float(fitted["total_weight"])
        if not self.converged_ and self.max_iter > 0:
            warnings.warn(_NOT_CONVERGED, ConvergenceWarning, stacklevel=4)
        return labels

    def _require_fold(self) -> None:
        name = "asynchronous" if self.async_em_2013 else self.algorithm
        if name != "batch":
            raise ValueError(
                f"statistics need algorithm='batch'; got {name!r}, whose model moves within a pass over the rows"
            )

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
                fitted = from_scratch(started, data, None)
                batches, weight_seen = 0, 0.0
            else:
                self._check_same_model()
                fitted = {"weights": self.weights_, "means": self.means_, "covariances": self.covariances_}
                batches, weight_seen = self.n_steps_, self.weight_seen_
            moved = _shoal.gmm_update(
                data.rows,
                self.covariance_type,
                *model_arrays(fitted["weights"], fitted["means"], fitted["covariances"]),
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
