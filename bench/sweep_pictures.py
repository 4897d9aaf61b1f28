#!/usr/bin/env python3
"""Draws what bench/sweep.py wrote: bench/sweep_pictures.py RESULT.json → docs/pictures/sweep_FAMILY.svg.

One panel for each quantity that grows, milliseconds an iteration on logarithmic axes, one line for each arm.
"""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Okabe and Ito's colours, which stay apart for colour-blind readers, and a mark each for print without colours.
ARMS = {
    "scikit_learn": ("scikit-learn", "#D55E00", "s"),
    "one_thread": ("shoal, one thread", "#56B4E9", "v"),
    "all_threads": ("shoal, {threads} threads", "#0072B2", "o"),
    "gpu": ("shoal, {gpu}", "#009E73", "D"),
}
NAMES = {"rows": "N, rows", "columns": "d, columns", "components": {"gmm": "K, components", "kmeans": "K, clusters"}}
TITLES = {"gmm": "Gaussian mixture, full covariances, float32", "kmeans": "k-means, float32"}


def name_of(quantity, family):
    name = NAMES[quantity]
    return name if isinstance(name, str) else name[family]


def draw(family, sweeps, result):
    plt.rcParams.update({"font.size": 9, "svg.fonttype": "path", "svg.hashsalt": family, "axes.spines.top": False, "axes.spines.right": False})
    figure, panels = plt.subplots(1, 3, figsize=(10.5, 3.6), sharey=True, layout="constrained")
    for panel, (quantity, points) in zip(panels, sweeps.items()):
        for arm, (label, colour, mark) in ARMS.items():
            found = [(point[quantity], 1e3 * point[arm]) for point in points if point.get(arm, 0) > 0]
            if not found:
                continue
            label = label.format(threads=result["threads"], gpu=result.get("gpu", ""))
            panel.plot(*zip(*found), marker=mark, color=colour, label=label, linewidth=1.4, markersize=4)
        panel.set_xscale("log", base=10 if quantity == "rows" and family == "kmeans" else 2)
        panel.set_yscale("log")
        panel.set_xlabel(name_of(quantity, family))
        panel.grid(alpha=0.25, linewidth=0.6)
        stay = {name: points[0][name] for name in ("rows", "columns", "components") if name != quantity}
        panel.set_title(", ".join(f"{'NdK'[('rows', 'columns', 'components').index(n)]} = {v:,}" for n, v in stay.items()), fontsize=9)
    panels[0].set_ylabel("milliseconds an iteration")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(TITLES[family], fontsize=10)
    path = ROOT / "docs" / "pictures" / f"sweep_{family}.svg"
    figure.savefig(path, metadata={"Date": None})
    print(path)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: bench/sweep_pictures.py RESULT.json")
    result = json.loads(pathlib.Path(sys.argv[1]).read_text())
    for family, sweeps in result["sweeps"].items():
        draw(family, sweeps, result)


if __name__ == "__main__":
    main()
