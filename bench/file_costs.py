#!/usr/bin/env python3
"""Memory, temporary space and seconds that the command line takes for large and for hostile files.

    bench/file_costs.py build/release/bin/shoal [--output bench/results/file-costs-NAME-DATE.json]

Makes each file in a temporary folder (1 GiB at most at a time), reads it once, and prints a line: the file's size, the greatest
resident memory of the process, what it left in TMPDIR's file system at its peak, its seconds and how it ended.
"""

import argparse
import datetime
import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

MIB = 1 << 20


def large_model(path):
    """A mixture of 10,500 components of 1,100 columns."""
    row = ",".join(["0.1234567890123456"] * 1100)
    with open(path, "w") as file:
        file.write('{"format":"shoal/gmm","version":1,"covariance_type":"spherical","means":[')
        for component in range(10_500):
            file.write(f"{',' * (component > 0)}[{row}]")
        ones, weights = ",".join(["1"] * 10_500), ",".join([repr(1 / 10_500)] * 10_500)
        file.write(f'],"weights":[{weights}],"covariances":[{ones}]}}')


def empty_lists(path):
    """As many values that are no numbers as the text can hold."""
    with open(path, "w") as file:
        file.write('{"format":"shoal/gmm","version":1,"means":[')
        for _ in range(200):
            file.write("[]," * (MIB // 3))
        file.write("[]]}")


def padded_lists(path):
    """As many values that are no numbers as the bound lets through: one for each 16 bytes of text."""
    with open(path, "w") as file:
        file.write('{"format":"shoal/gmm","version":1,"means":[')
        for _ in range(200):
            file.write(("[]," + " " * 14) * (MIB // 17))
        file.write("[]]}")


def bomb(path):
    """Zeros: one thousandth of what they unpack to."""
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(1000):
            file.write(b"0,0,0,0\n" * (MIB // 8))


def wide(path):
    with open(path, "w") as file:
        file.write(",".join(["1.5"] * 2_000_000) + "\n")


def one_column(path):
    value = struct.pack("<if", 1, 0.5)
    with open(path, "wb") as file:
        for _ in range(512):
            file.write(value * (MIB // 8))


SAMPLE = ("gmm", "sample", "--rows", "1", "--quiet", "--output", "{folder}/drawn.npy")
CASES = [  # what it is, the file's name, how it is made, the words around its name
    ("model of 210 MiB", "large.json", large_model, SAMPLE),
    ("model of 200 MiB, empty lists", "empty.json", empty_lists, SAMPLE),
    ("model of 200 MiB, padded lists", "padded.json", padded_lists, SAMPLE),
    ("1 MB that unpacks to 1 GB", "bomb.csv.gz", bomb, ("data", "info")),
    ("1 row of 2,000,000 columns", "wide.csv", wide, ("data", "info")),
    ("512 MB of one column", "one.fvecs", one_column, ("data", "info")),
]


def measure(command, folder):
    """Runs it with TMPDIR in the folder; what stands there is looked at every 20 ms."""
    temporary = folder / "temporary"
    temporary.mkdir()
    began, ended, most = time.monotonic(), threading.Event(), [0]
    free = os.statvfs(temporary)

    def watch():
        while not ended.wait(0.02):
            now = os.statvfs(temporary)
            most[0] = max(most[0], (free.f_bfree - now.f_bfree) * now.f_frsize)

    watcher = threading.Thread(target=watch)
    watcher.start()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(temporary)})
    message = process.stderr.read().decode(errors="replace").strip()
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    ended.set()
    watcher.join()
    shutil.rmtree(temporary)
    return {"resident_bytes": used.ru_maxrss * 1024, "temporary_bytes": most[0], "seconds": round(seconds, 3),
            "status": os.waitstatus_to_exitcode(status), "message": message[:300]}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    measured = []
    for name, file, make, words in CASES:
        with tempfile.TemporaryDirectory(prefix="shoal-files-") as place:
            folder = Path(place)
            make(folder / file)
            size = (folder / file).stat().st_size
            told = {"name": name, "file_bytes": size, **measure([options.program, *(word.format(folder=folder) for word in words), str(folder / file)], folder)}
        told["message"] = told["message"].replace(str(folder) + "/", "")
        measured.append(told)
        print(f"{name:32s} {size / MIB:8.1f} MiB, resident {told['resident_bytes'] / MIB:7.1f} MiB, temporary "
              f"{told['temporary_bytes'] / MIB:6.1f} MiB, {told['seconds']:7.2f} s, status {told['status']} {told['message']}",
              flush=True)  # fmt: skip
    if options.output:
        options.output.write_text(json.dumps({"date": datetime.date.today().isoformat(), "measured": measured}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
