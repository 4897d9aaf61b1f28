"""Gaussian mixtures, k-means and self-organizing maps on data of any size, with scikit-learn's interface."""

from . import _threads, assignment, metrics, statistics
from ._fitz_hugh_nagumo import FitzHughNagumo, Wave
from ._gaussian_mixture import GaussianMixture
from ._generate import make_mixture
from ._kmeans import KMeans, kmeans_plusplus
from ._running import ColumnScaleWarning, Progress, progress_bar, show_config
from ._selection import Selection, select_components
from ._self_organizing_map import SelfOrganizingMap
from ._shoal import version as __version__
from ._view import View, view

__all__ = [
    "ColumnScaleWarning",
    "FitzHughNagumo",
    "GaussianMixture",
    "KMeans",
    "Progress",
    "Selection",
    "SelfOrganizingMap",
    "View",
    "Wave",
    "__version__",
    "assignment",
    "kmeans_plusplus",
    "make_mixture",
    "metrics",
    "progress_bar",
    "select_components",
    "show_config",
    "statistics",
    "view",
]

# One for each family; what goes for every estimator is tested of these.
_ESTIMATORS = (KMeans, GaussianMixture, SelfOrganizingMap)


def __getattr__(name):
    # shoal.plot needs matplotlib, which nobody has to install who draws nothing.
    if name == "plot":
        import importlib

        return importlib.import_module("shoal.plot")
    raise AttributeError(f"module 'shoal' has no attribute {name!r}")
