"""The tables of docs/performance.md and README.md, from what the scripts here measured; pages.py writes them."""

import statistics

HOST = "script/bench"


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
            f"{case.get('two_threads_gain', case['shoal_one_thread'] / two):.2f}",
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


def maps_text(result):
    rows = []
    for one, other in zip(result["results"][::2], result["results"][1::2]):
        rows.append([f"{one['rows']:,} × {one['columns']} on {one['width']} × {one['height']}", f"{1e3 * one['shoal_seconds']:.3g}",
                     *(text for each in (one, other)
                       for text in (f"{1e3 * each['peer_seconds']:,.0f}", f"**{each['faster']:.0f}** (≥ {each['goal']})"))])  # fmt: skip
    peers = {"minisom": "MiniSom", "somoclu": "Somoclu"}
    titles = ["an epoch", "shoal, ms"]
    for each in result["results"][:2]:
        titles += [f"{peers[each['peer']]} {each['peer_version']}, ms", "times faster (goal)"]
    return f"({result['processor']}, {result['threads']} threads, {result['date']}.)\n\n" + table(titles, rows)


def seeding_text(result):
    rows = []
    for shape in result["shapes"]:
        seconds = [statistics.median(shape["seconds"][way]) for way in ("k-means++", "k-means-parallel")]
        rows.append([f"{shape['rows']:,}, {shape['columns']}, {shape['clusters']}", *(f"{1e3 * each:,.0f}" for each in seconds),
                     f"{shape['times_cheaper']:.1f}", f"{shape['inertia_quotient']:.4f}"])  # fmt: skip
    titles = ["N, d, K", "greedy k-means++, ms", "k-means‖, ms", "times cheaper", "inertia after the fit, k-means‖ / k-means++"]
    return f"({result['processor']}, {result['threads']} threads, {result['date']}; medians.)\n\n" + table(titles, rows)


def hardening_text(result):
    """Old is without, new is with the protections."""
    rows = []
    for case in result["measured"]:
        least = [f"{1e3 * min(case['seconds'][build]):.3g}" for build in ("old", "new")]
        rows.append([case["name"].replace(" x ", " × "), *least, f"{case['ratio_of_medians']:.3f}"])
    middle = statistics.geometric_mean(case["ratio_of_medians"] for case in result["measured"])
    titles = ["milliseconds an iteration, float32", "without", "with", "with / without"]
    return f"The geometric mean of the quotients is {middle:.3f}.\n\n" + table(titles, rows)


def python_text(result):
    rows = [[case["call"], f"{case['scikit_learn_ms']:.4g}", f"{case['shoal_ms']:.4g}",
             f"{case['scikit_learn_ms'] / case['shoal_ms']:.1f} ({case['goal']})"] for case in result["calls"]]  # fmt: skip
    titles = ["whole call", f"scikit-learn {result['scikit_learn']}, ms", f"shoal {result['shoal']}, ms", "times faster (goal)"]
    return f"({result['processor']}, {result['threads']} threads, {result['date']}.)\n\n" + table(titles, rows)


def several_gpus_text(result):
    counts = list(result["measured"][0]["seconds"])
    rows = []
    for case in result["measured"]:
        least = {count: min(case["seconds"][count]) for count in counts}
        rate = f"{case['bytes_a_second'][counts[-1]] / 1e9:.0f}" if "streamed" in case["name"] else ""
        rows.append([case["name"].replace("2^27", "2²⁷").replace(" x ", " × "), *(f"{1e3 * least[count]:.3g}" for count in counts),
                     f"{least['1'] / least[counts[-1]]:.2f}", rate])  # fmt: skip
    device = result["devices"][0].split(",")[0]
    titles = ["milliseconds an iteration", *(f"{count} GPU{'s' * (count != '1')}" for count in counts),
              f"times by {counts[-1]}", f"GB/s by {counts[-1]}"]  # fmt: skip
    return f"({device}, {result['date']}.)\n\n" + table(titles, rows)


def gpu_parts_text(result):
    parts = [f"({result['device']}, {result['date']}.)"]
    for part in result["parts"]:
        parts += [f"{part['title']} (`{part['command']}`):", table(part["columns"], part["rows"])]
    return "\n\n".join(parts)


def iterations_text(result):
    noises = sorted({fit["noise"] for fit in result["fits"]})
    rows = []
    for clusters in sorted({fit["clusters"] for fit in result["fits"]}):
        row = [str(clusters)]
        for noise in noises:
            fit = next(each for each in result["fits"] if (each["noise"], each["clusters"]) == (noise, clusters))
            row.append(f"{fit['median']} ({min(fit['iterations'])} to {max(fit['iterations'])})")
        rows.append(row)
    return table(["K", *(f"iterations, noise {noise:g}" for noise in noises)], rows)


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
