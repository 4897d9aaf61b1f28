#!/usr/bin/env python3
"""What each room of mixture kernels takes, fitted to cells that bench/ladder/gmm_rooms timed: shoal/gmm/cuda/cost_table.hpp.

    build/release/bin/gmm_room_times < CELLS > times.txt
    python3 bench/fit_costs.py --add times.txt --device "NVIDIA H200" --date 2026-11-23
    python3 bench/fit_costs.py             # writes the table anew, and the estimates beside the times
    python3 bench/fit_costs.py --check     # exit 1 where they differ
    python3 bench/fit_costs.py --report    # errors, and choices with each cell left out

A time is a sum of coefficients times terms (room_terms.py), the terms being those of shoal/gmm/cuda/cost.cpp: tests/gmm/cuda/test_cost.cpp holds
them to the estimates that stand in the file of cells. Coefficients are not negative and have the least relative errors. It needs
Python alone, so that the table has the same digits wherever it is made.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys

from room_terms import MATRICES, TERMS, VECTORS, padded

ROOT = pathlib.Path(__file__).resolve().parent.parent
CELLS = ROOT / "bench" / "results" / "room-times-nvidia-h200-2026-11-23.json"
TABLE = ROOT / "shoal" / "gmm" / "cuda" / "cost_table.hpp"

# A room of which a cell takes so many times the fastest need not be known there: such cells are left out of its fit and
# of the shapes that it is known for, so that it is not chosen among them either.
HOPELESS = 4
# Differences below this are none: the earlier room is taken. rooms.hpp has the same.
TIE = 1.03

# The rooms in the order in which they are asked, and the types of covariances that share coefficients.
ROOMS = {
    "few_columns_teams": (MATRICES, VECTORS),
    "few_columns": (MATRICES, VECTORS),
    "tensor_matrix": (MATRICES,),
    "tensor_diagonal": (("diag",), ("spherical",)),
    "tensor_float64": (("full",), ("tied",), VECTORS),
    "plain": (MATRICES, VECTORS),
}
SCALARS = {"float32": 4, "float64": 8}
# Components that tiles of one size take, where each size takes times of its own: those of float64 rows in a frame.
TILES = {("tensor_float64", VECTORS, "float64"): ((1, 16), (17, 32), (33, 64), (65, 128), (129, 1 << 20))}


def least_squares(columns, goal):
    """Coefficients of the columns whose sum is nearest to the goal, by the normal equations."""
    n = len(columns)
    rows = [[math.fsum(map(lambda a, b: a * b, left, right)) for right in (*columns, goal)] for left in columns]
    for i in range(n):
        pivot = max(range(i, n), key=lambda row: abs(rows[row][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for row in range(i + 1, n):
            factor = rows[row][i] / rows[i][i]
            for j in range(i, n + 1):
                rows[row][j] -= factor * rows[i][j]
    found = [0.0] * n
    for i in reversed(range(n)):
        found[i] = (rows[i][n] - math.fsum(rows[i][j] * found[j] for j in range(i + 1, n))) / rows[i][i]
    return found


def nonnegative_least_squares(columns, goal):
    """Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23."""
    count = len(columns)
    found, free = [0.0] * count, []
    for _ in range(10 * count):
        rest = [g - math.fsum(found[k] * columns[k][i] for k in free) for i, g in enumerate(goal)]
        slopes = {k: math.fsum(a * r for a, r in zip(columns[k], rest)) for k in range(count) if k not in free}
        best = max(slopes, key=slopes.get, default=None)
        if best is None or slopes[best] <= 1e-9:
            break
        free.append(best)
        while True:
            wanted = dict(zip(free, least_squares([columns[k] for k in free], goal)))
            if min(wanted.values()) > 0:
                break
            step = min(found[k] / (found[k] - wanted[k]) for k in free if wanted[k] <= 0)
            for k in free:
                found[k] += step * (wanted[k] - found[k])
            free = [k for k in free if found[k] > 1e-12]
            found = [found[k] if k in free else 0.0 for k in range(count)]
        found = [wanted.get(k, 0.0) for k in range(count)]
    return found


def fit(timed):
    """Coefficients for (terms, milliseconds): least absolute relative errors, by weights that are found again."""
    names = sorted({name for terms, _ in timed for name, value in terms.items() if value})
    columns = [[terms.get(name, 0) / milliseconds for terms, milliseconds in timed] for name in names]
    scales = [max(column) for column in columns]
    columns = [[value / scale for value in column] for column, scale in zip(columns, scales)]
    weights = [1.0] * len(timed)
    for _ in range(8):
        found = nonnegative_least_squares([[a * w for a, w in zip(column, weights)] for column in columns], weights)
        errors = [abs(math.fsum(x * column[i] for x, column in zip(found, columns)) - 1) for i in range(len(timed))]
        weights = [1 / math.sqrt(max(error, 0.03)) for error in errors]
    return {name: float(f"{x / scale:.4g}") for name, x, scale in zip(names, found, scales) if x > 0}


def tiles_of(room, types, scalar):
    return TILES.get((room, types, scalar), ((1, 1 << 20),))


def group_of(room, cell):
    types = next(types for types in ROOMS[room] if cell["type"] in types)
    tiles = tiles_of(room, types, cell["scalar"])
    return room, types, cell["scalar"], next(tile for tile in tiles if cell["components"] <= tile[1])


def model_of(cells, left_out=None):
    """(room, types, scalar, components of a tile) → coefficients and the shapes that they are known for, of the cells but for one."""
    groups, columns, fastest = {}, {}, set()
    for cell in cells:
        times = {room: value for room, value in cell["milliseconds"].items() if TERMS[room](cell) is not None}
        if cell is left_out:
            continue
        fastest.add(group_of(min(times, key=times.get), cell))
        for room, milliseconds in times.items():
            columns.setdefault(group_of(room, cell), []).append(cell["columns"])
            if milliseconds <= HOPELESS * min(times.values()):
                groups.setdefault(group_of(room, cell), []).append((cell, milliseconds))
    model = {}
    for group in ((room, types, scalar, tile) for scalar in SCALARS for room, kinds in ROOMS.items() for types in kinds
                  for tile in tiles_of(room, types, scalar)):  # fmt: skip
        timed = groups.get(group, [])
        found = fit([(TERMS[group[0]](cell), milliseconds) for cell, milliseconds in timed]) if timed else {}
        if len(found) >= len(timed) or group not in fastest:
            continue  # so few cells do not say how wrong it is; and what is the fastest of none is not to be chosen
        shapes = [cell for cell, _ in timed]
        # Tensor cores take as long for all that fills a tile, and kernels for few columns are cut alike for the last four.
        components = [cell["components"] for cell in shapes]
        model[group] = {
            "cells": len(timed),
            "least_rows": min(cell["rows"] for cell in shapes),
            "columns": [min(columns[group]), padded(max(columns[group]), 16)],
            "components": [group[3][0] if group[0].startswith("tensor") else min(components), min(group[3][1], max(components))],
            "milliseconds": found,
        }
    return model


def estimate(model, room, cell):
    """Milliseconds; none where the room's like has not been timed."""
    known = model.get(group_of(room, cell))
    if known is None or cell["rows"] < known["least_rows"]:
        return None
    for name in ("columns", "components"):
        if not known[name][0] <= cell[name] <= known[name][1]:
            return None
    if TERMS[room](cell) is None:
        return None
    return math.fsum(known["milliseconds"].get(name, 0) * value for name, value in TERMS[room](cell).items())


def cheapest(model, cell):
    """Of the rooms that take the cell, those that are known."""
    estimates = {room: estimate(model, room, cell) for room in ROOMS if room in cell["milliseconds"]}
    known = {room: value for room, value in estimates.items() if value is not None}
    return next(room for room, value in known.items() if value <= TIE * min(known.values()))


# As room_cost.hpp has them.
NAMES = (
    "launch", "rows", "row_bytes", "moved", "terms", "padded_terms", "densities", "half_densities", "moments", "half_moments",
    "team_moments", "thread_moments", "spilled_moments", "framed_moments", "flushes", "model",
)  # fmt: skip


def table_text(model):
    lines = [
        f"// Written by bench/fit_costs.py from bench/results/{CELLS.name}: run it to change this.",
        "#pragma once",
        "",
        "#include <shoal/gmm/cuda/room_cost.hpp>",
        "",
        "namespace shoal::gmm {",
        "",
        "inline constexpr room_cost known_costs[] = {",
    ]
    for (room, types, scalar, _), known in model.items():
        fields = {
            "room": f"room_name::{room}",
            "value_bytes": SCALARS[scalar],
            "first_type": f"covariance_type::{types[0]}",
            "last_type": f"covariance_type::{types[-1]}",
            "least_rows": known["least_rows"],
            "least_columns": known["columns"][0],
            "most_columns": known["columns"][1],
            "least_components": known["components"][0],
            "most_components": known["components"][1],
        }
        lines += [f"    {{.{name} = {value}," if name == "room" else f"     .{name} = {value}," for name, value in fields.items()]
        coefficients = [f".{name} = {known['milliseconds'][name]!r}" for name in NAMES if name in known["milliseconds"]]
        # As clang-format does: on one line, on the next one, or each on its own.
        start, all_of_them = "     .milliseconds =", f"{{{', '.join(coefficients)}}}}},"
        if len(f"{start} {all_of_them}") <= 120:
            lines.append(f"{start} {all_of_them}")
        elif len(all_of_them) <= 111:
            lines += [start, f"         {all_of_them}"]
        else:
            joint = ",\n" + " " * (len(start) + 2)
            lines.append(f"{start} {{{joint.join(coefficients)}}}}},")
    return "\n".join([*lines, "};", "", "}  // namespace shoal::gmm", ""])


def results_text(made):
    """A cell a line."""
    lists = ("apart", "cells")
    text = json.dumps({name: value for name, value in made.items() if name not in lists}, indent=1, ensure_ascii=False)[:-2]
    for name in lists:
        text += f',\n "{name}": [\n' + ",\n".join("  " + json.dumps(cell) for cell in made[name]) + "\n ]"
    return text + "\n}\n"


def with_estimates(made):
    """The same cells, each with what the table says it takes, and the table."""
    cells = [{name: value for name, value in cell.items() if name != "estimates"} for cell in made["cells"]]
    model = model_of(cells)
    for cell in cells:
        estimates = {room: estimate(model, room, cell) for room in cell["milliseconds"]}
        cell["estimates"] = {room: float(f"{value:.8g}") for room, value in estimates.items() if value is not None}
    return made | {"cells": cells}, model


def key(cell):
    return tuple(cell[name] for name in ("type", "scalar", "precision", "rows", "columns", "components"))


def add(made, lines):
    """The cells with those of gmm_room_times, which take the place of older ones of their shapes. Cells of a spread are not fitted."""
    cells = {key(cell): cell for cell in made["cells"]}
    apart = {(*key(cell), cell["spread"]): cell for cell in made["apart"]}
    for line in lines:
        if line.strip():
            cell = json.loads(line)
            if "spread" in cell:
                apart[(*key(cell), cell["spread"])] = cell
            else:
                cells[key(cell)] = cell
    return made | {"apart": list(apart.values()), "cells": list(cells.values())}


def report(made):
    cells = made["cells"]
    model = model_of(cells)
    for fitted in (True, False):
        errors, ratios = {}, []
        for cell in cells:
            times = cell["milliseconds"]
            known = model if fitted else model_of(cells, cell)
            for room, milliseconds in times.items():
                value = estimate(known, room, cell)
                if value is not None:
                    errors.setdefault(group_of(room, cell), []).append(abs(math.log(value / milliseconds)))
            # Thresholds choose where a room is not known, but for plain, which is slow where it is not.
            if any(estimate(known, room, cell) is None for room in times if room != "plain"):
                continue
            room = cheapest(known, cell)
            ratios.append((times[room] / min(times.values()), room, key(cell)))
        print("fitted to all cells" if fitted else "each cell left out of its own fit")
        for (room, types, scalar, tile), found in errors.items():
            median, most = math.exp(statistics.median(found)), math.exp(max(found))
            print(f"  {room:18} {'/'.join(types):15} {scalar} to {tile[1]} {len(found):3} cells, median error {median:.2f} times, greatest {most:.2f}")
        mean = math.exp(statistics.fmean(math.log(ratio) for ratio, _, _ in ratios))
        print(f"  the cheapest over the fastest, {len(ratios)} cells: mean {mean:.3f} times, greatest {max(ratios)[0]:.2f}")
        for ratio, room, shape in sorted(ratios, reverse=True)[:6]:
            print(f"    {ratio:.2f} {room} for", *shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 where a file would")
    parser.add_argument("--report", action="store_true", help="errors, fitted and with each cell left out")
    parser.add_argument("--add", type=pathlib.Path, help="lines of gmm_room_times to take in")
    parser.add_argument("--device", help="that they were timed on; must be the file's")
    parser.add_argument("--date", help="when")
    options = parser.parse_args()
    made = json.loads(CELLS.read_text())
    if options.add:
        if options.device != made["device"]:
            parser.error(f"--add needs --device {made['device']!r}, which the other cells were timed on; got {options.device!r}")
        made = add(made, options.add.read_text().splitlines())
        made["date"] = options.date or made["date"]
    if any(cell["columns"] > 128 for cell in made["cells"]):
        parser.error("terms are of at most 128 columns: write those of other cells in room_terms.py and in cost.cpp first")
    if options.report:
        return report(made)
    made, model = with_estimates(made)
    wanted = {CELLS: results_text(made), TABLE: table_text(model)}
    changed = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in changed:
        if options.check:
            print(f"{path.relative_to(ROOT)} is not what bench/fit_costs.py writes")
        else:
            path.write_text(wanted[path])
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
