#!/usr/bin/env python3
"""Every measured figure of README.md and docs/, from the JSON files of bench/results.

    python3 bench/pages.py            # writes them anew
    python3 bench/pages.py --check    # exit 1 where one differs, or stands in the text without a file behind it

Tables stand between `<!-- written by WRITER: begin -->` and `end`, single figures between `<!-- =NAME -->` and `<!-- / -->`; BLOCKS
and FIGURES say what makes them. A number with a unit of time, a rate, a percentage or a number of times that stands anywhere else
must be one of STATED: definitions, limits, and what others published. tests/python/test_figures.py holds the pages to all of this.
"""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import em_study_page as study
import grid_page
import performance_page as performance
import sponge_page as sponge

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"


def results(pattern):
    """The files of this name, the oldest first; of one date those that measure one algorithm anew last."""
    anew = ("squarem", "async-em-2013")
    found = sorted(RESULTS.glob(pattern), key=lambda path: (path.stem[-10:], any(name in path.name for name in anew), path.name))
    return [json.loads(path.read_text()) for path in found]


def newest(pattern, having=None):
    found = [made for made in results(pattern) if having is None or having in made]
    return found[-1] if found else None


def measured(make, pattern, command):
    """What makes a block of the newest file of this name; what to run where there is none."""
    made = newest(pattern)
    return make(made) if made else f"(Not measured for this version; `{command}` writes `bench/results/{pattern}`.)"


HOST = newest("*.json", "agreement_iterations")
GPU = newest("*.json", "cases")
SEVERAL = newest("several-gpus-*.json")
OVERLAP = results("em-study-overlap-*.json")
SPEED = results("em-study-speed-*.json")
ITERATIONS = newest("kmeans-iterations-*.json")


def studies(data, machine):
    found = results(f"em-study-{data}-*.json")
    return [made for made in found if made["device"].startswith(machine)]


SHUTTLE_PAPER = {"batch": ("82.6 ± 58.1", "21.28 ± 0.48"), "async-em-2013": ("14.2 ± 9.4", "21.08 ± 0.41")}
COVERTYPE_PAPER = {"batch": ("43.2 ± 14.6", "−5.67 ± 0.12"), "asynchronous": ("21.8 ± 6.4", "−5.63 ± 0.09")}

BLOCKS = {
    "README.md": {"script/bench": lambda: performance.short_text(HOST)},
    "docs/performance.md": {
        "script/bench": lambda: performance.page_text(HOST),
        "bench/compare_gpu.py": lambda: performance.gpu_text(GPU),
        "bench/compare_maps.py": lambda: measured(performance.maps_text, "maps-*.json", "bench/compare_maps.py"),
        "bench/seeding.py": lambda: measured(performance.seeding_text, "seeding-*.json", "python3 bench/seeding.py"),
        "bench/compare_builds.py, hardening": lambda: measured(
            performance.hardening_text, "hardening-*.json", "bench/compare_builds.py PLAIN HARDENED --small"),
        "bench/compare_python.py": lambda: measured(
            performance.python_text, "python-*.json", "build/python/bin/python bench/compare_python.py"),
        "bench/several_gpus.py": lambda: performance.several_gpus_text(SEVERAL),
        "bench/gpu_parts.py": lambda: measured(performance.gpu_parts_text, "gpu-parts-*.json", "python3 bench/gpu_parts.py"),
        "bench/grid.py, GPU": lambda: measured(grid_page.text, "grid-cuda-*.json", "python3 bench/grid.py --device cuda"),
        "bench/grid.py, host": lambda: measured(grid_page.text, "grid-cpu-*.json", "python3 bench/grid.py"),
        "bench/sweep.py": lambda: measured(performance.iterations_text, "kmeans-iterations-*.json", "bench/sweep.py --iterations"),
    },
    "docs/sponge.md": {
        "bench/sponge.cpp, pictures": lambda: sponge.pictures_text(
            newest("sponge-*.json", "host_pictures"), newest("sponge-*.json", "kernels")),
        "bench/sponge.cpp, meshes": lambda: sponge.meshes_text(newest("sponge-*.json", "mesh_files")),
    },
    "docs/em-study.md": {
        "bench/pages.py, overlap": lambda: study.overlap_table(OVERLAP),
        "bench/pages.py, order": lambda: study.order_table(OVERLAP),
        "bench/pages.py, diagonal iterations": lambda: study.iteration_table(SPEED, "diag"),
        "bench/pages.py, full iterations": lambda: study.iteration_table(SPEED, "full"),
        "bench/pages.py, reach": lambda: study.reach_table(SPEED),
        "bench/pages.py, Shuttle": lambda: study.data_table(
            studies("shuttle", "cpu"), studies("shuttle", "cuda"), SHUTTLE_PAPER),
        "bench/pages.py, Covertype": lambda: study.data_table([], studies("covertype", "cuda"), COVERTYPE_PAPER),
    },
}  # fmt: skip


def gpu_case(rows, columns, components, covariance_type=None):
    """Of overlapping data, where the family has both kinds."""
    return next(case for case in GPU["cases"] if (case["rows"], case["columns"], case["components"]) == (rows, columns, components)
                and case.get("covariance_type") == covariance_type and case.get("spread", 0) < 1)  # fmt: skip


def ours(*shape):
    return f"{1e3 * gpu_case(*shape)['shoal']:.2g} ms"


def peers(name, *shape):
    return f"{1e3 * gpu_case(*shape)['peers'][name]:.3g} ms"


def two_gpus(kind):
    case = next(each for each in SEVERAL["measured"] if each["name"] == f"mixture, {kind}, 2^27 x 16, K = 10, resident")
    return f"{case['gain']['2']:.2f}"


def shards(kind):
    found = next(each for each in newest("shards-*.json")["large"] if each["name"].startswith(kind))
    return f"{found['ratio_of_medians']:.3g}"


def one_launch(name):
    found = next(each for each in newest("one-launch-*.json")["measured"] if each["name"].startswith(name))
    return f"{found['ratio_of_medians']:.3g}"


def pooled_lanes():
    """Of two builds of the command line in turns: the mixture of 2^18 rows."""
    found = newest("compare-builds-*.json")["measured"]
    return f"{next(each['ratio_of_medians'] for each in found if each['name'] == 'mixture full 2^18x8 K10'):.3f}"


def passes(name):
    return str(study.reach(SPEED, name)["passes"])


def reached(name):
    return f"{1e3 * study.reach(SPEED, name)['seconds']:.3g} ms"


def algorithms(data, machine):
    return study.merged(studies(data, machine), "data")[0]["algorithms"]


def quotient(what):
    batch, squarem = (algorithms("covertype", "cuda")[name][what]["mean"] for name in ("batch", "squarem"))
    return f"{batch / squarem:.2f} times"


def iteration_count(noise, clusters):
    return str(next(each["median"] for each in ITERATIONS["fits"] if (each["noise"], each["clusters"]) == (noise, clusters)))


FIGURES = {
    "large full": lambda: ours(2**20, 32, 64, "full"),
    "large full, gmmx": lambda: peers("gmmx", 2**20, 32, 64, "full"),
    "wide full": lambda: ours(581_012, 54, 7, "full"),
    "wide full, gmmx": lambda: peers("gmmx", 581_012, 54, 7, "full"),
    "small full": lambda: ours(46_800, 8, 8, "full"),
    "small full, gmmx": lambda: peers("gmmx", 46_800, 8, 8, "full"),
    "large k-means": lambda: ours(2**22, 32, 256),
    "large k-means, flash-kmeans": lambda: peers("flash_kmeans_float32", 2**22, 32, 256),
    "two GPUs, full": lambda: two_gpus("full"),
    "two GPUs, diag": lambda: two_gpus("diag"),
    "shards, full": lambda: shards("gmm full"),
    "shards, diag": lambda: shards("gmm diag"),
    "shards, kmeans": lambda: shards("kmeans"),
    "one launch, diag": lambda: one_launch("mixture, diag"),
    "one launch, small": lambda: one_launch("mixture, full, 46,800"),
    "pooled lanes": pooled_lanes,
    "incremental gain": lambda: f"{study.overlap_gain(OVERLAP, 'incremental'):.1f} times",
    "asynchronous gain": lambda: f"{study.overlap_gain(OVERLAP, 'asynchronous'):.1f} times",
    "squarem gain": lambda: f"{study.overlap_gain(OVERLAP, 'squarem'):.1f} times",
    "batch passes": lambda: passes("batch"),
    "batch reach": lambda: reached("batch"),
    "incremental passes": lambda: passes("incremental"),
    "incremental reach": lambda: reached("incremental"),
    "asynchronous passes": lambda: passes("asynchronous"),
    "asynchronous reach": lambda: reached("asynchronous"),
    "squarem passes": lambda: passes("squarem"),
    "squarem reach": lambda: reached("squarem"),
    "Covertype passes": lambda: quotient("iterations"),
    "Covertype time": lambda: quotient("seconds"),
    "two clusters": lambda: iteration_count(0.05, 2),
    "four clusters": lambda: iteration_count(0.05, 4),
    "two noisy clusters": lambda: iteration_count(1.0, 2),
    "four noisy clusters": lambda: iteration_count(1.0, 4),
}

# What is no measurement of ours: definitions, limits, options, goals and what others published, word for word.
STATED = json.loads((ROOT / "bench" / "stated_figures.json").read_text())

BLOCK = re.compile(r"<!-- written by ([^:>]*): begin -->\n(?:(.*?)\n)??<!-- written by \1: end -->", re.DOTALL)  # may be empty
FIGURE = re.compile(r"<!-- =([^>]*?) -->(.*?)<!-- / -->", re.DOTALL)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`|^    .*?$|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
MEASURED = re.compile(
    r"(?<![\w.,^])\d[\d.,]*(?:[·×]10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)?[\u00a0 ]?(?:ms|µs|ns|ps|s|min|minutes?|seconds?|hours?|GB/s|TB/s|times|%|cycles)(?![\w/])"
)


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def written(path):
    """A page's text with every block and every figure made anew."""
    text = path.read_text()
    name = path.relative_to(ROOT).as_posix()
    blocks = BLOCKS.get(name, {})

    filled = set()

    def block(match):
        filled.add(match[1])
        mark = f"<!-- written by {match[1]}: "
        return f"{mark}begin -->\n{blocks[match[1]]()}\n{mark}end -->"

    text = BLOCK.sub(block, text)
    missing = [writer for writer in blocks if writer not in filled]
    if missing:
        raise ValueError(f"{name} has no block of {', '.join(missing)}")
    return FIGURE.sub(lambda match: f"<!-- ={match[1]} -->{FIGURES[match[1]]()}<!-- / -->", text)


def bare_figures(path):
    """Figures that stand in a page without a file behind them."""
    text = FIGURE.sub("", BLOCK.sub("", CODE.sub("", path.read_text())))
    for phrase in STATED.get(path.relative_to(ROOT).as_posix(), []):
        text = text.replace(phrase, "")
    return [text[max(0, match.start() - 40) : match.end() + 20].replace("\n", " ") for match in MEASURED.finditer(text)]


def main():
    faults = 0
    for path in pages():
        name = path.relative_to(ROOT)
        fresh = written(path)
        if "--check" not in sys.argv:
            path.write_text(fresh)
        elif fresh != path.read_text():
            print(f"{name}: figures differ from bench/results; run python3 bench/pages.py")
            faults += 1
        for figure in bare_figures(path):
            print(f"{name}: no file is behind '… {figure} …'")
            faults += 1
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
