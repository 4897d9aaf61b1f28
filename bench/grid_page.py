"""What bench/grid.py measured: its rules, the cells that break one and why, and the heat maps of docs/performance.md.

python3 bench/grid_page.py bench/results/grid-DEVICE-MACHINE.json    # docs/pictures/grid_DEVICE.svg
"""

import json
import pathlib
import sys

import grid
from performance_page import table

ROOT = pathlib.Path(__file__).resolve().parent.parent
# About what a device makes in a second at most: exponentials (four instructions a clock and multiprocessor; sixteen in ten clocks
# of a core), and multiply-adds of factorisations, which are in float64.
EXPONENTIALS = {"cuda": 3.7e12, "cpu": 1.2e10}
FACTORISATIONS = {"cuda": 5e12, "cpu": 1e10}
# Rows of the page's table of broken rules; the file has all of them.
MOST_ROWS = 20


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


def reason(cell, device):
    """What the floor leaves out and this shape may be bound by; nothing where that explains less than half of the time."""
    if "failure" in cell:
        return cell["failure"]
    exponentials = cell["rows"] * cell["components"] / EXPONENTIALS[device] if cell["family"] == "gmm" else 0
    factors = cell["components"] if cell["type"] == "full" else int(cell["type"] == "tied")
    factorisations = factors * cell["columns"] ** 3 / FACTORISATIONS[device]
    launches = 5 * grid.LAUNCHES
    told = [
        (exponentials, "N·K exponentials, which the floor leaves out"),
        (factorisations, "factorisations of d × d matrices, which the floor leaves out"),
        (launches, "launches, one after the other, and merging"),
    ]
    explained, what = max(told)
    return what if explained + cell["floor"] > cell["seconds"] / 2 else "the kernel itself"


def broken(result):
    """(rule, cell, what is broken) for each break, the worst of a rule first."""
    device = result["device"]
    cells = [cell for cell in result["cells"] if "seconds" in cell]
    found = [(0, cell, 0, f"failed: {cell['failure']}") for cell in result["cells"] if "failure" in cell]
    for cell in cells:
        if over(cell) > grid.MOST_OVER:
            found.append(
                (1, cell, over(cell), f"{1e3 * cell['seconds']:.3g} ms are {over(cell):.1f} times (floor + 10 µs); {reason(cell, device)}")
            )
    for first, second, quantity in neighbours(cells):
        jump = over(second) / over(first)
        if max(jump, 1 / jump) > grid.MOST_JUMP:
            why = f"time over floor {over(first):.2f}, {over(second):.2f} at {quantity} {second[quantity]}; {reason(max(first, second, key=over), device)}"
            found.append((2, first, max(jump, 1 / jump), why))
    for cell in cells:
        for peer, seconds in cell.get("peers", {}).items():
            if seconds < cell["seconds"]:
                times = cell["seconds"] / seconds
                found.append((3, cell, times, f"{peer} takes {1e3 * seconds:.3g} ms, {times:.1f} times less; {reason(cell, device)}"))
    found.sort(key=lambda each: (each[0], -each[2]))
    return [(rule, cell, why) for rule, cell, _, why in found]


def text(result):
    cells = [cell for cell in result["cells"] if "seconds" in cell]
    found = broken(result)
    counts = {rule: sum(each[0] == rule for each in found) for rule in (1, 2, 3)}
    beside = [cell for cell in cells if cell.get("peers")]
    pairs = sum(1 for _ in neighbours(cells))
    lines = [
        f"{result['machine']}, {result['date']}: {len(cells)} cells, {len(beside)} of them beside peers.\n",
        table(["rule", "asked of", "broken"], [
            ["1: at most 4 × (floor + 10 µs)", f"{len(cells)} cells", str(counts[1])],
            ["2: neighbours in d or K within 1.6 times", f"{pairs} pairs", str(counts[2])],
            ["3: no slower than a peer", f"{len(beside)} cells", str(counts[3])],
        ]),
    ]  # fmt: skip
    if "note" in result:
        lines.append(f"\n{result['note']}")
    if result["peers_missing"]:
        lines.append("\nNot there: " + "; ".join(f"{name} ({why})" for name, why in result["peers_missing"].items()) + ".")
    for rule in (0, 1, 2, 3):
        of_rule = [each for each in found if each[0] == rule]
        if of_rule:
            rows = [[f"`{grid.key(cell)}`", why] for _, cell, why in of_rule[:MOST_ROWS]]
            title = f"Rule {rule}" if rule else "Failed"
            lines.append(f"\n{title}, the worst {len(rows)} of {len(of_rule)}:\n\n" + table(["cell", "what breaks it"], rows))
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
