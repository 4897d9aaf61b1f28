"""KMeans and kmeans_plusplus: scikit-learn's interface on shoal's folds."""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params
from sklearn.utils.validation import check_is_fitted

from . import _shoal
from . import _device_arrays as device_arrays
from ._input import Data, as_data, device_data, on_host, read, refuse_masked
from ._running import (
    RUNNING_CONSTRAINTS,
    START_AGAIN,
    checkpoint_of,
    named_errors,
    reporter,
    resources,
    seed_of,
    warn_of_scales,
    whole_numbers_from,
)


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """k-means clustering by Lloyd's algorithm.

    The constructor, the attributes and the methods are those of :class:`sklearn.cluster.KMeans`, and ``partial_fit`` is
    that of its ``MiniBatchKMeans``; what is added comes last. Rows are read where they lie when they are float32 or
    float64 with contiguous columns, and converted piece by piece otherwise. The same data, seed and parameters give the
    same bits with any number of threads.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    init : {'k-means++', 'random', 'k-means||', 'auto'}, callable or array-like of shape (n_clusters, n_features), \
default='k-means++'
        First centroids: greedy k-means++ (2 + ln K trials a step), distinct rows drawn by weight, k-means|| of Bahmani
        et al. (2012), k-means|| where it is much cheaper at equal quality (from 64 clusters and 2**24 pairs of a row and a
        cluster on) and else k-means++, what ``init(X, n_clusters, random_state)`` returns, or these.
    n_init : 'auto' or int, default='auto'
        Initializations; the fit with the least inertia is kept. 'auto' is 10 for 'random' and callables, else 1.
    max_iter : int, default=300
        Most iterations of one initialization.
    tol : float, default=1e-4
        Iterations stop when the squared shifts of all centroids sum to at most this part of the mean variance of the
        columns, and always when no label changes.
    verbose : int, default=0
        Print the inertia after every iteration.
    random_state : int, RandomState instance or None, default=None
        Seed of the initialization. An int is the seed of the command line and of C++ too.
    copy_x : bool, default=True
        Has no effect: the data are never changed, and never copied when they need not be.
    algorithm : {'lloyd', 'elkan'}, default='lloyd'
        Has no effect on the result, as in scikit-learn, nor on the time: bounds are kept where they pay.
    device : str or None, default=None
        Where fits and predictions run: 'cpu', 'cuda', 'cuda:1', 'cuda:0,1', 'cuda:all', 'cuda:local' or 'auto'. None is
        the device that the data lie on.
    precision : {'auto', 'float32', 'float64', 'tf32', 'bf16'}, default='auto'
        The scalar of the arithmetic on rows; 'auto' is float32 for float32 and float16 data, else float64. 'tf32' and
        'bf16' allow CUDA devices to round the factors of products of float32 rows to 11 and 8 bits. Sums of many
        rows and the centroids are float64 in any case.
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
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centroids, in float64 whatever the data.
    labels_ : ndarray of shape (n_samples,), int32
        The nearest of ``cluster_centers_`` for each row, the lowest index on a tie.
    inertia_ : float
        Sum of weighted squared distances of the rows to their centroids.
    n_iter_ : int
        Iterations of the fit that was kept.
    seeding_seconds_ : float
        Time to choose where the fit starts, of all initializations; :meth:`fit` sets it.
    inertias_ : list of float
        Inertia of the centroids that each iteration started from.
    counts_ : ndarray of shape (n_clusters,)
        Weight of all rows that each centroid is the mean of; what :meth:`partial_fit` goes on from.
    n_steps_ : int
        Batches that :meth:`partial_fit` has taken.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import KMeans
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> kmeans = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> sorted(kmeans.cluster_centers_.tolist())
    [[1.0, 2.0], [10.0, 2.0]]
    """

    # Where the figure that iterations improve is kept, and what it is called.
    _objective = ("inertias_", "inertia")

    _parameter_constraints: dict = {
        "n_clusters": [whole_numbers_from(1)],
        "init": [StrOptions({"k-means++", "random", "k-means||", "auto"}), callable, "array-like"],
        "n_init": [StrOptions({"auto"}), whole_numbers_from(1)],
        "max_iter": [whole_numbers_from(1)],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"lloyd", "elkan"})],
        **RUNNING_CONSTRAINTS,
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        init="k-means++",
        n_init="auto",
        max_iter=300,
        tol=1e-4,
        verbose=0,
        random_state=None,
        copy_x=True,
        algorithm="lloyd",
        device=None,
        precision="auto",
        threads=None,
        memory_limit=None,
        checkpoint=None,
        callback=None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.device = device
        self.precision = precision
        self.threads = threads
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.callback = callback

    # Fitting

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Fits the centroids.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, at least as many as clusters.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weights, not negative. A weight of two is the same as the row twice.

        Returns
        -------
        self : KMeans

        Raises
        ------
        ValueError
            When a parameter is out of its range, when there are fewer rows than clusters, for values or weights that
            cannot be used (with the first row that has one).
        NotImplementedError
            When ``device`` names a GPU and the package was built without CUDA.
        """
        data = read(self, X, reset=True, sample_weight=sample_weight)
        self._check_count(data)
        if self.algorithm == "elkan" and self.n_clusters == 1:
            warnings.warn(
                "algorithm='elkan' doesn't make sense for a single cluster; 'lloyd' is the same",
                RuntimeWarning,
                stacklevel=2,
            )
        self._fit(data)
        distinct = np.count_nonzero(self.counts_)
        if distinct < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({self.n_clusters}). "
                "Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    # What shoal.statistics asks of an estimator

    _family = "kmeans"

    def _require_fold(self) -> None:
        """Lloyd's algorithm is a sum over rows."""

    def _model(self) -> tuple[tuple, dict]:
        return (_numbers(self.cluster_centers_),), {}

    def _maximise_options(self, epoch) -> dict:
        return {}

    def _take_maximised(self, made) -> None:
        self.cluster_centers_ = made
        self._n_features_out = len(made)

    def _check_count(self, data: Data) -> None:
        if data.count < self.n_clusters:
            raise ValueError(f"n_samples={data.count} should be >= n_clusters={self.n_clusters}.")

    def _fit(self, data: Data) -> None:
        labels = data.labels()
        restarts = self._restarts()
        with named_errors():
            if isinstance(self.init, str):
                seed = seed_of(self.random_state)
                best = self._run(data, labels, init=self.init, seed=seed, restarts=restarts)
            elif callable(self.init):
                best = self._best_of_calls(data, labels, restarts)
            else:
                best = self._run(data, labels, init="centroids", centroids=self._checked(self.init, data))
        self.cluster_centers_ = best["centroids"]
        self.labels_ = labels
        self.inertia_ = float(best["inertia"])
        self.n_iter_ = int(best["iterations"])
        self.seeding_seconds_ = float(best["seeding_seconds"])
        warn_of_scales(self, best["column_variances"], stacklevel=5)
        self.inertias_ = best["history"].tolist()
        self.counts_ = best["cluster_weights"]
        self.n_steps_ = 1
        self._n_features_out = self.n_clusters

    def _restarts(self) -> int:
        given = not isinstance(self.init, str) and not callable(self.init)
        if self.n_init == "auto":
            return 10 if callable(self.init) or (isinstance(self.init, str) and self.init == "random") else 1
        if given and self.n_init != 1:
            warnings.warn(
                f"Explicit initial center position passed: performing only one init in {type(self).__name__} instead "
                f"of n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=4,
            )
            return 1
        return self.n_init

    def _best_of_calls(self, data: Data, labels, restarts: int) -> dict:
        random_state = check_random_state(self.random_state)
        best: dict = {}
        for _ in range(restarts):
            centroids = self.init(data.array, self.n_clusters, random_state=random_state)
            tried = data.empty(data.count, np.int32)
            fitted = self._run(data, tried, init="centroids", centroids=self._checked(centroids, data))
            if not best or fitted["inertia"] < best["inertia"]:
                best = fitted
                labels[:] = tried
        return best

    def _checked(self, centroids, data: Data) -> np.ndarray:
        centroids = device_arrays.copied_to_host(centroids)
        centroids = check_array(centroids, dtype=np.float64, order="C", input_name="init")
        if centroids.shape[0] != self.n_clusters:
            raise ValueError(
                f"The shape of the initial centers {centroids.shape} does not match the number of clusters "
                f"{self.n_clusters}."
            )
        if centroids.shape[1] != data.columns:
            raise ValueError(
                f"The shape of the initial centers {centroids.shape} does not match the number of features of the "
                f"data {data.columns}."
            )
        return centroids

    def _run(self, data, labels, *, init, centroids=None, seed=0, restarts=1, max_iter=None) -> dict:
        quiet = max_iter == 0
        iterations = int(self.max_iter if max_iter is None else max_iter)
        return _shoal.kmeans_fit(
            data.rows,
            clusters=self.n_clusters,
            init=init,
            centroids=centroids,
            max_iterations=iterations,
            tolerance=self.tol,
            restarts=restarts,
            seed=seed,
            checkpoint="" if quiet else checkpoint_of(self),
            labels=labels,
            report=None if quiet else reporter(self.callback, self.verbose, 1, self._objective[1]),
            **resources(self, data, self.n_clusters, iterations * int(restarts)),
        )

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Takes one batch of rows into the centroids.

        Each centroid becomes the weighted mean of all rows that it was ever given (Sculley 2010, a batch at a time), with
        exact sums. The first batch chooses the first centroids by ``init``. Centroids without rows stay where they are:
        nothing is moved at random.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The batch; the first one needs at least as many rows as clusters.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weights of the rows.

        Returns
        -------
        self : KMeans
            ``labels_`` and ``inertia_`` are then those of the batch about the centroids that it met.

        Raises
        ------
        ValueError, NotImplementedError
            As :meth:`fit`; the model is then as it was.
        """
        first = not hasattr(self, "cluster_centers_")
        data = read(self, X, reset=first, sample_weight=sample_weight)
        labels = data.empty(data.count, np.int32)
        with named_errors():
            if first:
                self._check_count(data)
                centroids, seen = self._first_centroids(data), np.zeros(self.n_clusters)
            else:
                held = len(self.cluster_centers_)
                if held != self.n_clusters:
                    raise ValueError(f"n_clusters is {self.n_clusters}, but partial_fit began with {held}: {START_AGAIN}")
                centroids, seen = _numbers(self.cluster_centers_), _numbers(self.counts_)
            how = resources(self, data, self.n_clusters)
            moved = _shoal.kmeans_update(data.rows, centroids, seen, labels=labels, **how)
        self.cluster_centers_ = moved["centroids"]
        self.counts_ = moved["seen"]
        self.inertia_ = moved["inertia"]
        self.labels_ = labels
        self.n_steps_ = 1 if first else self.n_steps_ + 1
        self.n_iter_ = self.n_steps_
        self._n_features_out = self.n_clusters
        return self

    def _first_centroids(self, data: Data) -> np.ndarray:
        if isinstance(self.init, str):
            return self._run(data, None, init=self.init, seed=seed_of(self.random_state), max_iter=0)["centroids"]
        if callable(self.init):
            random_state = check_random_state(self.random_state)
            return self._checked(self.init(data.array, self.n_clusters, random_state=random_state), data)
        return self._checked(self.init, data)

    def fit_predict(self, X, y=None, sample_weight=None):
        """Fits the centroids and returns ``labels_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, at least as many as clusters.
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
        return self.fit(X, sample_weight=sample_weight).labels_

    def fit_transform(self, X, y=None, sample_weight=None):
        """Fits the centroids and returns the rows' distances to them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, at least as many as clusters.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weights, not negative. A weight of two is the same as the row twice.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            In the data's units.

        Raises
        ------
        ValueError, NotImplementedError
            As :meth:`fit`.
        """
        return self.fit(X, sample_weight=sample_weight).transform(X)

    # Using the model

    def predict(self, X):
        """The nearest centroid of each row, the lowest index on a tie.

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
        self._predict_into(data, labels)
        return labels

    def transform(self, X):
        """The distance of each row to every centroid.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of the fit.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            In the data's units; float32 for float32 data.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            When there is no model yet.
        ValueError
            When X has other columns than the fit, or a value that is not finite.
        """
        data = self._read_fitted(X)
        centroids = _numbers(self.cluster_centers_)
        distances = data.empty((data.count, len(centroids)), data.dtype)
        how = resources(self, data, len(centroids))
        with named_errors():
            _shoal.kmeans_distances(data.rows, centroids, distances=distances, **how)
        return distances

    def score(self, X, y=None, sample_weight=None):
        """Minus the inertia of the rows.

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
            In squared units of the data, at most 0.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            When there is no model yet.
        ValueError
            When X has other columns than the fit, or a value that is not finite.
        """
        return -self._predict_into(self._read_fitted(X, sample_weight), None)

    def _read_fitted(self, X, sample_weight=None) -> Data:
        if "cluster_centers_" not in self.__dict__:
            check_is_fitted(self)
        return read(self, X, reset=False, sample_weight=sample_weight)

    def _predict_into(self, data: Data, labels) -> float:
        centroids = _numbers(self.cluster_centers_)
        with named_errors():
            return _shoal.kmeans_predict(data.rows, centroids, labels=labels, **resources(self, data, len(centroids)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@validate_params(
    {
        "X": "no_validation",
        "n_clusters": [whole_numbers_from(1)],
        "sample_weight": ["array-like", None],
        "x_squared_norms": ["array-like", None],
        "random_state": ["random_state"],
        "n_local_trials": [whole_numbers_from(1), None],
    },
    prefer_skip_nested_validation=True,
)
def kmeans_plusplus(X, n_clusters, *, sample_weight=None, x_squared_norms=None, random_state=None, n_local_trials=None):
    """Chooses rows as first centroids by greedy k-means++ (Arthur & Vassilvitskii 2007).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows to choose from.
    n_clusters : int
        How many to choose.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights; rows of weight zero are never chosen.
    x_squared_norms : array-like of shape (n_samples,) or None, default=None
        Not used; only its length is checked.
    random_state : int, RandomState instance or None, default=None
        Seed.
    n_local_trials : int or None, default=None
        Rows drawn in each step, of which the best is kept; None draws 2 + floor(ln n_clusters).

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
        The chosen rows, in X's dtype; for rows on a GPU an array of the same library there.
    indices : ndarray of shape (n_clusters,)
        Their places in X, on the same device as X.

    Raises
    ------
    ValueError
        When a parameter is out of its range, when there are fewer rows than clusters, and for values or weights that
        cannot be used (with the first row that has one).
    """
    refuse_masked(X, "X")
    if device_arrays.on_device(X):
        data = device_data(X, sample_weight, "auto")
    else:
        array = check_array(on_host(X), dtype="numeric", ensure_all_finite=False, input_name="X")
        data = as_data(array, sample_weight, "auto", None)
    if data.count < n_clusters:
        raise ValueError(f"n_samples={data.count} should be >= n_clusters={n_clusters}.")
    if x_squared_norms is not None and len(x_squared_norms) != data.count:
        raise ValueError(
            f"The length of x_squared_norms {len(x_squared_norms)} should be equal to the length of n_samples "
            f"{data.count}."
        )
    with named_errors():
        chosen = _shoal.kmeans_choose_rows(
            data.rows,
            clusters=n_clusters,
            trials=n_local_trials or 0,
            seed=seed_of(random_state),
            **resources(KMeans(), data, n_clusters),
        )
    if data.device != "cpu":
        return device_arrays.rows_at(data.array, chosen)
    indices = np.array(chosen, dtype=np.intp)
    return array[indices], indices


def _numbers(array) -> np.ndarray:
    return np.ascontiguousarray(array, dtype=np.float64)
