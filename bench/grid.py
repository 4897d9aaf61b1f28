#!/usr/bin/env python3
"""A map of the plane: an iteration's time over its floor for each family, type, scalar and precision, over N, d and K.

    python3 bench/grid.py --device cuda                     # the fixed 200 cells, the first eight minutes of them
    python3 bench/grid.py --device cuda --draw 7            # 400 that the seed 7 draws
    python3 bench/grid.py --device cuda --fixed --draw 7    # all of them
    python3 bench/grid.py --cells FILE                      # those of a file, each beside its peers
    python3 bench/grid.py --rules FILE.json                 # which cells break a rule
    python3 bench/grid.py --add FILE.json                   # takes the cells of a run elsewhere into bench/results

Every run goes on where the last one stopped, and appends to bench/results/grid-DEVICE-MACHINE.json, until all its cells are there.
Cells are taken by twos, neighbours as a rule, in a drawn order, so that what a run had no time for is a fair sample of all. A
cell is a shape of uniform rows; bench/grid_cells.cpp times them all in one process. Its floor is the larger of reading the rows once
and of the multiply-adds that symmetry leaves: in float32 those of float32 or of three products of half precision,
whichever is less, padded to the 16 columns that one of them takes. The rates are this machine's own, measured in the same run.
Of the fixed cells 100 have peers too (bench/grid_peers.py), and those of --cells all, whatever their work. The rules, which bench/grid_page.py tells and draws:

1. no cell above 4 × (floor + 10 µs);
2. between neighbours in d or K time over (floor + 10 µs) changes by 1.6 times at most;
3. no cell is slower than a peer in the same class of precision.
"""

import argparse
import contextlib
import datetime
import itertools
import json
import os
import pathlib
import random
import select
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

ROWS = [10**3, 10**4, 10**5, 10**6, 10**7]
COLUMNS = [1, 2, 3, 5, 8, 13, 16, 17, 24, 32, 33, 48, 64, 65, 96, 128, 129, 192, 256, 300, 384, 512, 768, 1024, 1536, 2048, 4096]
COMPONENTS = [1, 2, 5, 10, 33, 64, 100, 256, 1000, 4096, 16384]
KINDS = [("gmm", "full"), ("gmm", "tied"), ("gmm", "diag"), ("gmm", "spherical"), ("kmeans", "-"), ("som", "-")]
PRECISIONS = {
    "cpu": [("float32", "float32"), ("float64", "float32")],
    "cuda": [("float32", "float32"), ("float64", "float32"), ("float32", "tf32"), ("float32", "bf16")],
}
FIXED, DRAWN, BESIDE_PEERS = 200, 400, 100
NAMES = ("family", "type", "scalar", "precision", "rows", "columns", "components")

# Seconds that launches, or waking threads, may take beside the floor.
LAUNCHES = 10e-6
MOST_OVER, MOST_JUMP = 4, 1.6
# The share of a run's time after which peers come first: they take longer than all else.
PEERS_AFTER = {"cpu": 0.7, "cuda": 0.6}


def work(cell, columns=None):
    """Multiply-adds of an iteration: as bench/compare_gpu.py counts them; a map's are those of its search."""
    d = columns or cell["columns"]
    pairs = cell["rows"] * cell["components"]
    if cell["family"] != "gmm":
        return pairs * d
    return pairs * (d * (d + 3) if cell["type"] in ("full", "tied") else 4 * d)


def floor(cell, rates):
    """Seconds that an iteration takes at least, by the rates of `measure_rates`."""
    size = 8 if cell["scalar"] == "float64" else 4
    read = size * cell["rows"] * cell["columns"] / rates["read_bytes"]
    ways = [work(cell) / rates[f"{cell['scalar']}_multiply_adds"]]
    if cell["scalar"] == "float32" and "bf16_multiply_adds" in rates:
        padded = work(cell, -(-cell["columns"] // 16) * 16)
        products = {"float32": ("bf16", 3), "tf32": ("tf32", 1), "bf16": ("bf16", 1)}
        name, count = products[cell["precision"]]
        ways.append(count * padded / rates[f"{name}_multiply_adds"])
    return max(read, min(ways))


def fits(cell, device):
    """True where there are rows enough for the model, and memory and time for the cell."""
    n, d, k = cell["rows"], cell["columns"], cell["components"]
    size = 8 if cell["scalar"] == "float64" else 4
    bytes_most, work_most = (2**29, 3e10) if device == "cpu" else (2**31, 4e11)
    if n * d * size > bytes_most or work(cell) > work_most or n < 4 * k or k * d > 2**23:
        return False
    if cell["type"] == "full":
        return d <= 1024 and n >= 2 * k * (d + 1) and k * d * d <= 2**25
    return cell["type"] != "tied" or (d <= 1024 and n >= 2 * (d + 1))


def every(device):
    """All cells of the grid."""
    for (family, kind), (scalar, precision) in itertools.product(KINDS, PRECISIONS[device]):
        for shape in itertools.product(ROWS, COLUMNS, COMPONENTS):
            cell = dict(zip(NAMES, (family, kind, scalar, precision, *shape)))
            if fits(cell, device):
                yield cell


def line(cell, quantity, values):
    return [cell | {quantity: value} for value in values]


def fixed(device):
    """The 200: for each kind and precision a stretch of neighbours in d and one in K, which together go over all of both."""
    found = {}
    kinds = list(itertools.product(KINDS, PRECISIONS[device]))
    each = -(-FIXED // len(kinds))
    for number, ((family, kind), (scalar, precision)) in enumerate(kinds):
        start = dict(zip(NAMES, (family, kind, scalar, precision)))
        for quantity, axis, count in (("columns", COLUMNS, each - each // 2), ("components", COMPONENTS, each // 2)):
            # The stretch, then more rows or fewer components until all of it fits: as many rows as do.
            first = number * (len(axis) - count) // (len(kinds) - 1)
            other = "components" if quantity == "columns" else "columns"
            choices = [10, 64, 33, 5, 2, 1] if other == "components" else [16, 64, 8, 128, 3, 1]
            ways = [line(start | {"rows": n, other: choice}, quantity, axis[first : first + count])
                    for choice in choices[number % 3 :] + choices for n in reversed(ROWS)]  # fmt: skip
            most = max(sum(fits(cell, device) for cell in way) for way in ways)
            chosen = next(way for way in ways if sum(fits(cell, device) for cell in way) == most)
            found |= {key(cell): cell for cell in chosen if fits(cell, device)}
    # What stretches have in common, or what did not fit, is made up for by the seed 0.
    for cell in drawn(device, 0, FIXED):
        if len(found) == FIXED:
            break
        found.setdefault(key(cell), cell)
    return list(found.values())[:FIXED]


def drawn(device, seed, count=DRAWN):
    """Cells drawn in pairs of neighbours, so that the second rule has something to say."""
    cells = list(every(device))
    there = {key(cell) for cell in cells}
    draw = random.Random(seed)
    found = {}
    while len(found) < count:
        cell = draw.choice(cells)
        quantity, axis = draw.choice((("columns", COLUMNS), ("components", COMPONENTS)))
        place = axis.index(cell[quantity]) + 1
        pair = [cell] + ([cell | {quantity: axis[place]}] if place < len(axis) else [])
        found |= {key(each): each for each in pair if key(each) in there}
    return list(found.values())[:count]


def in_parts(cells):
    """The same cells by twos in an order that is drawn: any part of a run is a fair sample, and has neighbours."""
    twos = [cells[first : first + 2] for first in range(0, len(cells), 2)]
    random.Random(1).shuffle(twos)
    return [cell for two in twos for cell in two]


def key(cell):
    return " ".join(str(cell[name]) for name in NAMES)


class Program:
    """bench/grid_cells.cpp, which stays for all cells; started again after one that ended it or took too long."""

    def __init__(self, path, device, seconds):
        self.command = [str(path), device, str(seconds)]
        self.process = None

    def measure(self, cell, limit):
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with contextlib.suppress(BrokenPipeError):  # of a program that has ended: there is no answer then
            self.process.stdin.write(key(cell) + "\n")
            self.process.stdin.flush()
        late = not select.select([self.process.stdout], [], [], limit)[0]
        if late:
            self.process.send_signal(signal.SIGKILL)
        answer = self.process.stdout.readline()
        if answer:
            return json.loads(answer)
        code, self.process = self.process.wait(), None
        return {"failure": f"its fits took more than {limit:g} s" if late else f"the program ended with {code}"}


def measure_rates(device):
    if device == "cpu":
        program = ROOT / "build" / "release" / "bin" / "peaks"
        return json.loads(subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout)[-1]
    import compare_gpu
    import torch

    rates = compare_gpu.peaks(torch)
    return rates | {"read_bytes": rates["copy_bytes"]}


def machine(device):
    if device == "cuda":
        import torch

        return torch.cuda.get_device_name(0)
    from sweep import processor

    return processor()


def write(path, result):
    """One line for each cell, so that a file's history can be read."""
    cells = ",\n".join("  " + json.dumps(cell) for cell in result["cells"])
    head = json.dumps({name: value for name, value in result.items() if name != "cells"}, indent=1)[:-2]
    path.with_suffix(".part").write_text(f'{head},\n "cells": [\n{cells}\n ]\n}}\n')
    path.with_suffix(".part").replace(path)


def cells_of(chosen):
    """The cells that a run is asked for, and the keys of those that peers run too."""
    device = chosen.device
    if chosen.cells:
        cells = [dict(zip(NAMES, words[:4] + [int(word) for word in words[4:]]))
                 for words in map(str.split, chosen.cells.read_text().splitlines())]  # fmt: skip
        return cells, {key(cell) for cell in cells}
    stay = fixed(device) if chosen.fixed or chosen.draw is None else []
    beside = {key(cell) for cell in stay[:: FIXED // BESIDE_PEERS]}
    others = [] if chosen.draw is None else [cell for cell in drawn(device, chosen.draw) if cell not in stay]
    return in_parts(stay) + in_parts(others), beside


def told(cell, rates):
    """A cell's line while it is measured."""
    if "failure" in cell:
        return f"{key(cell)}: {cell['failure']}"
    over = cell["seconds"] / (floor(cell, rates) + LAUNCHES)
    theirs = "".join(f", {peer} {1e3 * seconds:.4g}" for peer, seconds in cell.get("peers", {}).items())
    return f"{key(cell)}: {1e3 * cell['seconds']:.4g} ms, {over:.1f} times (floor + 10 µs){theirs}"


def result_path(device, name):
    return ROOT / "bench" / "results" / f"grid-{device}-{name.lower().replace(' ', '-')}.json"


def measure(chosen):
    device = chosen.device
    begin = time.monotonic()
    cells, beside = cells_of(chosen)
    name = machine(device)
    path = chosen.output or result_path(device, name)
    if path.exists():
        result = json.loads(path.read_text())
    else:
        result = {"date": datetime.date.today().isoformat(), "machine": name, "device": device,
                  "threads": len(os.sched_getaffinity(0)), "rates": measure_rates(device), "peers_missing": {}, "cells": []}  # fmt: skip
    there = {key(cell): cell for cell in result["cells"]}
    beside = set() if chosen.without_peers else beside
    program = Program(chosen.program or ROOT / "build" / ("release" if device == "cpu" else "cuda") / "bin" / "grid_cells",
                      device, chosen.seconds)  # fmt: skip
    peers = None
    own = [cell for cell in cells if key(cell) not in there]
    theirs = [cell for cell in cells if key(cell) in beside and "peers" not in there.get(key(cell), {})]
    while own or theirs:
        passed = (time.monotonic() - begin) / (60 * chosen.minutes)
        if passed > 1:
            print(f"{len(there)} cells are there; run it again to go on")
            break
        known = there.get(key(theirs[0])) if theirs and (passed >= PEERS_AFTER[device] or not own) else None
        if known is None:
            cell = own.pop(0)
            there[key(cell)] = known = cell | {"floor": floor(cell, result["rates"])} | program.measure(cell, chosen.limit)
            result["cells"].append(known)
        else:
            cell = theirs.pop(0)
            if "failure" in known:
                continue
            if peers is None:
                from grid_peers import Peers

                peers = Peers(device, any_work=chosen.cells is not None)
                result["peers_missing"] = peers.missing
            known["peers"] = peers.measure(cell)
        write(path, result)
        print(f"{time.monotonic() - begin:6.1f} s  {told(known, result['rates'])}", flush=True)
    return path


def add(path):
    """The cells of a run elsewhere, in place of older ones of their shapes, whose peers they keep where they have none; older
    cells that stay keep their date."""
    fresh = json.loads(path.read_text())
    target = result_path(fresh["device"], fresh["machine"])
    known = {key(cell) for cell in fresh["cells"]}
    if target.exists():
        before = json.loads(target.read_text())
        wanted = {key(cell) for cell in fixed(fresh["device"])}
        stay = [cell for cell in before["cells"] if key(cell) in wanted - known]
        peers = {key(cell): cell["peers"] for cell in before["cells"] if "peers" in cell}
        for cell in fresh["cells"]:
            if key(cell) in peers:
                cell.setdefault("peers", peers[key(cell)])
        fresh["cells"] += [{"date": before["date"]} | cell for cell in stay]
    write(target, fresh)
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--draw", type=int, help="400 cells that this seed draws, instead of the fixed 200")
    parser.add_argument("--fixed", action="store_true", help="with --draw: the fixed 200 before them")
    parser.add_argument("--cells", type=pathlib.Path, help="instead those of a file, with peers: lines as bench/grid_cells.cpp reads them")
    parser.add_argument("--minutes", type=float, default=8, help="no cell is begun later")
    parser.add_argument("--seconds", type=float, default=0.2, help="that the longer fits of a cell take, about")
    parser.add_argument("--limit", type=float, default=60, help="seconds of all fits of a cell, beyond which it fails")
    parser.add_argument("--without-peers", action="store_true")
    parser.add_argument("--program", type=pathlib.Path, help="grid_cells; of build/release or build/cuda if not given")
    parser.add_argument("--output", type=pathlib.Path, help="the file to go on with")
    parser.add_argument("--rules", type=pathlib.Path, help="measure nothing; say which cells of this file break a rule")
    parser.add_argument("--add", type=pathlib.Path, help="measure nothing; take in the cells of this file")
    chosen = parser.parse_args()
    path = chosen.rules or (add(chosen.add) if chosen.add else measure(chosen))

    from grid_page import broken
    from grid_reasons import text

    found = broken(json.loads(path.read_text()))
    for rule, cell, times, what, why in found:
        print(f"rule {rule}: {key(cell)}: {times:.1f}, {what}; {text(why)}")
    print(f"{path}: {len(found)} times a rule is broken")
    sys.exit(0)


if __name__ == "__main__":
    main()
