"""What bench/grid.py measured: its rules, the cells that break one and why (grid_reasons.py), and the heat maps of docs/performance.md.

python3 bench/grid_page.py bench/results/grid-DEVICE-MACHINE.json    # docs/pictures/grid_DEVICE.svg
"""

import json
import pathlib
import sys

import grid
import grid_reasons
from performance_page import table

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Rows of the page's table of the worst of a rule.
MOST_ROWS = 12


def over(cell):
    """Time over the floor and what launches take."""
    return cell["seconds"] / (cell["floor"] + grid.LAUNCHES)


def neighbours(cells):
    """Pairs of cells that are next to each other in d or in K."""
    there = {grid.key(cell): cell for cell in cells}
    for cell in cells:
        for quantity, axis in (("columns", grid.COLUMNS), ("components", grid.COMPONENTS)):
            if cell[quantity] not in axis[:-1]:
                continue
            following = cell | {quantity: axis[axis.index(cell[quantity]) + 1]}
            if grid.key(following) in there:
                yield cell, there[grid.key(following)], quantity


def broken(result):
    """(rule, cell, how many times, what is broken, why by name) for each break, the worst of a rule first."""
    fixed = grid_reasons.fixed_costs(result)
    cells = [cell for cell in result["cells"] if "seconds" in cell]
    found = [(0, cell, 0, cell["failure"], "failed") for cell in result["cells"] if "failure" in cell]

    def reason(cell):
        return grid_reasons.reason(cell, result, fixed)

    for cell in cells:
        if over(cell) > grid.MOST_OVER:
            found.append((1, cell, over(cell), f"{1e3 * cell['seconds']:.3g} ms for a floor of {1e3 * cell['floor']:.3g}", reason(cell)))
    for first, second, quantity in neighbours(cells):
        jump = over(second) / over(first)
        if max(jump, 1 / jump) > grid.MOST_JUMP:
            name = "d" if quantity == "columns" else "K"
            what = f"{over(first):.2g} and {over(second):.2g} times at {name} = {first[quantity]} and {second[quantity]}"
            found.append((2, first, max(jump, 1 / jump), what, reason(max(first, second, key=over))))
    for cell in cells:
        for peer, seconds in cell.get("peers", {}).items():
            if seconds < cell["seconds"]:
                what = f"{1e3 * cell['seconds']:.3g} ms, {peer} {1e3 * seconds:.3g}"
                found.append((3, cell, cell["seconds"] / seconds, what, reason(cell)))
    return sorted(found, key=lambda each: (each[0], -each[2]))


RULES = {
    0: "failed",
    1: "at most 4 × (floor + 10 µs)",
    2: "neighbours in d or K within 1.6 times",
    3: "no slower than a peer",
}


def reasons_table(of_rule):
    """Every cell that breaks a rule, under its reason."""
    rows = []
    names = [each[4] for each in of_rule]
    for name in sorted(set(names), key=lambda name: (-names.count(name), name)):
        cells = [each for each in of_rule if each[4] == name]
        listed = ", ".join(f"`{grid.key(cell)}` {times:.1f}" for _, cell, times, *_ in cells)
        rows.append([f"{grid_reasons.text(name)} ({len(cells)})", listed])
    return table(["reason", "cells, and how many times"], rows)


def text(result):
    cells = [cell for cell in result["cells"] if "seconds" in cell]
    found = broken(result)
    beside = [cell for cell in cells if cell.get("peers")]
    asked = {1: f"{len(cells)} cells", 2: f"{sum(1 for _ in neighbours(cells))} pairs", 3: f"{len(beside)} cells"}
    counts = {rule: sum(each[0] == rule for each in found) for rule in asked}
    there = {grid.key(cell) for cell in cells}
    sets = [("the fixed set", grid.fixed(result["device"])), ("the seed 7", grid.drawn(result["device"], 7))]
    covered = ", ".join(f"{sum(grid.key(cell) in there for cell in all_of)} of the {len(all_of)} of {name}" for name, all_of in sets)
    lines = [
        f"{result['machine']}, {result['date']}: {len(cells)} cells ({covered}), {len(beside)} of them beside peers.\n",
        table(["rule", "asked of", "broken"], [[f"{rule}: {RULES[rule]}", asked[rule], str(counts[rule])] for rule in asked]),
    ]
    older = [cell["date"] for cell in result["cells"] if "date" in cell]
    if older:
        lines.append(f"\n{len(older)} cells are of an earlier run ({min(older)}).")
    if "note" in result:
        lines.append(f"\n{result['note']}")
    if result["peers_missing"]:
        lines.append("\nNot there: " + "; ".join(f"{name} ({why})" for name, why in result["peers_missing"].items()) + ".")
    lines.append(
        "\nReasons are computed: what the floor leaves out, counted, over the machine's rates. The largest part is a cell's reason where all "
        "of them and the floor come to half of its time; else it is the kernel itself."
    )
    for rule in (0, 1, 2, 3):
        of_rule = [each for each in found if each[0] == rule]
        if of_rule:
            title = f"Rule {rule}, {RULES[rule]}" if rule else "Failed"
            worst = [[f"`{grid.key(cell)}`", f"{times:.1f}", what] for _, cell, times, what, _ in of_rule[:MOST_ROWS]]
            lines.append(f"\n{title}, the worst {len(worst)} of {len(of_rule)}:\n\n" + table(["cell", "times", "what"], worst))
            if rule:
                lines.append("\nAll of them, by reason:\n\n" + reasons_table(of_rule))
    return "\n".join(lines)


def draw(result, folder=ROOT / "docs" / "pictures"):
    """One panel for each kind and precision: the worst time over floor of any N, d across and K upwards."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    plt.rcParams.update({"font.size": 7, "svg.fonttype": "path", "svg.hashsalt": "grid"})
    there = {(cell["scalar"], cell["precision"]) for cell in result["cells"]}
    ways = [way for way in grid.PRECISIONS[result["device"]] if way in there]
    figure, panels = plt.subplots(len(grid.KINDS), len(ways), figsize=(3.6 * len(ways), 1.7 * len(grid.KINDS)), squeeze=False,
                                  sharex=True, sharey=True, layout="constrained")  # fmt: skip
    norm = LogNorm(0.25, 64)
    for across, (scalar, precision) in enumerate(ways):
        for down, (family, kind) in enumerate(grid.KINDS):
            worst = [[float("nan")] * len(grid.COLUMNS) for _ in grid.COMPONENTS]
            for cell in result["cells"]:
                if "seconds" not in cell or [cell[name] for name in grid.NAMES[:4]] != [family, kind, scalar, precision]:
                    continue
                if cell["columns"] in grid.COLUMNS and cell["components"] in grid.COMPONENTS:
                    line = worst[grid.COMPONENTS.index(cell["components"])]
                    place = grid.COLUMNS.index(cell["columns"])
                    line[place] = max(over(cell), 0 if line[place] != line[place] else line[place])
            panel = panels[down][across]
            image = panel.imshow(worst, norm=norm, cmap="RdYlBu_r", origin="lower", aspect="auto")
            names = {"kmeans": "k-means", "som": "map"}
            mode = scalar if precision == "float32" else precision
            panel.set_title(f"{names.get(family, f'mixture, {kind}')}, {mode}", fontsize=7)
            panel.set_xticks(range(len(grid.COLUMNS)), grid.COLUMNS, rotation=90, fontsize=5)
            panel.set_yticks(range(len(grid.COMPONENTS)), grid.COMPONENTS, fontsize=5)
            panel.set_facecolor("#EEEEEE")
    for panel in panels[-1]:
        panel.set_xlabel("d")
    for line in panels:
        line[0].set_ylabel("K")
    bar = figure.colorbar(image, ax=panels, location="bottom", shrink=0.6, aspect=60, ticks=[0.25, 0.5, 1, 2, 4, 8, 16, 32, 64])
    bar.ax.set_xticklabels(["1/4", "1/2", "1", "2", "4", "8", "16", "32", "64"])
    bar.set_label("time over (floor + 10 µs), the worst of all N")
    path = folder / f"grid_{result['device']}.svg"
    figure.savefig(path, metadata={"Date": None})
    print(path)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: bench/grid_page.py RESULT.json")
    draw(json.loads(pathlib.Path(sys.argv[1]).read_text()))


if __name__ == "__main__":
    main()
