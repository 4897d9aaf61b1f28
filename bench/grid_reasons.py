"""Why a cell of bench/grid.py takes longer than its floor: what the floor leaves out, counted, over the machine's own rates.

Each part is a time that the shape alone explains. The largest one is a cell's reason where all of them and the floor come to half of
its time at least; else it is the kernel itself. The fixed cost of a family is the shortest time of its cells that have next to no
work.
"""

import grid

# About what a device makes in a second at most: terms of a row and a component (an exponential, its sum and its place, some twenty
# instructions; forty in float64, whose units are half as many; on a core sixteen exponentials in ten clocks), and multiply-adds of
# factorisations, which are in float64.
TERMS = {("cuda", 4): 1.7e12, ("cuda", 8): 4e11, ("cpu", 4): 1.2e10, ("cpu", 8): 4e9}
FACTORISATIONS = {"cuda": 5e12, "cpu": 1e10}
# Rows and components that one tile of products holds, columns up to which there are kernels without tensor cores, and components
# up to which diagonal mixtures of more columns than these kernels have are products of half precision.
TILE_ROWS, TILE_COMPONENTS, FEW_COLUMNS, WIDE_COLUMNS, HALF_COMPONENTS = 128, {"diag": 128, "spherical": 128, "-": 64}, 16, 128, 128
# Blocks that sum apart from each other and are merged: two for each multiprocessor, one for each thread.
BLOCKS = {"cuda": 264, "cpu": None}
# A cell with less work than this, in seconds of its floor, shows what an iteration takes without any.
NO_WORK = 1e-6

TEXTS = {
    "failed": "it failed",
    "launches": "launches (or waking threads), one after the other, and merging",
    "few rows": "too few rows to fill the machine",
    "terms": "N·K terms (an exponential, its sum, its place), which the floor leaves out",
    "factorisations": "factorisations of d × d matrices, which the floor leaves out",
    "few columns": "few columns: products of features (1, z and their products) that are padded to 16, or by the float32 units",
    "float64": "products in float64 for float32 rows",
    "tiles": "components that fill a part of a tile of products",
    "memory": "responsibilities, terms and rows that go through memory more than once",
    "merging": "sums of every block, merged",
    "smoothing": "the neighbourhood's sums over units, which the floor leaves out",
}


def text(name):
    """What a reason's name stands for."""
    return TEXTS.get(name) or f"the {name} itself"


def padded(count):
    """To what a product of half precision takes."""
    return -(-count // 16) * 16


def fixed_costs(result):
    """Seconds of an iteration of (family, type) without work; what launches may take where no cell shows it."""
    found = {}
    for cell in result["cells"]:
        if "seconds" in cell and cell["floor"] < NO_WORK:
            kind = cell["family"], cell["type"]
            found[kind] = min(found.get(kind, 1.0), cell["seconds"])
    return found


def parts(cell, result, fixed):
    """Seconds beside the floor, by name in TEXTS."""
    device, rates = result["device"], result["rates"]
    n, d, k = cell["rows"], cell["columns"], cell["components"]
    mixture, matrices = cell["family"] == "gmm", cell["type"] in ("full", "tied")
    size = 8 if cell["scalar"] == "float64" else 4
    found = {"launches": fixed.get((cell["family"], cell["type"]), 4 * grid.LAUNCHES)}
    workers = 132 if device == "cuda" else result["threads"]
    tiles = -(-n // TILE_ROWS)
    if tiles < workers:
        found["few rows"] = cell["floor"] * (workers / tiles - 1)
    if mixture:
        found["terms"] = n * k / (TERMS[device, size] * (1 if device == "cuda" else workers))
        factors = {"full": k, "tied": 1}.get(cell["type"], 0)
        found["factorisations"] = factors * d**3 / FACTORISATIONS[device]
    sums = k * (d * (d + 3) // 2 if mixture and cell["type"] == "full" else 2 * d if mixture else d)
    found["merging"] = 2 * 8 * sums * (BLOCKS[device] or workers) / rates["read_bytes"]
    if device == "cuda":
        # Rows once more for the sums, and of a mixture the responsibilities, written and read, where kernels are two; those
        # of vectors in half precision write a row's terms too, and fill tiles of components and of columns.
        row_bytes = size * d
        if mixture and d > FEW_COLUMNS:
            tiled = size == 4 and not matrices and d <= WIDE_COLUMNS
            row_bytes += 2 * 4 * (-(-k // 128) * 128 if tiled else k)
            if tiled:
                row_bytes += 2 * 4 * (64 if d <= 64 else 128) * (2 if cell["type"] == "diag" else 1)
        found["memory"] = n * row_bytes / rates["read_bytes"]
    if device == "cuda" and size == 4:
        if d <= FEW_COLUMNS and mixture:
            features = {"full": 1 + d + d * (d + 1) // 2, "diag": 2 * d + 1}.get(cell["type"], d + 2)
            terms = 3 if cell["precision"] == "float32" else 1
            found["few columns"] = 2 * terms * n * padded(k) * padded(features) / rates["bf16_multiply_adds"]
        elif d <= FEW_COLUMNS:
            found["few columns"] = grid.work(cell) / rates["float32_multiply_adds"]
        elif mixture and not matrices and d > WIDE_COLUMNS and k > HALF_COMPONENTS:
            found["float64"] = grid.work(cell) / rates["float64_multiply_adds"]
        tile = TILE_COMPONENTS.get(cell["type"])
        if tile and d > FEW_COLUMNS:
            found["tiles"] = cell["floor"] * (-(-k // tile) * tile / k - 1)
    if cell["family"] == "som":
        side = max(height for height in range(1, int(k**0.5) + 1) if k % height == 0)
        found["smoothing"] = k * (side + k // side) * d / rates["float32_multiply_adds"]
    return found


def reason(cell, result, fixed):
    """A name in TEXTS; where it is the kernel itself, the kinds that share it too."""
    found = parts(cell, result, fixed)
    if cell["floor"] + sum(found.values()) < cell["seconds"] / 2:
        kind = {"kmeans": "k-means", "som": "maps"}.get(cell["family"], cell["type"])
        return f"kernel of {kind}, {cell['scalar']}"
    return max(found, key=found.get)
