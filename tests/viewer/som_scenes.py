"""A map for the pages that are tested."""

import json


def write_map(folder):
    """A hexagonal map bent like a saddle over the columns of the rows."""
    width, height = 12, 9
    codebook = []
    for i in range(height):
        for j in range(width):
            x, y = 4 * j / (width - 1) - 2, 4 * i / (height - 1) - 2
            codebook.append([x, y, 0.4 * (x * x - y * y)])
    model = {
        "format": "shoal/som",
        "version": 1,
        "width": width,
        "height": height,
        "columns": 3,
        "lattice": "hexagonal",
        "toroidal": False,
        "metric": "euclidean",
        "codebook": codebook,
    }
    with open(folder / "map.json", "w") as file:
        json.dump(model, file)
    return folder / "map.json"
