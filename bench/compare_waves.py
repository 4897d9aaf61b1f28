"""FitzHugh–Nagumo waves compared with numba, LAPACK and SUNDIALS on the host: python bench/compare_waves.py BUILD [OUT.json].

BUILD/bin holds `shoal` and `tridiagonal_systems` (-DSHOAL_BENCH=ON). Needs numpy, scipy, numba and scikit-sundae. Each comparison
takes its turns with its peer, so that both meet the same neighbours; the least and the median of the turns are kept. Floors are the
bytes that must move at the rate at which this machine copies.
"""

import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numba
import numpy as np
import scipy
import sksundae
from scipy.fft import dct
from scipy.linalg import lapack

THREADS = 2
NODES = 1 << 22
TURNS = int(os.environ.get("TURNS", "7"))
A, GAMMA, EPSILON, LENGTH, END = 0.01, 2.0, 0.01, 200.0, 100.0


@numba.njit(parallel=True, fastmath=False)
def numba_step(v, w, new_v, new_w, step, spread, a, gamma, epsilon):
    last = v.size - 1
    for i in numba.prange(v.size):
        before = v[i - 1] if i > 0 else v[1]
        behind = v[i + 1] if i < last else v[last - 1]
        new_v[i] = v[i] + spread * (before + behind - 2 * v[i]) + step * (v[i] * (1 - v[i]) * (v[i] - a) - w[i])
        new_w[i] = w[i] + step * epsilon * (v[i] - gamma * w[i])


def numba_milliseconds(scalar, steps=16):
    middle = (NODES - 1) / 2
    v = np.exp(-((np.arange(NODES) - middle) * 0.5) ** 2 / 10).astype(scalar)
    w = np.zeros(NODES, scalar)
    other_v, other_w = np.empty_like(v), np.empty_like(w)
    constants = [scalar(x) for x in (0.1, 0.1 / 0.25, A, GAMMA, EPSILON)]
    numba_step(v, w, other_v, other_w, *constants)
    begin = time.perf_counter()
    for _ in range(steps // 2):
        numba_step(v, w, other_v, other_w, *constants)
        numba_step(other_v, other_w, v, w, *constants)
    return 1e3 * (time.perf_counter() - begin) / steps


def shoal_wave(folder, *words):
    answer = subprocess.run([folder / "shoal", "wave", "run", "--json", *map(str, words)], check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)


def explicit_milliseconds(folder, scalar, steps=2048):  # beside so many, keeping the first and the last state takes little
    return 1e3 * shoal_wave(folder, "--preset", "impulse", "--nodes", NODES, "--step", 0.1, "--time", 0.1 * steps, "--scalar",
                            np.dtype(scalar).name, "--threads", THREADS)["seconds_per_step"]


def copy_rate():
    """Bytes a second that two arrays of 128 MiB move at, read and written."""
    one, other = np.zeros(1 << 24), np.zeros(1 << 24)
    best = 0
    for _ in range(5):
        begin = time.perf_counter()
        parallel_copy(one, other)
        best = max(best, 3 * one.nbytes / (time.perf_counter() - begin))
    return best


@numba.njit(parallel=True)
def parallel_copy(a, b):
    for i in numba.prange(a.size):
        b[i] = a[i]


def lapack_milliseconds():
    lower, diagonal, upper = np.full(NODES - 1, -1.0), np.full(NODES, 3.0), np.full(NODES - 1, -1.5)
    right = np.arange(NODES) % 1000 * 1e-3
    begin = time.perf_counter()
    *_, x, info = lapack.dgtsv(lower, diagonal, upper, right, overwrite_dl=1, overwrite_d=1, overwrite_du=1, overwrite_b=1)
    seconds = time.perf_counter() - begin
    assert info == 0
    return 1e3 * seconds, x[NODES // 2]


def partition_milliseconds(folder, threads):
    words = subprocess.run([folder / "tridiagonal_systems", "partition", str(NODES), str(threads), "3"], check=True,
                           capture_output=True, text=True).stdout.split()
    return float(words[0]), float(words[2])


def spectral_reference(modes=1536, step=0.005):
    """The coefficients of v's cosines at t = END: Runge–Kutta of fourth order with an integrating factor."""
    x = np.arange(modes + 1) * LENGTH / modes

    def transform(values):
        out = dct(values, 1) / modes
        out[[0, -1]] /= 2
        return out

    def values(coefficients):
        return (dct(coefficients, 1) + coefficients[0] + (-1.0) ** np.arange(modes + 1) * coefficients[-1]) / 2

    squares = (np.arange(modes + 1) * np.pi / LENGTH) ** 2
    half, whole = np.exp(-squares * step / 2), np.exp(-squares * step)

    def rates(v, w):
        at = values(v)
        return transform(at * (1 - at) * (at - A)) - w, EPSILON * (v - GAMMA * w)

    v, w = transform(np.exp(-((x - LENGTH / 2) ** 2) / 10)), np.zeros(modes + 1)
    for _ in range(round(END / step)):
        v1, w1 = rates(v, w)
        v2, w2 = rates(half * (v + step / 2 * v1), w + step / 2 * w1)
        v3, w3 = rates(half * v + step / 2 * v2, w + step / 2 * w2)
        v4, w4 = rates(whole * v + step * half * v3, w + step * w3)
        v = whole * v + step / 6 * (whole * v1 + 2 * half * (v2 + v3) + v4)
        w = w + step / 6 * (w1 + 2 * w2 + 2 * w3 + w4)
    return v


def reference_at(coefficients, nodes):
    x = np.linspace(0, LENGTH, nodes)
    waves = np.arange(coefficients.size) * np.pi / LENGTH
    return np.concatenate([np.cos(np.outer(part, waves)) @ coefficients for part in np.array_split(x, 16)])


@numba.njit
def rates_of(y, out, weight):
    nodes = y.size // 2
    for i in range(nodes):
        v, w = y[2 * i], y[2 * i + 1]
        before = y[2 * i - 2] if i > 0 else y[2]
        behind = y[2 * i + 2] if i < nodes - 1 else y[2 * i - 2]
        out[2 * i] = weight * (before + behind - 2 * v) + v * (1 - v) * (v - A) - w
        out[2 * i + 1] = EPSILON * (v - GAMMA * w)


def sundials(nodes, tolerance):
    spacing = LENGTH / (nodes - 1)
    weight = 1 / spacing**2
    begin_state = np.zeros(2 * nodes)
    begin_state[::2] = np.exp(-((np.arange(nodes) * spacing - LENGTH / 2) ** 2) / 10)

    def rates(t, y, out):
        rates_of(y, out, weight)

    solver = sksundae.cvode.CVODE(rates, method="BDF", rtol=tolerance, atol=tolerance, linsolver="band", lband=2, uband=2,
                                  max_num_steps=1000000)
    begin = time.perf_counter()
    found = solver.solve(np.array([0.0, END]), begin_state)
    return time.perf_counter() - begin, found.y[-1][::2]


def shoal_impulse(folder, nodes, *words):
    with tempfile.TemporaryDirectory() as out:
        path = pathlib.Path(out) / "states.npy"
        answer = shoal_wave(folder, "--preset", "impulse", "--nodes", nodes, "--spacing", repr(LENGTH / (nodes - 1)), "--times", END,
                            "--threads", 1, "--output", path, *words)
        return answer["seconds"], np.load(path)[-1, 0]


def turns(*measures):
    """Each measure in its turn, TURNS times: the least and the median of each."""
    seen = [[] for _ in measures]
    for _ in range(TURNS):
        for times, measure in zip(seen, measures):
            times.append(measure())
    return [{"least": min(times), "median": statistics.median(times)} for times in seen]


def main():
    build = pathlib.Path(sys.argv[1])
    folder = build / "bin"
    numba.set_num_threads(THREADS)
    parallel_copy(np.zeros(8), np.zeros(8))
    rates_of(np.zeros(8), np.zeros(8), 1.0)
    out = {"date": datetime.date.today().isoformat(), "threads": THREADS, "nodes": NODES, "turns": TURNS,
           "versions": {"numpy": np.__version__, "scipy": scipy.__version__, "numba": numba.__version__,
                        "scikit-sundae": sksundae.__version__},
           "processor": next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
           "load_average": os.getloadavg()[0]}
    rate = copy_rate()
    out["bytes_per_second"] = rate
    for scalar in (np.float64, np.float32):
        name = np.dtype(scalar).name
        ours, theirs = turns(lambda: explicit_milliseconds(folder, scalar), lambda: numba_milliseconds(scalar))
        pass_floor = 1e3 * 4 * NODES * np.dtype(scalar).itemsize / rate
        out[f"explicit_{name}"] = {"shoal_ms": ours, "numba_ms": theirs, "one_pass_floor_ms": pass_floor,
                                   "ratio_of_least": theirs["least"] / ours["least"],
                                   "ratio_of_medians": theirs["median"] / ours["median"]}
        print(f"explicit {name}: shoal {ours}, numba {theirs}, {theirs['least'] / ours['least']:.2f} x", flush=True)
    results = {}
    def solve(key, measure):
        def run():
            milliseconds, value = measure()
            results.setdefault(key, value)
            return milliseconds
        return run
    two, one, theirs = turns(solve("two", lambda: partition_milliseconds(folder, 2)), solve("one", lambda: partition_milliseconds(folder, 1)),
                             solve("lapack", lapack_milliseconds))
    assert abs(results["two"] - results["lapack"]) < 1e-12 and results["one"] == results["two"]
    out["tridiagonal_float64"] = {"two_threads_ms": two, "one_thread_ms": one, "dgtsv_ms": theirs, "floor_72_bytes_ms": 1e3 * 72 * NODES / rate,
                                  "ratio_of_least": theirs["least"] / two["least"], "ratio_of_medians": theirs["median"] / two["median"]}
    print(f"tridiagonal: two threads {two}, one {one}, dgtsv {theirs}, {theirs['least'] / two['least']:.2f} x", flush=True)
    reference = spectral_reference()
    again = spectral_reference(1024, 0.01)
    out["reference_difference"] = float(np.abs(reference_at(reference, 401) - reference_at(again, 401)).max())
    cases = {}
    errors = {}
    def case(name, nodes, measure):
        def run():
            seconds, v = measure()
            errors[name] = float(np.abs(v - reference_at(reference, nodes)).max())
            return seconds
        cases[name] = run
    case("cvode 6401", 6401, lambda: sundials(6401, 1e-6))
    case("crank-nicolson 6401 step 0.05", 6401,
         lambda: shoal_impulse(folder, 6401, "--scheme", "crank-nicolson", "--step", 0.05, "--newton-accuracy", 1e-8))
    case("tr-bdf2 6401 tolerance 1e-6", 6401, lambda: shoal_impulse(folder, 6401, "--scheme", "tr-bdf2", "--tolerance", 1e-6))
    case("explicit order 4, 501", 501, lambda: shoal_impulse(folder, 501, "--order", 4))
    case("explicit order 4, 601", 601, lambda: shoal_impulse(folder, 601, "--order", 4))
    seen = turns(*cases.values())
    out["impulse_to_1e-4"] = {name: {"seconds": seconds, "error": errors[name], "ratio_to_cvode": seconds["least"] / seen[0]["least"]}
                              for name, seconds in zip(cases, seen)}
    for name, one_case in out["impulse_to_1e-4"].items():
        print(name, one_case, flush=True)
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
