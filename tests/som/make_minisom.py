#!/usr/bin/env python3
"""Writes what MiniSom's batch training makes of small maps: tests/som/minisom.json.

    python3 -m venv build/minisom && build/minisom/bin/pip install minisom
    build/minisom/bin/python tests/som/make_minisom.py

The facts are committed; the test that compares shoal with them needs no Python. Rows and first codebooks are multiples of 1/1024,
which float32 holds and JSON writes exactly. MiniSom's map is [x][y][column], x along its rows; its odd hexagonal rows stand half a
column to the left and shoal's to the right, so hexagonal maps are mirrored on the way. A learning rate of 1 makes its step the
weighted mean.
"""

import importlib.metadata
import json
import pathlib

import minisom
import numpy as np

WIDTH, HEIGHT, COLUMNS, EPOCHS, SIGMA = 7, 6, 3, 6, 3.0
# MiniSom's own Chebyshev distance takes the maximum without the magnitude.
DISTANCES = {"euclidean": "euclidean", "taxicab": "manhattan", "cosine": "cosine",
             "chebyshev": lambda x, w: np.abs(w - x).max(axis=-1)}


def to_shoal(weights, mirrored):
    units = np.transpose(weights, (1, 0, 2))
    return units[:, ::-1] if mirrored else units


def to_minisom(units, mirrored):
    return np.transpose(units[:, ::-1] if mirrored else units, (1, 0, 2)).copy()


def train(rows, first, distance, topology):
    mirrored = topology == "hexagonal"
    peer = minisom.MiniSom(WIDTH, HEIGHT, COLUMNS, sigma=SIGMA, learning_rate=1, decay_function=lambda rate, t, most: 1.0,
                           activation_distance=DISTANCES[distance], topology=topology,
                           sigma_decay_function="linear_decay_to_one")
    peer._weights = to_minisom(first, mirrored)
    radii = [float(peer._sigma_decay_function(SIGMA, t, EPOCHS)) for t in range(EPOCHS)]
    peer.train_batch_offline(rows, EPOCHS)
    return {"metric": distance, "lattice": topology, "radii": radii,
            "codebook": to_shoal(peer.get_weights(), mirrored).reshape(-1, COLUMNS).tolist()}


def main():
    random = np.random.default_rng(2026)
    centres = random.normal(size=(4, COLUMNS)) * 2
    rows = centres[random.integers(4, size=150)] + random.normal(size=(150, COLUMNS))
    rows = np.round(rows * 1024) / 1024
    first = np.round(random.uniform(-3, 3, size=(HEIGHT, WIDTH, COLUMNS)) * 1024) / 1024
    cases = [train(rows, first, distance, topology) for distance in DISTANCES for topology in ("rectangular", "hexagonal")]
    facts = {"source": f"MiniSom {importlib.metadata.version('minisom')}, train_batch_offline",
             "width": WIDTH, "height": HEIGHT, "rows": rows.tolist(), "first": first.reshape(-1, COLUMNS).tolist(), "cases": cases}
    path = pathlib.Path(__file__).with_name("minisom.json")
    path.write_text(json.dumps(facts) + "\n")
    print(f"{path}: {len(cases)} cases")


if __name__ == "__main__":
    main()
