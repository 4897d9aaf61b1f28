"""The tables of docs/performance.md and README.md, from what compare_scikit_learn.py and compare_gpu.py measured.

Run with a file that compare_gpu.py wrote, this writes the tables of GPUs.
"""

import json
import pathlib
import sys

HOST = "script/bench"
GPU = "bench/compare_gpu.py"


def table(titles, rows):
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def milliseconds(seconds):
    return f"{1e3 * seconds:.3g}"


def problem(case):
    name = "k-means" if case["family"] == "kmeans" else f"mixture, {case['covariance_type']}"
    return f"{name}, {case['data']}" if case["data"] else name


def speed_table(cases):
    rows = []
    for case in cases:
        two = case["shoal_two_threads"]
        rows.append([
            problem(case),
            f"{case['rows']:,}, {case['columns']}, {case['components']}",
            milliseconds(case["scikit_learn"]),
            milliseconds(two),
            f"**{case['scikit_learn'] / two:.1f}** (≥ {case['goal']})",
            f"{case['two_threads_gain']:.2f}",
            f"{100 * case['of_multiply_add_peak']:.0f} %",
            f"{100 * case['of_read_bandwidth']:.0f} %",
        ])  # fmt: skip
    titles = ["problem", "N, d, K", "scikit-learn, ms", "shoal, ms", "times faster (goal)", "two threads against one",
              "of the multiply-add peak", "of the read bandwidth"]  # fmt: skip
    return table(titles, rows)


def short_text(result):
    rows = []
    for case in result["speed"]:
        theirs, ours = case["scikit_learn"], case["shoal_two_threads"]
        rows.append([problem(case), f"{case['rows']:,} × {case['columns']}, K = {case['components']}",
                     f"{milliseconds(theirs)} ms", f"{milliseconds(ours)} ms", f"{theirs / ours:.1f} ×"])  # fmt: skip
    machine = result["machine"]
    return (
        table(["one iteration", "rows × columns", f"scikit-learn {machine['scikit_learn']}", "shoal", "faster"], rows)
        + f"\n\n({machine['cpu']}, {machine['threads']} threads, {result['date']}.)"
    )


def agreement_table(cases):
    rows = []
    for case in cases:
        row = [f"{case['data']} ({case['rows']:,} × {case['columns']}, K = {case['components']})"]
        for kind in ("full", "tied", "diag", "spherical"):
            entry = case[kind]
            text = f"{entry['float64']:.0e}, {entry['float32']:.0e}"
            if entry["scikit_learn_permuted"] > 1e-12:
                text += f" ({entry['scikit_learn_permuted']:.0e})"
            row.append(text)
        row.append(f"{case['kmeans']['float64']:.0e}, {case['kmeans']['float32']:.0e}")
        rows.append(row)
    return table(["data", "full", "tied", "diag", "spherical", "k-means inertia"], rows)


def peak_table(peaks):
    rows = [[str(peak["threads"]), *(f"{peak[key] / 1e9:.1f}" for key in
             ("float32_multiply_adds", "float64_multiply_adds", "read_bytes", "copy_bytes"))] for peak in peaks]  # fmt: skip
    return table(["threads", "float32, 10⁹ multiply-adds/s", "float64, 10⁹ multiply-adds/s", "read, GB/s",
                  "copy (read + written), GB/s"], rows)  # fmt: skip


def memory_table(cases):
    rows = []
    for case in cases:
        name = "k-means" if case["family"] == "kmeans" else "mixture, full"
        rows.append([name, f"{case['rows']:,}, {case['columns']}, {case['components']}",
                     f"{case['data_bytes'] / 2**20:.0f}", f"{case['statistics_bytes'] / 2**20:.2f}",
                     f"{case['peak_over_data'] / 2**20:.0f}",
                     f"{384 + 4 * case['statistics_bytes'] / 2**20:.0f}"])  # fmt: skip
    return table(["problem", "N, d, K", "data, MiB", "statistics, MiB", "peak over the data, MiB", "limit, MiB"], rows)


def large_text(large):
    ratio = large["seconds_streamed"] / large["seconds_resident"]
    whole = large["seconds_whole_streamed"] / large["seconds_whole_resident"]
    return (
        f"A file of {large['bytes'] / 2**30:.1f} GiB (8 columns, 10 components, full, cached by the system): "
        f"{large['seconds_resident']:.2f} s an iteration in memory, {large['seconds_streamed']:.2f} s with `--memory-limit "
        f"64MiB`, {ratio:.2f} times as long ({whole:.2f} times for the whole command; the goal is at most 1.3), with a peak "
        f"of {large['peak_streamed'] / 2**20:.0f} MiB in all, and the same bits."
    )


def page_text(result):
    machine = result["machine"]
    parts = [
        f"Measured on {result['date']} by `{result['command']}`: {machine['cpu']}, {machine['threads']} threads, "
        f"{machine['system']}; {machine['shoal']} against scikit-learn {machine['scikit_learn']} (NumPy {machine['numpy']}).",
        "### One iteration, float32, two threads",
        speed_table(result["speed"]),
        "### What the machine can do",
        peak_table(result["peaks"]),
        "### Memory",
        memory_table(result["memory"]),
    ]
    if "large" in result:
        parts.append(large_text(result["large"]))
    if result["agreement"]:
        parts += [
            f"### Agreement with scikit-learn's float64 after {result['agreement_iterations']} iterations from one start",
            "Relative difference of the mean log-likelihood (and of the inertia), shoal in float64 and in float32. In brackets, "
            "where it is above 1e-12, how far scikit-learn's own figure moves when the rows are permuted.",
            agreement_table(result["agreement"]),
        ]
    return "\n\n".join(parts)


PEERS = {"gmmx": "gmmx", "flash_kmeans_float32": "flash-kmeans", "flash_kmeans_float16": "in float16"}


def gpu_text(result):
    rows = []
    for case in result["cases"]:
        kind = "k-means" if case["family"] == "kmeans" else f"mixture, {case['covariance_type']}"
        if case["family"] == "gmm":
            kind += ", overlapping" if case["spread"] < 1 else ", apart"
        ours, goal = case["shoal"], case["goal"]
        by_products = [seconds for name, seconds in case["peers"].items() if name not in PEERS]
        pytorch = f"{milliseconds(min(by_products))} ({min(by_products) / ours:.1f} ×)" if by_products else ""
        peers = ", ".join(f"{name} {milliseconds(case['peers'][key])} ({case['peers'][key] / ours:.1f} ×)"
                          for key, name in PEERS.items() if key in case["peers"])  # fmt: skip
        rows.append([kind, f"{case['rows']:,}, {case['columns']}, {case['components']}", f"**{milliseconds(ours)}**",
                     "" if goal is None else f"{1e3 * goal:g}",
                     ", ".join(milliseconds(seconds) for seconds in case.get("shoal_rounded", {}).values()),
                     f"{milliseconds(case['floor_float32'])}, {milliseconds(case['floor_three_tf32'])}", pytorch, peers])  # fmt: skip
    rates = result["peaks"]
    return (
        f"Measured on {result['date']} by `python3 bench/compare_gpu.py`: {result['device']}, PyTorch {result['torch']}. There a "
        f"copy moves {rates['copy_bytes'] / 1e12:.2f} TB/s (read and written), and matrix products reach "
        f"{rates['float32_multiply_adds'] / 1e12:.1f}·10¹² multiply-adds a second in float32 and "
        f"{rates['tf32_multiply_adds'] / 1e12:.0f}·10¹² in TF32.\n\n"
        + table(["problem", "N, d, K", "shoal, ms", "goal, ms", "in tf32, bf16, ms", "floors, ms", "PyTorch, ms", "peer, ms (times shoal)"], rows)
    )


def replace_between_marks(path, text, writer=HOST):
    begin, end = (f"<!-- written by {writer}: {which} -->" for which in ("begin", "end"))
    before, rest = path.read_text().split(begin)
    after = rest.split(end)[1]
    path.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def write_pages(result, root):
    """Replaces what is between the marks of docs/performance.md and README.md; returns the longer text."""
    text = page_text(result)
    replace_between_marks(root / "docs" / "performance.md", text)
    replace_between_marks(root / "README.md", short_text(result))
    return text


if __name__ == "__main__":
    ROOT = pathlib.Path(__file__).resolve().parent.parent
    measured = json.loads(pathlib.Path(sys.argv[1]).read_text())
    replace_between_marks(ROOT / "docs" / "performance.md", gpu_text(measured), GPU)
