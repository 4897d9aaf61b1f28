#!/usr/bin/env python3
"""Seeding, prediction, streaming, maps, long fits of k-means and two GPUs, as one file of tables for docs/performance.md.

    script/build cuda with -DSHOAL_BENCH=ON, then: python3 bench/gpu_parts.py [--programs build/cuda/bin] [--gpus 2]

Runs the programs that measure each part and keeps what they print. Peers of maps (XPySom, PyTorch) are left out where they are not
installed. Writes bench/results/gpu-parts-DEVICE-DATE.json after every part, in place of the same parts of an earlier run of that day;
python3 bench/pages.py then writes the page.
"""

import argparse
import datetime
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def printed(command):
    print("$", *command, flush=True)
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    print(done.stdout, done.stderr, sep="", flush=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} ended with {done.returncode}")
    return done.stdout.splitlines()


def told(command):
    """The command as a page names it, without this machine's folders."""
    return " ".join(pathlib.Path(str(word)).name if "/" in str(word) else str(word) for word in command)


def part(title, command, columns, rows):
    if not rows:
        sys.exit(f"{told(command)} printed no figures that this script knows")
    return {"title": title, "command": told(command), "columns": columns, "rows": rows}


def seeding(programs):
    command = [programs / "device_seeding"]
    rows = [[name.strip(), milliseconds] for line in printed(command)
            for name, milliseconds in re.findall(r"^(k-means\S+|fit from [^0-9]*?) +([0-9.]+) ms", line)]  # fmt: skip
    return part("**Seeding**, 2²⁰ × 32 rows and 64 clusters", command, ["start", "ms"], rows)


def streaming(programs, gpus):
    parts = []
    for count in range(1, gpus + 1):
        command = [programs / "device_streaming", count]
        rows = [[what.strip(), rate] for line in printed(command)
                for what, rate in re.findall(r"GPUs: (.*?) ([0-9.]+) GB/s", line)]  # fmt: skip
        title = f"**Rows beyond a GPU's memory**, {count} GPU{'s' * (count > 1)}"
        parts.append(part(title, command, ["way", "GB/s"], rows))
    return parts


def prediction(programs):
    command = [programs / "gmm_prediction_kernels"]
    pattern = r"^(\w+) +(\d+) x +(\d+) K= *(\d+) spread +([0-9.]+)( plain)?:.*log-density +([0-9.]+), labels +([0-9.]+), probabilities +([0-9.]+)"
    rows = []
    for line in printed(command):
        for kind, count, columns, components, apart, plain, *figures in re.findall(pattern, line):
            rows.append([f"{kind}{plain}, {int(count):,} × {columns}, K = {components}, spread {apart}", *figures])
    return part("**Prediction**, rows and results on the GPU", command,
                ["mixture", "log-densities, ms", "labels, ms", "probabilities, ms"], rows)  # fmt: skip


def steps(programs):
    shapes = "10000000 2 2 100000 2 128 100000 128 2 1000000 16 64 4194304 32 256 1048576 128 1024 16777216 128 1000".split()
    found = {}
    for products in ("float32", "tf32", "bf16"):
        command = [programs / "kmeans_device_iteration", products, *shapes]
        for line in printed(command):
            for *shape, milliseconds in re.findall(r"^ *(\d+) +(\d+) +(\d+) +([0-9.]+) +\d+$", line):
                found.setdefault(tuple(shape), []).append(milliseconds)
    rows = [[f"{int(shape[0]):,}, {shape[1]}, {shape[2]}", *figures] for shape, figures in found.items()]
    return part("**A step of a long k-means fit**", [programs / "kmeans_device_iteration"],
                ["N, d, K", "exact labels, ms", "tf32, ms", "bf16, ms"], rows)  # fmt: skip


def maps(programs):
    command = [sys.executable, ROOT / "bench" / "compare_maps_gpu.py", "--program", programs / "som_device_epoch"]
    peers, ours, shape = [], [], ""
    pattern = r"^ *(\d+) x +(\d+) on (\d+) x (\d+), (\w+) +(\w+) +units +([0-9.]+) +([0-9.]+) +update +([0-9.]+) +epoch +([0-9.]+)"
    for line in printed(command):
        if re.fullmatch(r"\d+ x \d+ on \d+ x \d+", line):
            shape = line.replace("x", "×")
        for what, figure in re.findall(r"^  ((?:XPySom|PyTorch).*?) +([0-9.]+) ms", line):
            peers.append([shape, what, figure])
        for count, columns, width, height, rows, metric, first, trained, update, epoch in re.findall(pattern, line):
            ours.append([f"{int(count):,} × {columns} on {width} × {height}", f"{metric}, {rows}", first, trained, update, epoch])
    titles = ["rows on units", "metric, rows", "units, first codebook, ms", "units, trained, ms", "update, ms", "epoch, ms"]
    parts = [part("**Maps**", [programs / "som_device_epoch", "float32", "euclidean"], titles, ours)]
    if peers:
        parts.append(part("Their peers", [ROOT / "bench" / "compare_maps_gpu.py"], ["rows on units", "what", "ms"], peers))
    return parts


def reach(programs):
    rows = []
    for spread in ("1.3", "0.92", "0.65"):
        for line in printed([programs / "em_reach", 2**20, 8, 10, spread, 5, "cuda", "squarem"]):
            found = re.match(r"^(\S+) +(\d+) +([0-9.]+) +([0-9.]+) +([0-9.]+) +([0-9.]+) +([0-9.]+) +(\d+/\d+)", line)
            if found:
                rows.append([f"N(0, {spread}²)", *found.groups()])
    return part("**Passes to one likelihood**, full covariances, 2²⁰ × 8 rows, K = 10",
                [programs / "em_reach", 2**20, 8, 10, "SPREAD", 5, "cuda", "squarem"], ["means", "algorithm", "passes", "ms a pass", "ms", "batch / this", "least", "greatest", "starts"], rows)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "cuda" / "bin")
    parser.add_argument("--gpus", type=int, default=1, help="how many to stream to")
    parser.add_argument("--parts", default="seeding,streaming,prediction,steps,maps,reach", help="which of them")
    parser.add_argument("--output", type=pathlib.Path, help="the file to write, or to go on with")
    chosen = parser.parse_args()
    makers = {"seeding": lambda: [seeding(chosen.programs)], "streaming": lambda: streaming(chosen.programs, chosen.gpus),
              "prediction": lambda: [prediction(chosen.programs)], "steps": lambda: [steps(chosen.programs)],
              "maps": lambda: maps(chosen.programs), "reach": lambda: [reach(chosen.programs)]}  # fmt: skip
    devices = json.loads(subprocess.run([chosen.programs / "shoal", "devices", "--json"], capture_output=True, text=True, check=True).stdout)  # fmt: skip
    device = devices["cuda"]["devices"][0]["name"]
    today = datetime.date.today().isoformat()
    path = chosen.output or ROOT / "bench" / "results" / f"gpu-parts-{re.sub(r'[^a-z0-9]+', '-', device.lower())}-{today}.json"
    result = json.loads(path.read_text()) if path.exists() else {"date": today, "device": device, "parts": []}
    for name in chosen.parts.split(","):
        made = {each["title"]: each for each in makers[name]()}
        result["parts"] = [made.pop(each["title"], each) for each in result["parts"]] + list(made.values())
        path.write_text(json.dumps(result, indent=1) + "\n")
    print(path)


if __name__ == "__main__":
    main()
