"""scikit-learn's test_k_means.py, as installed, on shoal's classes."""

import sys
from pathlib import Path

import sklearn.cluster

import shoal

sys.path.insert(0, str(Path(__file__).parent))
from peer import load  # noqa: E402

globals().update(
    load(
        "sklearn.cluster.tests.test_k_means",
        {sklearn.cluster: {"KMeans": shoal.KMeans, "kmeans_plusplus": shoal.kmeans_plusplus}},
    )
)

# Tests that are left out, by name, and why.
EXCLUDED = {
    r".*\[.*(sparse_matrix|sparse_array|csr_matrix|csr_array|X_csr\d).*\]": "sparse input is refused",
    r"test_kmeans_plusplus_output\[.*-input_data[12]\]": "sparse input is refused",
    r".*\[.*MiniBatchKMeans.*\]|test_minibatch_.*": "the class is scikit-learn's; KMeans.partial_fit is tested in "
    "test_kmeans.py",
    "test_(euclidean_distance|inertia|is_same_clustering|k_means_function).*": "tests scikit-learn's functions, not the "
    "class",
    r"test_(kmeans_init_auto_with_initial_centroids|n_init_auto)\[.*": "looks at the private attribute _n_init",
    r"test_sample_weight_(init|zero)\[.*": "calls the private method _init_centroids",
    r"test_kmeans_verbose\[.*": "compares the words that verbose prints",
    r"test_float_precision\[KMeans-dense\]": "wants centroids in the data's type; they stay in float64, which survives "
    "large offsets",
}
