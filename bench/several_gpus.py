#!/usr/bin/env python3
"""Times one iteration on 1, 2, 4 and 8 GPUs of one host, resident and streamed, and compares the models' bytes.

    bench/several_gpus.py build/cuda/bin/shoal --folder /dev/shm/rows --output bench/results/several-gpus-NAME.json

Numbers of GPUs that the host lacks are left out, and named. Streamed rows lie in the host's memory (the folder is best a file system
there) and GPUs get --device-memory 256MiB. Rates of streamed fits count each byte of the rows once an iteration. --large adds the
shapes of 128 GiB and more: for hosts with that much memory. A fit's time is that of its loop over its iterations, the least of
--repeats; the models of all numbers of GPUs must be equal to the last byte, or the script ends with status 1.
"""

import argparse
import datetime
import hashlib
import json
import subprocess
import sys
from pathlib import Path

# Name, rows, columns, components of the data, noun, options.
MIXTURE = "--components 10 --init random-rows --tolerance 0 --max-iterations"
SHAPES = [
    ("mixture, full, 2^27 x 16, K = 10", 1 << 27, 16, 10, "gmm", f"{MIXTURE} 40"),
    ("mixture, diag, 2^27 x 16, K = 10", 1 << 27, 16, 10, "gmm", f"{MIXTURE} 40 --covariance diag"),
    ("k-means, 2^27 x 16, K = 10", 1 << 27, 16, 10, "kmeans", "--clusters 10 --init random-rows --tolerance 0 --max-iterations 40"),
    ("map, 2^27 x 16 on 32 x 32", 1 << 27, 16, 10, "som", "--width 32 --height 32 --epochs 8 --init sampled-rows"),
]
STREAMED = "--device-memory 256MiB --memory-limit 0"
LARGE = [
    ("mixture, full, 2^30 x 32, K = 10, streamed", 1 << 30, 32, 10, "gmm", f"{MIXTURE} 5 {STREAMED}"),
    ("map, 10^9 x 50 on 32 x 32, streamed", 10**9, 50, 64, "som", f"--width 32 --height 32 --epochs 10 --init sampled-rows {STREAMED}"),
]


def shapes(large):
    for name, rows, columns, components, noun, options in SHAPES:
        yield name + ", resident", rows, columns, components, noun, options
        yield name + ", streamed", rows, columns, components, noun, f"{options.replace('40', '8')} {STREAMED}"
    if large:
        yield from LARGE


def data_file(program, folder, rows, columns, components):
    file = folder / f"{rows}x{columns}x{components}.npy"
    if not file.exists():
        command = [program, "data", "generate", "--rows", rows, "--columns", columns, "--components", components]
        command += ["--mean-scale", 8, "--scalar", "float32", "--output", file, "--quiet"]
        subprocess.run([str(word) for word in command], check=True)
    return file


def fit(program, noun, file, options, gpus, model):
    """Seconds of an iteration, and a hash of the model's file."""
    device = "cuda:" + ",".join(str(gpu) for gpu in range(gpus))
    command = [program, noun, "fit", str(file), *options.split(), "--device", device, "--output", str(model), "--json", "--quiet"]
    fitted = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    steps = fitted["loop_epochs"] if "loop_epochs" in fitted else fitted["loop_iterations"]
    return fitted["loop_seconds"] / steps, hashlib.sha256(model.read_bytes()).hexdigest()


def devices(program):
    """The names of the GPUs here, from `shoal devices`."""
    text = subprocess.run([program, "devices"], check=True, capture_output=True, text=True).stdout
    return [line.split(None, 1)[1].strip() for line in text.splitlines() if line.startswith("cuda:")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--gpus", default="1,2,4,8", help="numbers of GPUs (1,2,4,8)")
    parser.add_argument("--only", default="", help="part of a shape's name")
    parser.add_argument("--large", action="store_true", help="shapes of 128 GiB and more too")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("build/bench-data"))
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    here = devices(arguments.program)
    wanted = [int(count) for count in arguments.gpus.split(",")]
    counts = [count for count in wanted if count <= len(here)]
    for count in wanted:
        if count not in counts:
            print(f"without {count} GPUs: there are {len(here)}")
    if not counts:
        return 1

    measured, equal = [], True
    for name, rows, columns, components, noun, options in shapes(arguments.large):
        if arguments.only not in name:
            continue
        file = data_file(arguments.program, arguments.folder, rows, columns, components)
        times, hashes = {count: [] for count in counts}, set()
        for _ in range(arguments.repeats):
            for count in counts:
                seconds, digest = fit(arguments.program, noun, file, options, count, arguments.folder / "model.json")
                times[count].append(seconds)
                hashes.add(digest)
        least = {count: min(times[count]) for count in counts}
        gains = "  ".join(f"{count}: {1e3 * least[count]:9.3f} ms ({least[counts[0]] / least[count]:.2f})" for count in counts)
        bytes_read = rows * columns * 4
        print(f"{name:45s} {gains}  {'equal' if len(hashes) == 1 else 'DIFFERENT'} bytes", flush=True)
        equal = equal and len(hashes) == 1
        measured.append({"name": name, "rows": rows, "columns": columns, "options": options, "seconds": times,
                         "gain": {count: least[counts[0]] / least[count] for count in counts},
                         "bytes_a_second": {count: bytes_read / least[count] for count in counts},
                         "equal_models": len(hashes) == 1})  # fmt: skip
    if arguments.output:
        result = {"date": datetime.date.today().isoformat(), "devices": here, "measured": measured}
        arguments.output.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
