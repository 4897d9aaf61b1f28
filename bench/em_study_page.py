"""The tables of docs/em-study.md, from what `shoal gmm study --json` measured."""

import statistics

from performance_page import milliseconds, table

NAMES = ("batch", "incremental", "asynchronous", "async-em-2013", "squarem")


def superscript(power):
    return str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def rows_word(rows):
    return f"2{superscript(rows.bit_length() - 1)}" if rows & (rows - 1) == 0 else f"{rows:,}"


def merged(studies, part):
    """The entries of one part by their place in it, with every algorithm from the last study that has it."""
    entries = []
    for study in studies:
        for at, entry in enumerate(study[part]):
            if at == len(entries):
                entries.append({**entry, "algorithms": {}})
            entries[at]["algorithms"] |= {each["algorithm"]: each for each in entry["algorithms"]}
    return entries


def overlap_table(studies):
    entries = merged(studies, "overlap")
    names = [name for name in NAMES if all(name in entry["algorithms"] for entry in entries)]
    rows = []
    for entry in entries:
        label = f"{entry['spread_of_means']:g} ({100 * entry['confusion']:.1f} %)"
        rows.append([label, str(entry["starts"]), *(str(entry["algorithms"][name]["median_passes"]) for name in names)])
    return table(["spread (rows confused)", "starts", *names], rows)


def overlap_gain(studies, name):
    """Batch's passes over those of an algorithm where clusters overlap most: the median over the starts."""
    algorithms = merged(studies, "overlap")[-1]["algorithms"]
    pairs = zip(algorithms["batch"]["passes"], algorithms[name]["passes"])
    return statistics.median(batch / other for batch, other in pairs)


def order_table(studies):
    entries = [entry for entry in merged(studies, "overlap") if "order" in entry["algorithms"]["batch"]]
    names = [name for name in NAMES if all("order" in entry["algorithms"].get(name, {}) for entry in entries)]
    rows = []
    for entry in entries:
        pairs = ((entry["algorithms"][name]["order"], entry["algorithms"][name]["constant"]) for name in names)
        rows.append([f"{entry['spread_of_means']:g}", *(f"{order:.3f}, {constant:.3g}" for order, constant in pairs)])
    paper = {"batch": "0.982, 0.022", "incremental": "0.999, 0.97", "asynchronous": "0.998, 0.95"}
    rows.append(["paper, no overlap", *(paper.get(name, "") for name in names)])
    return table(["spread", *names], rows)


# Of the paper: seconds of an iteration of its asynchronous algorithm on a GTX 480, diagonal covariances, in ms.
PAPER_MILLISECONDS = {46800: "1.26", 2**15: "0.86", 2**16: "1.74", 2**21: "51.4"}


def iteration_table(studies, covariance_type):
    found = {}
    for study in studies:
        for each in study["speed"]["iterations"]:
            if each["covariance_type"] == covariance_type and each["seconds"] is not None:
                seconds = found.setdefault((each["rows"], each["components"], each["columns"]), {})
                # Later studies measure one algorithm anew, and batch beside it.
                if each["algorithm"] != "batch" or ("batch", each["device"]) not in seconds:
                    seconds[each["algorithm"], each["device"]] = each["seconds"]
    names = [name for name in NAMES if any((name, "cuda:0") in seconds for seconds in found.values())]
    rows = []
    for (count, components, columns), seconds in found.items():
        row = [f"{rows_word(count)}, {components}, {columns}"]
        for name in names:
            both = [seconds[name, device] for device in ("cuda:0", "cuda:0,1") if (name, device) in seconds]
            row.append(", ".join(milliseconds(each) for each in both))
        if covariance_type == "diag":
            row.append("30" if (count, components) == (2**20, 10) else PAPER_MILLISECONDS.get(count, ""))
        rows.append(row)
    titles = ["rows, K, d", *(f"{name}: one, two GPUs" if name == "batch" else name for name in names)]
    return table(titles + ["paper"] * (covariance_type == "diag"), rows)


def reach(studies, name, device="cuda:0"):
    """Passes and seconds of one algorithm to batch's likelihood."""
    for study in studies if name == "batch" else reversed(studies):
        for each in study["speed"]["reach"]:
            if (each["algorithm"], each["device"]) == (name, device) and each["passes"] is not None:
                return each
    return None


def reach_table(studies):
    rows = []
    for name in NAMES:
        both = [reach(studies, name, device) for device in ("cuda:0", "cuda:0,1")]
        if both[0] is not None:
            rows.append([name, *(text for each in both for text in
                                 ((str(each["passes"]), milliseconds(each["seconds"])) if each else ("", "")))])  # fmt: skip
    return table(["algorithm", "passes, one GPU", "ms", "passes, two GPUs", "ms"], rows)


def spread(values, digits, scale=1):
    return f"{scale * values['mean']:.{digits}f} ± {scale * values['deviation']:.{digits}f}"


def data_table(host, gpu, paper):
    """One data set: host's and GPU's studies (either may be empty), and what the paper reports of each algorithm."""
    kinds = [(word, merged(studies, "data")[0]["algorithms"]) for word, studies in (("host", host), ("H200", gpu)) if studies]
    titles = ["algorithm"]
    for word, _ in kinds:
        titles += [f"{word}: iterations", "mean negative log-likelihood"]
    titles += ["ms a fit on an H200"] * bool(gpu) + ["paper: iterations", "likelihood"]
    rows = []
    for name in NAMES:
        if not all(name in algorithms for _, algorithms in kinds):
            continue
        row = [name]
        for _, algorithms in kinds:
            row += [spread(algorithms[name]["iterations"], 1), spread(algorithms[name]["negative_log_likelihood"], 3)]
        if gpu:
            row.append(spread(kinds[-1][1][name]["seconds"], 1, 1e3))
        rows.append(row + list(paper.get(name, ("", ""))))
    return table(titles, rows)
