"""Model files, rows and states for the pages that are tested: written out, so that no fit decides on a picture."""

import json
import math
import random
import struct


def write_npy(path, shape, values, kind="f8"):
    header = f"{{'descr': '<{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}{'d' if kind == 'f8' else 'f'}", *values))


def write_mixture(folder, columns=3, rows=600):
    """Three components of ``columns`` columns, and rows of them. Returns the two paths."""
    rng = random.Random(7)
    means = [[2.5 * math.sin(3 * k + j) for j in range(columns)] for k in range(3)]
    covariance = [[(1.0 if i == j else 0.4) * 0.5 for j in range(columns)] for i in range(columns)]
    model = {
        "format": "shoal/gmm",
        "version": 1,
        "covariance_type": "full",
        "components": 3,
        "columns": columns,
        "column_names": [f"column <{j}>" for j in range(columns)],
        "weights": [0.5, 0.25, 0.25],
        "means": means,
        "covariances": [covariance] * 3,
    }
    values = []
    for i in range(rows):
        shared = rng.gauss(0, 1)
        values += [m + math.sqrt(0.2) * shared + math.sqrt(0.3) * rng.gauss(0, 1) for m in means[i % 3]]
    with open(folder / "mixture.json", "w") as file:
        json.dump(model, file)
    write_npy(folder / "rows.npy", (rows, columns), values)
    return folder / "mixture.json", folder / "rows.npy"


def write_clusters(folder):
    centroids = [[2.5 * math.sin(3 * k + j) for j in range(3)] for k in range(3)]
    with open(folder / "clusters.json", "w") as file:
        json.dump({"format": "shoal/kmeans", "version": 1, "clusters": 3, "columns": 3, "centroids": centroids}, file)
    return folder / "clusters.json"


def write_waves(folder):
    """A pulse that runs along a line, and rings in the plane. Returns the two paths."""
    times, nodes = 24, 60
    line = []
    for t in range(times):
        v = [math.exp(-((j - 2 * t - 6) ** 2) / 20) for j in range(nodes)]
        line += v + [0.3 * value for value in v]
    write_npy(folder / "line.npy", (times, 2, nodes), line)
    plane = []
    for t in range(5):
        v = [math.cos(0.6 * math.hypot(i - 12, j - 16) - t) for i in range(24) for j in range(32)]
        plane += v + [-value for value in v]
    write_npy(folder / "plane.npy", (5, 2, 24, 32), plane, "f4")
    return folder / "line.npy", folder / "plane.npy"
