#!/usr/bin/env python3
"""Writes what scikit-learn finds from fixed starts on published data: tests/golden/gmm.json and kmeans.json.

    python3 -m venv build/golden && build/golden/bin/pip install scikit-learn
    build/golden/bin/python tests/golden/make_golden.py DATA_FOLDER

The facts are committed; the test that compares shoal with them needs no Python. Every start is made of numbers that both
libraries hold exactly: rows of the data, uniform weights, and variances rounded to a power of two, whose inverses are exact.
"""

import gzip
import json
import pathlib
import sys
import warnings

import numpy as np
import sklearn
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

# name: file, how many columns are features, every how manyth row, components
DATA_SETS = {
    "shuttle": ("shuttle.csv.gz", 9, 1, 7),
    "covertype10": ("covertype10.npy", 10, 8, 7),
    "s1": ("sipu/s1.data.gz", 2, 1, 15),
    "s2": ("sipu/s2.data.gz", 2, 1, 15),
    "s4": ("sipu/s4.data.gz", 2, 1, 15),
    "a1": ("sipu/a1.data.gz", 2, 1, 20),
    "a2": ("sipu/a2.data.gz", 2, 1, 35),
    "birch1": ("sipu/birch1.data.gz", 2, 4, 100),
    "unbalance": ("sipu/unbalance.data.gz", 2, 1, 8),
    "d31": ("sipu/d31.data.gz", 2, 1, 31),
    "r15": ("sipu/r15.data.gz", 2, 1, 15),
    "aggregation": ("sipu/aggregation.data.gz", 2, 1, 7),
}
GMM_ITERATIONS = 12
KMEANS_ITERATIONS = 10
REGULARIZATION = 1e-6


def load(folder, file, features, every):
    path = folder / file
    if path.suffix == ".npy":
        rows = np.load(path).astype(np.float64)
    else:
        text = file.endswith(".csv.gz")
        with gzip.open(path, "rt") as lines:
            rows = np.loadtxt(lines, delimiter="," if text else None, skiprows=1 if text else 0, ndmin=2)
    return np.ascontiguousarray(rows[::every, :features])


def power_of_two(values):
    return np.exp2(np.round(np.log2(np.maximum(values, 1e-3))))


def centred_diagonal_fit(rows, means, variances):
    """The history and the final mean log-likelihood in 80-bit floating point, second moments about the means."""
    real = np.longdouble
    rows, means = rows.astype(real), means.astype(real)
    components, columns = means.shape
    variances = np.tile(variances.astype(real), (components, 1))
    weights = np.full(components, 1 / real(components))
    history = []
    for _ in range(GMM_ITERATIONS + 1):
        squares = np.stack([((rows - m) ** 2 / v).sum(axis=1) for m, v in zip(means, variances, strict=True)], axis=1)
        joint = np.log(weights) - (columns * np.log(2 * real(np.pi)) + np.log(variances).sum(axis=1) + squares) / 2
        greatest = joint.max(axis=1, keepdims=True)
        density = greatest[:, 0] + np.log(np.exp(joint - greatest).sum(axis=1))
        history.append(float(density.mean()))
        responsibilities = np.exp(joint - density[:, None])
        sums = responsibilities.sum(axis=0) + 10 * np.finfo(np.float64).eps
        shifts = np.stack([r @ (rows - m) / w for r, m, w in zip(responsibilities.T, means, sums, strict=True)])
        squares = np.stack([r @ (rows - m) ** 2 / w for r, m, w in zip(responsibilities.T, means, sums, strict=True)])
        variances = squares - shifts**2 + real(REGULARIZATION)
        means = means + shifts
        weights = sums / sums.sum()
    return history[:-1], history[-1]


def gmm_fact(rows, components, kind):
    count, columns = rows.shape
    start_rows = [i * count // components for i in range(components)]
    variances = power_of_two(rows.var(axis=0))
    if kind == "spherical":
        variances = np.full(columns, power_of_two(variances.mean()))
    precisions = {
        "full": np.tile(np.diag(1 / variances), (components, 1, 1)),
        "tied": np.diag(1 / variances),
        "diag": np.tile(1 / variances, (components, 1)),
        "spherical": np.full(components, 1 / variances[0]),
    }[kind]

    def fit(data):
        mixture = GaussianMixture(
            components,
            covariance_type=kind,
            tol=0,
            reg_covar=REGULARIZATION,
            max_iter=GMM_ITERATIONS,
            weights_init=np.full(components, 1 / components),
            means_init=rows[start_rows],
            precisions_init=precisions,
        )
        mixture.fit(data)
        return mixture.lower_bounds_, mixture.score(data)

    history, score = fit(rows)
    # How far the peer's own figure moves when only the order of its sums changes: no comparison can be sharper.
    shuffled_history, shuffled_score = fit(rows[np.random.default_rng(1).permutation(count)])
    sensitivity = max(
        abs(shuffled_score / score - 1), *(abs(a / b - 1) for a, b in zip(shuffled_history, history, strict=True))
    )
    source = "scikit-learn"
    if sensitivity > 1e-12:
        # Its diagonal covariances are E[x²] − E[x]², which loses the digits of a variance near zero; then the fact is what
        # the same iteration gives in extended precision about the means.
        assert kind == "diag"
        source = "extended precision"
        history, score = centred_diagonal_fit(rows, rows[start_rows], variances)
    return {
        "covariance_type": kind,
        "source": source,
        "components": components,
        "start_rows": start_rows,
        "start_variances": variances.tolist(),
        "regularization": REGULARIZATION,
        "history": [float(value) for value in history],
        "mean_log_likelihood": float(score),
        "sensitivity": float(f"{sensitivity:.1e}"),
    }


def least_gap(rows, centroids, iterations):
    """The least relative gap between the nearest and the second nearest centroid, over rows and iterations of Lloyd's
    algorithm: where it is tiny, rounding decides a label, and two correct programs may part."""
    least = np.inf
    for _ in range(iterations + 1):
        squares = ((rows[:, None, :] - centroids[None]) ** 2).sum(axis=2)
        nearest = np.partition(squares, 1, axis=1)[:, :2]
        least = min(least, ((nearest[:, 1] - nearest[:, 0]) / nearest[:, 1]).min())
        labels = squares.argmin(axis=1)
        sizes = np.bincount(labels, minlength=len(centroids))
        if (sizes == 0).any():
            return 0.0
        centroids = np.stack(
            [np.bincount(labels, rows[:, j], len(centroids)) / sizes for j in range(rows.shape[1])], axis=1
        )
    return least


def kmeans_fact(rows, clusters):
    count = len(rows)
    # Of a few regular choices of start rows, the one in which rounding decides least. Rows of whole numbers are moved by
    # fractions, for between them exact ties are common.
    step = count // clusters
    fractions = (np.arange(clusters)[:, None] * 37 + np.arange(rows.shape[1]) * 11) % 64 / 256
    fractions = fractions * power_of_two(rows.std(axis=0))
    candidates = [
        rows[[i * step + offset for i in range(clusters)]] + fractions for offset in range(0, step, max(1, step // 12))
    ]
    gaps = [least_gap(rows, start, KMEANS_ITERATIONS) for start in candidates]
    best = int(np.argmax(gaps))
    start = candidates[best]
    inertia = []
    for iterations in range(1, KMEANS_ITERATIONS + 1):
        fitted = KMeans(clusters, init=start, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd").fit(rows)
        inertia.append(float(fitted.inertia_))
    return {
        "clusters": clusters,
        "centroids": start.tolist(),
        "least_gap": float(f"{gaps[best]:.1e}"),
        "inertia": inertia,
    }


def main():
    folder = pathlib.Path(sys.argv[1])
    here = pathlib.Path(__file__).parent
    warnings.filterwarnings("ignore")
    gmm, kmeans = [], []
    for name, (file, features, every, components) in DATA_SETS.items():
        rows = load(folder, file, features, every)
        place = {"name": name, "file": file, "columns": features, "every": every, "rows": len(rows)}
        for kind in ("full", "tied", "diag", "spherical"):
            fact = gmm_fact(rows, components, kind)
            print(name, kind, fact["mean_log_likelihood"], "sensitivity", fact["sensitivity"], flush=True)
            gmm.append(place | fact)
        fact = kmeans_fact(rows, components)
        print(name, "kmeans", fact["inertia"][-1], "least gap", fact["least_gap"], flush=True)
        kmeans.append(place | fact)
    for file, facts in (("gmm.json", gmm), ("kmeans.json", kmeans)):
        lines = ",\n".join(json.dumps(fact) for fact in facts)
        (here / file).write_text(f'{{"scikit_learn": "{sklearn.__version__}", "facts": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
