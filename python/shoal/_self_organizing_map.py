"""SelfOrganizingMap: Kohonen's map with scikit-learn's interface on shoal's folds."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _device_arrays as device_arrays
from . import _shoal
from ._input import Data, read
from ._running import (
    RUNNING_CONSTRAINTS,
    checkpoint_of,
    named_errors,
    reporter,
    resources,
    seed_of,
    warn_of_scales,
    whole_numbers_from,
)

DECAYS = StrOptions({"linear", "exponential", "asymptotic"})


class SelfOrganizingMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Self-organizing map (Kohonen 1982): units on a lattice that move among the rows, with neighbours together.

    A map shows data of many columns as a picture of two dimensions: each row belongs to its best-matching unit, and
    neighbouring units stand for similar rows. Training in batches is a fold like every fit of shoal: the same
    data, seed and parameters give the same bits with any number of threads, in memory or streamed.

    Unit u stands in row ``u // width`` and column ``u % width`` of the map.

    Parameters
    ----------
    width : int, default=10
        Units in a row of the map.
    height : int, default=10
        Rows of the map.
    lattice : {'rectangular', 'hexagonal'}, default='rectangular'
        How units lie: at (column, row) with eight neighbours, or with odd rows shifted by half and rows √3/2 apart,
        with six neighbours at distance 1.
    toroidal : bool, default=False
        Whether each edge of the map continues at the opposite one. A hexagonal torus needs an even height.
    metric : {'euclidean', 'taxicab', 'cosine', 'chebyshev'}, default='euclidean'
        Distance between rows and units: ‖x − w‖, Σ|x − w|, 1 − x·w/(‖x‖‖w‖), max|x − w|.
    neighborhood : {'gaussian', 'bubble', 'mexican-hat', 'triangle'}, default='gaussian'
        How much units at distance δ of the best-matching one take part, with radius σ: exp(−δ²/2σ²), 1 where δ ≤ σ,
        (1 − δ²/σ²)·exp(−δ²/2σ²), max(0, 1 − δ/σ).
    cutoff : float, default=0
        Units farther than so many radii take no part; 0 is no cut-off.
    radius : pair of float or None, default=None
        The first and the last radius, in distances of neighbours on the lattice. None is from half the smaller side of
        the map to 1.
    radius_decay : {'linear', 'exponential', 'asymptotic'}, default='linear'
        How the radius goes from first to last.
    training : {'batch', 'online'}, default='batch'
        An epoch as one step for all rows, or a step for each row in a random order, on one thread of the host.
    epochs : int, default=10
        Passes over the rows.
    rate : pair of float, default=(0.5, 0.01)
        Online training: the part of the way to a row that its best-matching unit goes, from first to last.
    rate_decay : {'linear', 'exponential', 'asymptotic'}, default='linear'
        How the rate goes from first to last.
    step_decay : float, default=0.6
        Of :meth:`partial_fit`: batch t = 0, 1, ... takes the units (t + 1) ** -step_decay of the way. 0 is the whole
        way each time.
    init : {'principal-plane', 'sampled-rows', 'random-values'} or array-like of shape (height * width, n_features), \
default='principal-plane'
        First units: on the plane of the rows' first two principal components; rows drawn by weight; uniform between
        each column's extremes; or these.
    verbose : int, default=0
        Print the quantization error after every epoch.
    random_state : int, RandomState instance or None, default=None
        Seed of random first units and of the order of online training. An int is the seed of the command line and of
        C++ too.
    device : str or None, default=None
        Where fits and predictions run: 'cpu', 'cuda', 'cuda:1', 'cuda:0,1', 'cuda:all', 'cuda:local' or 'auto'. None is
        the device that the data lie on.
    precision : {'auto', 'float32', 'float64', 'tf32', 'bf16'}, default='auto'
        The scalar of the arithmetic on rows; 'auto' is float32 for float32 and float16 data, else float64. 'tf32' and
        'bf16' allow CUDA devices to round the factors of products of float32 rows to 11 and 8 bits. Sums of many rows
        and the units are float64 in any case.
    threads : int or None, default=None
        Threads to use. None: as many as threadpoolctl, the variables ``SHOAL_THREADS`` or ``OMP_NUM_THREADS``, or the
        processors that the process may use allow, and one where more would not pay.
    memory_limit : int or None, default=None
        Bytes for the buffers of rows that cannot be read in place. A mapped file larger than this (256 MiB for None) is
        read piece by piece and never resident as a whole.
    checkpoint : str, os.PathLike or None, default=None
        A file that the fit is saved to as it goes, at most once a second, and resumed from.
    callback : callable or None, default=None
        Called with a :class:`shoal.Progress` after each epoch; what it raises ends the fit.

    Attributes
    ----------
    codebook_ : ndarray of shape (height * width, n_features)
        The weights of the units, in the data's units, in float64 whatever the data.
    labels_ : ndarray of shape (n_samples,), int32
        The best-matching unit of each row, the lowest index on a tie.
    quantization_error_ : float
        Weighted mean distance of the rows to their best-matching units, in ``metric``.
    topographic_error_ : float
        Part of the weight of the rows whose two best-matching units are not neighbours on the lattice.
    hits_ : ndarray of shape (height, width)
        Weight of the rows that each unit matches best.
    u_matrix_ : ndarray of shape (height, width)
        Mean distance of each unit to its neighbours on the lattice, in ``metric`` (Ultsch & Siemon 1990).
    quantization_errors_ : list of float
        Quantization error of the map that each epoch, or batch of :meth:`partial_fit`, started from.
    seeding_seconds_ : float
        Time to choose where the fit starts, of all initializations; :meth:`fit` sets it.
    n_iter_ : int
        Epochs, or batches of :meth:`partial_fit`.
    n_steps_ : int
        Batches that :meth:`partial_fit` has taken; a fit counts as ``epochs`` of them.
    weight_seen_ : float
        What the rows of these batches weigh: their number, or the sum of their weights.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    T. Kohonen, "Self-organized formation of topologically correct feature maps", Biological Cybernetics 43, 1982; in
    batches: "Things you haven't heard about the self-organizing map", ICNN 1993.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import SelfOrganizingMap
    >>> colours = np.array([[1, 0, 0], [0.9, 0.1, 0], [0, 0, 1], [0, 0.1, 0.9]])
    >>> som = SelfOrganizingMap(width=4, height=1, random_state=0).fit(colours)
    >>> red, orange, blue, sky = som.predict(colours)
    >>> bool(abs(red - blue) > abs(red - orange))
    True
    """

    # Where the figure that iterations improve is kept, and what it is called.
    _objective = ("quantization_errors_", "quantization error")

    _parameter_constraints: dict = {
        "width": [whole_numbers_from(1)],
        "height": [whole_numbers_from(1)],
        "lattice": [StrOptions({"rectangular", "hexagonal"})],
        "toroidal": ["boolean"],
        "metric": [StrOptions({"euclidean", "taxicab", "cosine", "chebyshev"})],
        "neighborhood": [StrOptions({"gaussian", "bubble", "mexican-hat", "triangle"})],
        "cutoff": [Interval(Real, 0, None, closed="left")],
        "radius": ["array-like", None],
        "radius_decay": [DECAYS],
        "training": [StrOptions({"batch", "online"})],
        "epochs": [whole_numbers_from(1)],
        "rate": ["array-like"],
        "rate_decay": [DECAYS],
        "step_decay": [Interval(Real, 0, 1, closed="both")],
        "init": [StrOptions({"principal-plane", "sampled-rows", "random-values"}), "array-like"],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        **RUNNING_CONSTRAINTS,
    }

    def __init__(
        self,
        width=10,
        height=10,
        *,
        lattice="rectangular",
        toroidal=False,
        metric="euclidean",
        neighborhood="gaussian",
        cutoff=0,
        radius=None,
        radius_decay="linear",
        training="batch",
        epochs=10,
        rate=(0.5, 0.01),
        rate_decay="linear",
        step_decay=0.6,
        init="principal-plane",
        verbose=0,
        random_state=None,
        device=None,
        precision="auto",
        threads=None,
        memory_limit=None,
        checkpoint=None,
        callback=None,
    ):
        self.width = width
        self.height = height
        self.lattice = lattice
        self.toroidal = toroidal
        self.metric = metric
        self.neighborhood = neighborhood
        self.cutoff = cutoff
        self.radius = radius
        self.radius_decay = radius_decay
        self.training = training
        self.epochs = epochs
        self.rate = rate
        self.rate_decay = rate_decay
        self.step_decay = step_decay
        self.init = init
        self.verbose = verbose
        self.random_state = random_state
        self.device = device
        self.precision = precision
        self.threads = threads
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.callback = callback

    # Fitting

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Trains the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; there may be fewer of them than units.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weights, not negative. A weight of two is the same as the row twice.

        Returns
        -------
        self : SelfOrganizingMap

        Raises
        ------
        ValueError
            When a parameter is out of its range, for values or weights that cannot be used (with the first row that
            has one).
        NotImplementedError
            When ``device`` names a GPU and the package was built without CUDA.
        """
        data = read(self, X, reset=True, sample_weight=sample_weight)
        labels = data.labels()
        with named_errors():
            made = self._train(
                data,
                labels,
                epochs=self.epochs,
                radius=self._radius_range(),
                training=self.training,
                checkpoint=checkpoint_of(self),
                report=reporter(self.callback, self.verbose, 1, self._objective[1]),
                **resources(self, data, self._count(), self.epochs),
            )
        self._take(made, labels)
        self.quantization_errors_ = made["history"].tolist()
        self.n_iter_ = self.n_steps_ = int(made["epochs"])
        self.weight_seen_ = float(made["weight_seen"])
        self.seeding_seconds_ = float(made["seeding_seconds"])
        warn_of_scales(self, made["column_variances"], stacklevel=4)
        return self

    def _train(self, data: Data, labels, *, training: str, **options) -> dict:
        given = not isinstance(self.init, str)
        return _shoal.som_fit(
            data.rows,
            **self._shape(),
            neighborhood=self.neighborhood,
            cutoff=self.cutoff,
            radius_decay=self.radius_decay,
            rate=_pair("rate", self.rate),
            rate_decay=self.rate_decay,
            init="codebook" if given else self.init,
            codebook=self._checked_init(data) if given else None,
            training=training,
            seed=self._seed(training),
            units=labels,
            **options,
        )

    def _count(self) -> int:
        return int(self.width) * int(self.height)

    def _shape(self) -> dict:
        return {
            "width": self.width,
            "height": self.height,
            "lattice": self.lattice,
            "toroidal": bool(self.toroidal),
            "metric": self.metric,
        }

    # What shoal.statistics asks of an estimator

    _family = "som"

    def _require_fold(self) -> None:
        if self.training != "batch":
            raise ValueError(
                f"statistics need training='batch'; got {self.training!r}, which takes a step for each row"
            )

    def _model(self) -> tuple[tuple, dict]:
        return (_numbers(self.codebook_),), self._shape()

    def _about(self, centre) -> dict:
        return {"centre": None if centre is None else _numbers(centre)}

    def _maximise_options(self, epoch) -> dict:
        if epoch is None:
            raise ValueError("maximise needs the epoch of a map: its radius depends on it")
        return {
            "neighborhood": self.neighborhood,
            "cutoff": float(self.cutoff),
            "radius": self._radius_of(epoch),
            "threads": self.threads or 0,
        }

    def _take_maximised(self, made) -> None:
        self.codebook_ = made
        self._n_features_out = len(made)

    def _radius_of(self, step: int) -> float:
        return _shoal.som_radius(
            width=self.width,
            height=self.height,
            radius=self._radius_range(),
            radius_decay=self.radius_decay,
            step=step,
            steps=self.epochs,
        )

    def _radius_range(self) -> tuple[float, float] | None:
        return None if self.radius is None else _pair("radius", self.radius)

    def _seed(self, training: str) -> int:
        """0 where nothing is drawn, so that a checkpoint of such a fit resumes with any seed."""
        drawn = training == "online" or (isinstance(self.init, str) and self.init != "principal-plane")
        return seed_of(self.random_state) if drawn else 0

    def _checked_init(self, data: Data) -> np.ndarray:
        codebook = device_arrays.copied_to_host(self.init)
        codebook = check_array(codebook, dtype=np.float64, order="C", input_name="init")
        expected = (self.height * self.width, data.columns)
        if codebook.shape != expected:
            raise ValueError(f"init must have the shape (height * width, n_features) = {expected}; got {codebook.shape}.")
        return codebook

    def _take(self, made: dict, labels) -> None:
        self.codebook_ = made["codebook"]
        self.labels_ = labels
        self._take_quality(made)
        self._n_features_out = len(self.codebook_)

    def _take_quality(self, quality: dict) -> None:
        self.quantization_error_ = float(quality["quantization_error"])
        self.topographic_error_ = float(quality["topographic_error"])
        self.hits_ = quality["hits"].reshape(self.height, self.width)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Takes one batch of rows into the map.

        The first batch chooses the first units by ``init``. Each batch then moves the units (t + 1) ** -step_decay of
        the way that a batch epoch over its rows alone would, with the radius of epoch t; from batch number ``epochs`` on
        the radius stays at its last. That is for batches that weigh as much as the mean of all so far, this one among
        them; others go in proportion, and at most the whole way. With ``step_decay=0``, ``epochs`` calls with the same rows are :meth:`fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The batch.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weights of the rows, in the same unit for all batches.

        Returns
        -------
        self : SelfOrganizingMap
            ``labels_`` and the errors are then those of the batch on the map that it led to.
        """
        first = not hasattr(self, "codebook_")
        data = read(self, X, reset=first, sample_weight=sample_weight)
        how = resources(self, data, self._count())
        step = 0 if first else self.n_steps_
        labels = data.empty(data.count, np.int32)
        with named_errors():
            radius = self._radius_of(step)
            if first:
                options = {"epochs": 1, "training": "batch", "checkpoint": "", "report": None}
                made = self._train(data, labels, radius=(radius, radius), **options, **how)
                started_from = made["history"][0]
            else:
                made = _shoal.som_update(
                    data.rows,
                    _numbers(self.codebook_),
                    **self._shape(),
                    neighborhood=self.neighborhood,
                    cutoff=self.cutoff,
                    radius=radius,
                    rate=(step + 1) ** -float(self.step_decay),
                    batches=step,
                    weight_seen=self.weight_seen_,
                    units=labels,
                    **how,
                )
                started_from = made["started_from"]
        self._take(made, labels)
        self.quantization_errors_ = [*(() if first else self.quantization_errors_), float(started_from)]
        self.n_iter_ = self.n_steps_ = step + 1
        self.weight_seen_ = float(made["weight_seen"])
        return self

    def fit_predict(self, X, y=None, sample_weight=None):
        """Trains the map and returns ``labels_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
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
        """Trains the map and returns the rows' distances to all units.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weights, not negative. A weight of two is the same as the row twice.

        Returns
        -------
        distances : ndarray of shape (n_samples, height * width)
            In ``metric``.

        Raises
        ------
        ValueError, NotImplementedError
            As :meth:`fit`.
        """
        return self.fit(X, sample_weight=sample_weight).transform(X)

    # Using the map

    def predict(self, X):
        """The best-matching unit of each row, the lowest index on a tie.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of the fit.

        Returns
        -------
        units : ndarray of shape (n_samples,), int32
            Unit u stands in row ``u // width`` and column ``u % width`` of the map.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            When there is no map yet.
        ValueError
            When X has other columns than the fit, or a value that is not finite.
        """
        data = self._read_fitted(X)
        units = data.empty(data.count, np.int32)
        with named_errors():
            self._predict_into(data, units)
        return units

    def transform(self, X):
        """The distance of each row to every unit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of the fit.

        Returns
        -------
        distances : ndarray of shape (n_samples, height * width)
            In ``metric``; float32 for float32 data.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            When there is no map yet.
        ValueError
            When X has other columns than the fit, or a value that is not finite.
        """
        data = self._read_fitted(X)
        codebook = _numbers(self.codebook_)
        distances = data.empty((data.count, len(codebook)), data.dtype)
        how = resources(self, data, len(codebook))
        with named_errors():
            _shoal.som_distances(data.rows, codebook, **self._shape(), distances=distances, **how)
        return distances

    def score(self, X, y=None, sample_weight=None):
        """Minus the quantization error of the rows.

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
            In ``metric``, at most 0; greater is better.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            When there is no map yet.
        ValueError
            When X has other columns than the fit, or a value that is not finite.
        """
        data = self._read_fitted(X, sample_weight)
        with named_errors():
            return -self._predict_into(data, None)

    def quality(self, X, sample_weight=None):
        """How well the map stands for rows, of the fit or others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of the fit.
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weights of the rows.

        Returns
        -------
        quality : dict
            ``quantization_error``, ``topographic_error`` and ``hits``, as the attributes of the fit.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            When there is no map yet.
        ValueError
            When X has other columns than the fit, or a value that is not finite.
        """
        data = self._read_fitted(X, sample_weight)
        with named_errors():
            quality = self._quality(data)
        return {**quality, "hits": quality["hits"].reshape(self.height, self.width)}

    @property
    def u_matrix_(self) -> np.ndarray:
        check_is_fitted(self, "codebook_")
        return np.asarray(_shoal.som_u_matrix(_numbers(self.codebook_), **self._shape()))

    def _read_fitted(self, X, sample_weight=None) -> Data:
        if "codebook_" not in self.__dict__:
            check_is_fitted(self)
        return read(self, X, reset=False, sample_weight=sample_weight)

    def _predict_into(self, data: Data, units) -> float:
        codebook = _numbers(self.codebook_)
        how = resources(self, data, len(codebook))
        return _shoal.som_predict(data.rows, codebook, **self._shape(), units=units, **how)

    def _quality(self, data: Data) -> dict:
        codebook = _numbers(self.codebook_)
        return _shoal.som_score(data.rows, codebook, **self._shape(), **resources(self, data, len(codebook)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _pair(name: str, value) -> tuple[float, float]:
    """Two numbers, from first to last."""
    numbers = np.asarray(value)
    if numbers.shape != (2,) or numbers.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be two numbers, the first and the last; got {value!r}")
    return float(numbers[0]), float(numbers[1])


def _numbers(array) -> np.ndarray:
    return np.ascontiguousarray(array, dtype=np.float64)
