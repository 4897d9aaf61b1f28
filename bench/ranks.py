#!/usr/bin/env python3
"""What several processes cost and gain: one rank, two ranks against two threads, messages, and a model of the time of a step.

    cmake --preset mpi -DSHOAL_BENCH=ON && cmake --build build/mpi --target shoal_program rank_costs
    bench/ranks.py build/mpi/bin/shoal build/mpi/bin/rank_costs --folder /dev/shm/rows --output bench/results/ranks-NAME.json

Times of an iteration are the medians of --repeats fits of each kind, which take turns. The files of the models and the histories of
all of them must be equal, or the script ends with status 1. What one rank costs beside a process by itself is less than two fits differ by
on a busy machine, so it is the processor time of an iteration: the difference of a long and a short fit, which take turns with those of the
other kind. The model of a step on R ranks is

    T(R) = fold / R + messages · α + bytes · β

where fold is the time of an iteration of one process of one thread, α and β are fitted to the times of messages of 64 bytes to 1 MB
between two ranks, and messages and bytes are those on the longest way: up the tree of lanes, and down to all ranks. It is checked
at the numbers of ranks that this machine has processors for, and extrapolated beyond as a model.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys

NOUNS = {
    "mixture, full": ["gmm", "fit", "--components", "10", "--init", "random-rows", "--tolerance", "0"],
    "k-means": ["kmeans", "fit", "--clusters", "10", "--init", "random-rows", "--tolerance", "0"],
}
EXTRAPOLATED = [8, 16, 32, 64]


def environment():
    return os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
    }


def output_of(command):
    ended = subprocess.run([str(word) for word in command], env=environment(), capture_output=True, text=True)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with status {ended.returncode}:\n{ended.stderr}")
    return ended.stdout


def fit(arguments, words, rows, ranks, threads):
    """Seconds of an iteration, and what must be equal: the model's file and the history."""
    launcher = [] if ranks is None else [arguments.mpirun, "-n", ranks]
    model = arguments.folder / "model.json"
    answer = json.loads(output_of([
        *launcher, arguments.program, *words, rows, "--max-iterations", arguments.iterations, "--threads", threads,
        "--output", model, "--json"]))
    return answer["loop_seconds"] / answer["loop_iterations"], (model.read_text(), answer["history"])


def by_turns(arguments, words, rows, kinds):
    """The median time of each kind of (ranks, threads); ends the script when one has other bytes."""
    seconds = {kind: [] for kind in kinds}
    expected = None
    for _ in range(arguments.repeats):
        for kind in kinds:
            taken, made = fit(arguments, words, rows, *kind)
            seconds[kind].append(taken)
            expected = expected or made
            if made != expected:
                sys.exit(f"{kind[0]} ranks of {kind[1]} threads give other bytes")
    return {kind: statistics.median(taken) for kind, taken in seconds.items()}


def processor_seconds(arguments, words, rows, launcher, iterations):
    """Of a fit and whoever launches it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output_of([*launcher, arguments.program, *words, rows, "--max-iterations", iterations, "--threads", 1, "--quiet", "--output",
               arguments.folder / "model.json"])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def one_rank_over_alone(arguments, words, rows):
    """Processor time of an iteration of one rank over that of a process by itself: the median of pairs."""
    short, long = 2, 2 + 2 * arguments.iterations
    kinds = [[arguments.mpirun, "-n", 1], []]
    found = []
    for turn in range(arguments.pairs):
        taken = {}
        for launched in (0, 1) if turn % 2 else (1, 0):
            less, more = (processor_seconds(arguments, words, rows, kinds[launched], count) for count in (short, long))
            taken[launched] = more - less
        found.append(taken[0] / taken[1])
    return statistics.median(found)


def statistics_bytes(noun, columns, groups):
    """Bytes of a step's sums, as they are sent."""
    each = 1 + columns + (columns * (columns + 1) // 2 if noun.startswith("mixture") else 0)
    return 8 * (groups * each + 2)


def line_through(points):
    """α and β of the least squares of relative errors."""
    weights = [1 / taken for _, taken in points]
    rows = [(w, w * size, w * taken) for w, (size, taken) in zip(weights, points)]
    aa, ab, bb = (sum(r[i] * r[j] for r in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    ay, by = (sum(r[i] * r[2] for r in rows) for i in (0, 1))
    determinant = aa * bb - ab * ab
    return (ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant


def messages_on_the_way(ranks):
    """Up the binary tree of lanes, then down a binomial one."""
    return 2 * (ranks - 1).bit_length()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("rank_costs", type=pathlib.Path)
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="for rows and models; best a file system in memory")
    parser.add_argument("--rows", type=int, default=1 << 22)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only-one-rank", action="store_true", help="its processor time and nothing else, as on a busy machine")
    parser.add_argument("--pairs", type=int, default=11, help="of fits of one rank and of a process by itself")
    parser.add_argument("--messages", type=int, default=2000, help="how often a message and a merge are timed; fewer on a busy machine")
    parser.add_argument("--most-ranks", type=int, default=min(4, os.cpu_count()))
    parser.add_argument("--output", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)

    rows = arguments.folder / f"{arguments.rows}x{arguments.columns}.npy"
    if not rows.exists():
        output_of([arguments.program, "data", "generate", "--rows", arguments.rows, "--columns", arguments.columns, "--components",
                   "10", "--scalar", "float32", "--output", rows, "--quiet"])

    if arguments.only_one_rank:
        give(arguments, {"fits": {noun: {"one_rank_over_alone_in_processor_time": one_rank_over_alone(arguments, words, rows)}
                                  for noun, words in NOUNS.items()}})
        return

    costs = {ranks: json.loads(output_of([arguments.mpirun, "-n", ranks, arguments.rank_costs, arguments.messages]))
             for ranks in range(2, arguments.most_ranks + 1)}
    alpha, beta = line_through([(size["bytes"], size["message_seconds"]) for size in costs[2]["sizes"]])

    fits = {}
    for noun, words in NOUNS.items():
        alone = (None, 1)
        kinds = [alone, (None, 2), (1, 1)] + [(ranks, 1) for ranks in range(2, arguments.most_ranks + 1)]
        taken = by_turns(arguments, words, rows, kinds)
        size = statistics_bytes(noun, arguments.columns, 10)
        model = {}
        for ranks in [1, *range(2, arguments.most_ranks + 1), *EXTRAPOLATED]:
            messages = messages_on_the_way(ranks)
            seconds = taken[alone] / ranks + messages * alpha + messages * size * beta
            model[ranks] = {"seconds": seconds, "messages": messages, "bytes": messages * size}
            if (ranks, 1) in taken:
                model[ranks]["measured_seconds"] = taken[ranks, 1]
        fits[noun] = {
            "seconds_alone": taken[alone],
            "one_rank_over_alone": taken[1, 1] / taken[alone],
            "one_rank_over_alone_in_processor_time": one_rank_over_alone(arguments, words, rows),
            "two_threads_over_two_ranks": taken[None, 2] / taken[2, 1],
            "statistics_bytes": size,
            "model": model,
        }

    give(arguments, {"repeats": arguments.repeats, "alpha_seconds": alpha, "beta_seconds_per_byte": beta, "costs": costs,
                     "fits": fits})


def give(arguments, measured):
    made = {
        "date": datetime.date.today().isoformat(),
        "machine": {"processor": platform.processor() or platform.machine(), "processors": os.cpu_count(),
                    "load": os.getloadavg()},
        "mpi": output_of([arguments.mpirun, "--version"]).splitlines()[0],
        "rows": arguments.rows, "columns": arguments.columns, "components": 10, "pairs": arguments.pairs, **measured,
    }
    text = json.dumps(made, indent=1)
    if arguments.output:
        arguments.output.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
