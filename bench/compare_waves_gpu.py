"""Waves on a GPU beside PyTorch and cuSPARSE: python bench/compare_waves_gpu.py PROGRAM [OUT.json].

PROGRAM is `device_waves` (-DSHOAL_BENCH=ON -DSHOAL_CUDA=ON). Needs torch and cuSPARSE's library; a peer that is missing is named in the
output. Times are medians of device events for the peers, and of whole calls with a wait for the device for shoal.
"""

import ctypes
import datetime
import glob
import json
import os
import statistics
import subprocess
import sys

import torch

NODES = 1 << 24
A, GAMMA, EPSILON = 0.1, 2.0, 0.01


def median_milliseconds(work, repeats=11):
    work()
    times = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def axon_step(v, w, step, spread):
    before = torch.cat([v[1:2], v[:-1]])
    behind = torch.cat([v[1:], v[-2:-1]])
    return (v + spread * (before + behind - 2 * v) + step * (v * (1 - v) * (v - A) - w), w + step * EPSILON * (v - GAMMA * w))


def plane_step(v, w, step, spread):
    above = torch.cat([v[1:2], v[:-1]])
    below = torch.cat([v[1:], v[-2:-1]])
    left = torch.cat([v[:, 1:2], v[:, :-1]], 1)
    right = torch.cat([v[:, 1:], v[:, -2:-1]], 1)
    return (
        v + spread * (above + below + left + right - 4 * v) + step * (v * (1 - v) * (v - A) - w),
        w + step * EPSILON * (v - GAMMA * w),
    )


def torch_milliseconds(step_of, shape, scalar, steps=8):
    compiled = torch.compile(step_of)
    v = torch.rand(shape, dtype=scalar, device="cuda")
    w = 0.1 * torch.rand(shape, dtype=scalar, device="cuda")
    step, spread = 0.05, 0.1

    def work():
        state = (v, w)
        for _ in range(steps):
            state = compiled(*state, step, spread)

    return median_milliseconds(work) / steps


def sparse_library():
    places = [os.path.join(folder, "nvidia") for folder in sys.path] + ["/usr/local/cuda"]
    for place in places:
        found = glob.glob(os.path.join(place, "**", "libcusparse.so.*"), recursive=True)
        if found:
            return ctypes.CDLL(found[0])
    return None


def tridiagonal_milliseconds(library, rows):
    def call(name, *arguments):
        status = getattr(library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name}: {status}")

    handle = ctypes.c_void_p()
    call("cusparseCreate", ctypes.byref(handle))
    make = lambda low, high: low + (high - low) * torch.rand(rows, dtype=torch.float64, device="cuda")
    lower, diagonal, upper, right = make(-1, 0), make(3, 4), make(-1, 0), make(-1, 1)
    lower[0] = upper[-1] = 0
    pointer = lambda array: ctypes.c_void_p(array.data_ptr())
    arrays = [pointer(array) for array in (lower, diagonal, upper, right)]
    size = ctypes.c_size_t()
    call("cusparseDgtsv2_nopivot_bufferSizeExt", handle, rows, 1, *arrays, rows, ctypes.byref(size))
    room = torch.empty(size.value, dtype=torch.uint8, device="cuda")
    call("cusparseSetStream", handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
    return median_milliseconds(lambda: call("cusparseDgtsv2_nopivot", handle, rows, 1, *arrays, rows, pointer(room)))


def peers():
    found = {}
    for name, scalar in (("float64", torch.float64), ("float32", torch.float32)):
        found[f"torch compiled, axon, {name}"] = torch_milliseconds(axon_step, (NODES,), scalar)
        found[f"torch compiled, plane, {name}"] = torch_milliseconds(plane_step, (4096, 4096), scalar)
    library = sparse_library()
    found["cuSPARSE gtsv2_nopivot, float64"] = tridiagonal_milliseconds(library, NODES) if library else "libcusparse was not found"
    return found


def main():
    program = sys.argv[1]
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    result = {
        "date": datetime.date.today().isoformat(),
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "shoal": [json.loads(line) for line in lines],
        "peers_milliseconds": peers(),
    }
    text = json.dumps(result, indent=1)
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as file:
            file.write(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
