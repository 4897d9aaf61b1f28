"""What each room of mixture kernels does for a cell, of each kind: the same terms as shoal/gmm/cuda/cost.cpp, for bench/fit_costs.py.

Rows count in millions, and products and sums of each row and component in thousands, as room_cost.hpp says.
"""

# Of a block, on an H200; and of a thread, beyond which its sums lie in memory.
SHARED_BYTES = 227 * 1024
REGISTERS_FOR_SUMS = 190

MATRICES, VECTORS = ("full", "tied"), ("diag", "spherical")


def padded(count, to):
    return -(-count // to) * to


def value_bytes(cell):
    return 8 if cell["scalar"] == "float64" else 4


def few_columns_sums(cell):
    """Of a component, and the multiply-adds of its density."""
    d = cell["columns"]
    if cell["type"] in MATRICES:
        return (d + 1) * (d + 2) // 2, d * (d + 1) / 2
    return 2 * d + 1, d


def one_team_block(cell):
    """How few_columns/accumulator.cpp cuts the rows of its kernel, on an H200: as make_plan there."""
    d, K, size = cell["columns"], cell["components"], value_bytes(cell)
    sums, products = few_columns_sums(cell)
    words, vector, most_flushed = sums * size // 4, 16 // size, 48 if size == 4 else 12
    most_threads, most_blocks, rows = (
        (256, 3, 2) if words <= 10 else (256, 2, 2) if words <= 45 else (384, 1, 2) if words <= 78
        else (128, 2, 4) if words <= 90 else (256, 1, 1)
    )
    registers = 65536 // (most_threads * most_blocks) // 8 * 8
    flushes = -(-sums // most_flushed)
    record_bytes = size * padded(2 * d + int(products) + 1, vector)
    row_bytes = size * (padded(d, vector) + 1 + (K | 1))
    best, most = None, 0
    for threads in range(128, most_threads + 1, 128):
        for blocks in range(65536 // registers // threads, 0, -1):
            block_bytes = min(SHARED_BYTES, (SHARED_BYTES + 1024) // blocks - 1024)
            flush_bytes = threads * max(size * -(-sums // flushes), 16)

            def needed(records, stage):
                return records * record_bytes + max(stage * row_bytes, flush_bytes) + stage // 32 * 4

            stage = rows * threads
            records = K if needed(K, stage) <= block_bytes else min(K, max(1, block_bytes // 2 // record_bytes))
            while stage >= 32 and needed(records, stage) > block_bytes:
                stage -= 32
            if stage < 32:
                continue
            rounds = -(-K // threads)
            turn = -(-K // rounds)
            value = blocks * (threads // turn) * turn / (1 + rounds) * min(stage, threads) / threads
            if value >= most:
                most = value
                best = {"threads": threads, "blocks": blocks, "stage": stage, "records": records, "rounds": rounds,
                        "turn": turn, "slices": threads // turn, "flushes": flushes}  # fmt: skip
    return best


def few_columns_terms(cell):
    d, K, n = cell["columns"], cell["components"], cell["rows"] / 1e6
    sums, products = few_columns_sums(cell)
    block = one_team_block(cell)
    stage, blocks, slices = block["stage"], block["blocks"], block["slices"]
    # A thread has a whole row, or a component's sums: the slowest thread of a stage makes the others wait.
    padding = -(-stage // block["threads"]) * block["threads"] / stage
    deepest = block["rounds"] * -(-stage // slices) / stage
    spilled = max(0, sums * value_bytes(cell) // 4 - REGISTERS_FOR_SUMS)
    return {
        "launch": 1, "row_bytes": value_bytes(cell) * n * d, "terms": n * K, "padded_terms": n * padding * K / blocks / block["threads"],
        "densities": n * padding * K * products / 1e3, "moments": n * deepest * block["turn"] * slices * sums / 1e3,
        "thread_moments": n * deepest * sums / blocks, "spilled_moments": n * deepest * block["turn"] * slices * spilled / 1e3,
        "flushes": n * slices * block["flushes"] if blocks == 1 else 0,
    }  # fmt: skip


def few_columns_teams_terms(cell):
    d, K, n = cell["columns"], cell["components"], cell["rows"] / 1e6
    sums, products = few_columns_sums(cell)
    sums = d + 2 if cell["type"] == "spherical" else sums
    matrices = cell["type"] in MATRICES
    threads, summing, at_once = (
        (256, 128, 2) if not matrices else (256, 256, 1) if d <= 8 else (128, 256, 1) if d <= 12 else (128, 128, 1)
    )
    stage, slices = 4 * threads, summing // -(-K // at_once)
    return {
        "launch": 1, "row_bytes": 4 * n * d, "padded_terms": n * K / threads, "densities": n * K * products / threads,
        "thread_moments": n * (-(-stage // slices) | 1) / stage * sums * at_once,
    }  # fmt: skip


def tensor_matrix_terms(cell):
    d, K, n = cell["columns"], cell["components"], cell["rows"] / 1e6
    products = 3 if cell["precision"] == "float32" else 1
    groups = max(2, -(-d // 8))
    groups = groups if groups <= 8 else padded(groups, 4)
    steps = (groups + 1) // 2
    tiles = steps * (steps + 1)
    terms = {
        "launch": 1, "row_bytes": 4 * n * d, "terms": n * K, "densities": n * K * tiles * products / 1e3,
        "model": K * tiles / 1e3,
    }  # fmt: skip
    if K >= (24 if products == 3 else 16):
        terms["framed_moments"] = n * padded(K, 64) * 8 * groups * (8 * groups + 1) / 2 * products / 1e6
    else:
        terms["team_moments" if groups > 8 else "moments"] = n * K * tiles / 1e3
    return terms


def tensor_diagonal_terms(cell):
    d, K, n = cell["columns"], cell["components"], cell["rows"] / 1e6
    products = 3 if cell["precision"] == "float32" else 1
    features = 1 if cell["type"] == "spherical" else 2
    steps = next(steps for steps in (1, 2, 4, 6, 8) if d <= 16 * steps)
    width, tiles = 64 if d <= 64 else 128, padded(K, 128)
    return {
        "launch": 1, "rows": n, "row_bytes": 4 * n * 16 * steps, "moved": n * width * features * (4 if products == 3 else 2),
        "terms": n * K, "padded_terms": n * tiles, "densities": n * tiles * 16 * steps * features * products / 1e3,
        "moments": n * tiles * width * features * products / 1e3, "model": K * d / 1e3,
    }  # fmt: skip


def framed_sums(d, K):
    """Components and columns as their first moments are padded."""
    return padded(K, 32 if K <= 32 else 64) * (padded(d, 32) if d <= 32 else padded(d, 64) if d <= 64 or K > 32 else padded(d, 128))


def tied_float64_terms(cell):
    """Rows are whitened once for all components, and second moments are those of all rows."""
    d, K, n = cell["columns"], cell["components"], cell["rows"] / 1e6
    triangle = padded(d, 16) * (padded(d, 8) + 8) / 2
    return {
        "launch": 1, "rows": n, "row_bytes": value_bytes(cell) * n * d, "terms": n * K, "moved": n * K if K > 64 else 0,
        "densities": n * (triangle + padded(K, 8) * padded(d, 8)) / 1e3, "moments": n * (framed_sums(d, K) + triangle) / 1e3,
        "model": K * d * d / 1e6,
    }  # fmt: skip


def tensor_float64_terms(cell):
    d, K, n = cell["columns"], cell["components"], cell["rows"] / 1e6
    if cell["type"] == "tied":
        return tied_float64_terms(cell)
    if cell["type"] in MATRICES:
        tile = 32 if d <= 32 else 64 if d <= 64 else 128
        tiles = -(-d // tile)
        return {
            "launch": 1, "rows": n, "row_bytes": value_bytes(cell) * n * K * d / 1e3, "terms": n * K,
            "densities": n * K * padded(d, 16) * (padded(d, 8) + 8) / 2 / 1e3,
            "moments": n * K * tiles * (tiles + 1) / 2 * tile * tile / 1e3, "model": K * d * d / 1e6,
        }  # fmt: skip
    if cell["scalar"] == "float32" and 17 <= d <= 128 and K <= 64:
        return None  # rows are read once, by kernels of their own: thresholds choose them
    features = 1 if cell["type"] == "spherical" else 2
    # Components of a tile of log-densities: fit_costs.py fits those of each size of tiles for themselves.
    tiles = next((tile for tile in (8, 16, 24, 32, 48, 64, 96, 128) if K <= tile), padded(K, 256))
    return {
        "launch": 1, "rows": n, "row_bytes": value_bytes(cell) * n * d, "terms": n * K,
        "densities": n * tiles * padded(d, 16) * features / 1e3, "model": K * d / 1e3,
    }  # fmt: skip


def plain_terms(cell):
    d, K, n = cell["columns"], cell["components"], cell["rows"] / 1e6
    products = d * d / 2 if cell["type"] in MATRICES else d
    return {"launch": 1, "rows": n, "row_bytes": value_bytes(cell) * n * d, "terms": n * K, "densities": n * K * products / 1e3}


TERMS = {
    "few_columns_teams": few_columns_teams_terms,
    "few_columns": few_columns_terms,
    "tensor_matrix": tensor_matrix_terms,
    "tensor_diagonal": tensor_diagonal_terms,
    "tensor_float64": tensor_float64_terms,
    "plain": plain_terms,
}
