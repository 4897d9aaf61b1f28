#!/usr/bin/env python3
"""Times one iteration by two builds of the command line, in turns and on the same data: is a change slower?

    bench/compare_builds.py OLD/bin/shoal NEW/bin/shoal --device cuda --output bench/results/NAME.json
    bench/compare_builds.py PLAIN/bin/shoal HARDENED/bin/shoal --small --repeats 9 --output bench/results/hardening-CPU-DATE.json

Prints for each shape the least of each build in milliseconds and the ratio of medians. Data are drawn once, by OLD, into
--folder, and stay there.
"""

import argparse
import json
import statistics
import subprocess
from pathlib import Path

# What is fitted: its name, rows, columns, components of the data, the verb and its options.
SHAPES = [
    ("mixture, full, 2^20 x 8, K = 10", 1 << 20, 8, 10, "gmm", "--components 10 --max-iterations 200"),
    ("mixture, full, 46,800 x 8, K = 8", 46800, 8, 8, "gmm", "--components 8 --max-iterations 300"),
    ("mixture, full, 581,012 x 54, K = 7", 581012, 54, 7, "gmm", "--components 7 --max-iterations 60"),
    ("mixture, full, 2^20 x 32, K = 64", 1 << 20, 32, 64, "gmm", "--components 64 --max-iterations 40"),
    ("mixture, tied, 2^20 x 32, K = 64", 1 << 20, 32, 64, "gmm", "--components 64 --covariance tied --max-iterations 30"),
    ("mixture, diag, 10^6 x 128, K = 64", 10**6, 128, 64, "gmm", "--components 64 --covariance diag --max-iterations 20"),
    ("mixture, spherical, 10^6 x 128, K = 64", 10**6, 128, 64, "gmm",
     "--components 64 --covariance spherical --max-iterations 20"),
    ("SQUAREM, full, 2^20 x 8, K = 10", 1 << 20, 8, 10, "gmm", "--components 10 --accelerate squarem --max-iterations 100"),
    ("k-means, 10^7 x 2, K = 2", 10**7, 2, 2, "kmeans", "--clusters 2 --max-iterations 200"),
    ("k-means, 10^5 x 2, K = 128", 10**5, 2, 128, "kmeans", "--clusters 128 --max-iterations 300"),
    ("k-means, 10^6 x 16, K = 64", 10**6, 16, 64, "kmeans", "--clusters 64 --max-iterations 100"),
    ("k-means, 2^22 x 32, K = 256", 1 << 22, 32, 256, "kmeans", "--clusters 256 --max-iterations 60"),
    ("k-means, 2^20 x 128, K = 1024", 1 << 20, 128, 64, "kmeans", "--clusters 1024 --max-iterations 40"),
    ("map, 10^6 x 16 on 50 x 50", 10**6, 16, 64, "som", "--width 50 --height 50 --epochs 20"),
]
LARGE = [
    ("mixture, full, 2^27 x 16, K = 10", 1 << 27, 16, 10, "gmm", "--components 10 --max-iterations 20"),
    ("mixture, diag, 2^27 x 16, K = 10", 1 << 27, 16, 10, "gmm", "--components 10 --covariance diag --max-iterations 20"),
    ("k-means, 2^27 x 16, K = 10", 1 << 27, 16, 10, "kmeans", "--clusters 10 --max-iterations 20"),
]
# What two cores of a host do in milliseconds.
SMALL = [
    ("mixture, full, 2^18 x 8, K = 10", 1 << 18, 8, 10, "gmm", "--components 10 --max-iterations 100"),
    ("mixture, full, 65,536 x 54, K = 7", 1 << 16, 54, 7, "gmm", "--components 7 --max-iterations 60"),
    ("mixture, full, 2^16 x 32, K = 32", 1 << 16, 32, 32, "gmm", "--components 32 --max-iterations 30"),
    ("mixture, diag, 2^18 x 8, K = 10", 1 << 18, 8, 10, "gmm", "--components 10 --covariance diag --max-iterations 200"),
    ("k-means, 2^22 x 2, K = 2", 1 << 22, 2, 2, "kmeans", "--clusters 2 --max-iterations 200"),
    ("k-means, 10^5 x 2, K = 128", 10**5, 2, 128, "kmeans", "--clusters 128 --max-iterations 300"),
    ("k-means, 2^20 x 16, K = 64", 1 << 20, 16, 64, "kmeans", "--clusters 64 --max-iterations 60"),
    ("k-means, 2^17 x 128, K = 256", 1 << 17, 128, 64, "kmeans", "--clusters 256 --max-iterations 20"),
    ("map, 10,000 x 12 on 100 x 100", 10**4, 12, 64, "som", "--width 100 --height 100 --epochs 20"),
]


def data_file(program, folder, rows, columns, components):
    file = folder / f"{rows}x{columns}x{components}.npy"
    if not file.exists():
        command = [program, "data", "generate", "--rows", rows, "--columns", columns, "--components", components]
        command += ["--mean-scale", 8, "--scalar", "float32", "--output", file, "--quiet"]
        subprocess.run([str(word) for word in command], check=True)
    return file


def seconds(program, noun, file, options, device):
    command = [program, noun, "fit", str(file), *options.split(), "--device", device, "--json", "--quiet"]
    if noun != "som":
        command += ["--init", "random-rows", "--tolerance", "0"]
    fitted = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    steps = fitted["loop_epochs"] if "loop_epochs" in fitted else fitted["loop_iterations"]
    return fitted["loop_seconds"] / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="part of a name")
    parser.add_argument("--large", action="store_true", help="the shapes of 8 GiB too")
    parser.add_argument("--small", action="store_true", help="other shapes, of milliseconds on a host")
    parser.add_argument("--folder", type=Path, default=Path("build/bench-data"))
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)

    measured = []
    for name, rows, columns, components, noun, options in SMALL if arguments.small else SHAPES + LARGE * arguments.large:
        if arguments.only not in name:
            continue
        file = data_file(arguments.old, arguments.folder, rows, columns, components)
        times = {"old": [], "new": []}
        for _ in range(arguments.repeats):
            for build in times:
                times[build].append(seconds(getattr(arguments, build), noun, file, options, arguments.device))
        ratio = statistics.median(times["new"]) / statistics.median(times["old"])
        print(f"{name:40s} {1e3 * min(times['old']):10.4f} {1e3 * min(times['new']):10.4f} ms  {ratio:.3f}", flush=True)
        measured.append({"name": name, "seconds": times, "ratio_of_medians": ratio})
    if arguments.output:
        arguments.output.write_text(json.dumps({"device": arguments.device, "measured": measured}, indent=1) + "\n")


if __name__ == "__main__":
    main()
