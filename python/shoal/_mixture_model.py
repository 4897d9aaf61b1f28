"""What a mixture's parameters are used for, once there are some: prediction, criteria and samples."""

from __future__ import annotations

import math

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _shoal
from ._covariances import precision_factors
from ._input import Data, read
from ._running import named_errors, resources, seed_of


class MixtureModel:
    """The half of an estimator that needs its parameters alone, and not how they were found."""

    covariance_type: str
    reg_covar: float
    random_state: object

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
                *model_arrays(*parts),
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

    def _take_model(self, fitted: dict) -> None:
        self.weights_ = fitted["weights"]
        self.means_ = fitted["means"]
        self.covariances_ = fitted["covariances"]
        self.precisions_cholesky_ = precision_factors(self.covariances_, self.covariance_type)
        if self.covariance_type in ("full", "tied"):
            self.precisions_ = self.precisions_cholesky_ @ np.swapaxes(self.precisions_cholesky_, -1, -2)
        else:
            self.precisions_ = self.precisions_cholesky_**2

    # What shoal.statistics asks of an estimator

    _family = "gmm"

    def _model(self) -> tuple[tuple, dict]:
        return (self.covariance_type, *model_arrays(self.weights_, self.means_, self.covariances_)), {}

    def _maximise_options(self, epoch) -> dict:
        return {"regularization": float(self.reg_covar)}

    def _take_maximised(self, made) -> None:
        self._take_model(made)


def draw(kind, weights, means, covariances, count, random_state):
    """Rows of a mixture and their components, in the order in which they are drawn."""
    X = np.empty((int(count), means.shape[1]))
    y = np.empty(int(count), np.int32)
    _shoal.gmm_sample(
        kind, *model_arrays(weights, means, covariances), seed=seed_of(random_state), first=0, out=X, labels=y
    )
    return X, y


def model_arrays(weights, means, covariances) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        np.ascontiguousarray(weights, dtype=np.float64),
        np.ascontiguousarray(means, dtype=np.float64),
        np.ascontiguousarray(covariances, dtype=np.float64),
    )
