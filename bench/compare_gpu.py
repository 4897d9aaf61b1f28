#!/usr/bin/env python3
"""Compares shoal on a GPU with its peers there, one after the other on the same data from the same start.

Peers that are not installed are left out, and named: PyTorch (the matrix-product formulation, written here), gmmx (JAX),
flash-kmeans (Triton). Milliseconds an iteration are the difference of a longer and a shorter fit over the difference of their
iterations; shoal's fits are timed by their loops, peers' by the clock after a first run that compiles. Medians
over repeats, the programs taking turns. The floors are the bytes of the rows read once, and the multiply-adds that symmetry and
triangularity leave, at the rates that PyTorch reaches here in a copy and in float32 and TF32 matrix products.
"""

import argparse
import datetime
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Family, covariance type, rows, columns, components, milliseconds that the project wants to stay under, iterations.
CASES = [
    ("gmm", "full", 46800, 8, 8, 0.016, 2000),
    ("gmm", "full", 2**20, 8, 10, 0.065, 500),
    ("gmm", "full", 581012, 54, 7, 0.7, 100),
    ("gmm", "full", 2**20, 32, 64, 2.8, 40),
    ("gmm", "full", 2**20, 128, 32, 14, 10),
    ("gmm", "diag", 2**20, 8, 10, 0.07, 500),
    ("gmm", "diag", 10**6, 128, 1024, 9, 40),
    ("gmm", "spherical", 2**20, 8, 10, 0.05, 500),
    ("gmm", "spherical", 10**6, 128, 1024, 5, 40),
    ("gmm", "tied", 2**20, 32, 64, None, 40),
    ("kmeans", None, 10**7, 2, 2, 0.04, 20),
    ("kmeans", None, 10**5, 2, 128, 0.02, 100),
    ("kmeans", None, 10**5, 128, 2, 0.03, 20),
    ("kmeans", None, 10**6, 16, 64, 0.1, 40),
    ("kmeans", None, 2**22, 32, 256, 0.9, 20),
    ("kmeans", None, 2**20, 128, 1024, 2.6, 10),
    ("kmeans", None, 2**24, 128, 1000, 40, 5),
]


def peers_here():
    found = {}
    for name in ("torch", "jax", "gmmx", "flash_kmeans"):
        try:
            found[name] = __import__(name)
        except ImportError as failure:
            print(f"without {name}: {failure}")
    return found


def event_seconds(torch, run):
    """Seconds that work in PyTorch's stream takes."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    run()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1e3


def median_of(count, run):
    return statistics.median(run() for _ in range(count))


def peaks(torch):
    """Bytes a second of a copy (read and written) and multiply-adds a second of matrix products."""
    source = torch.empty(2**28, device="cuda").normal_()
    target = torch.empty_like(source)
    target.copy_(source)
    found = {"copy_bytes": 2 * source.nbytes / median_of(9, lambda: event_seconds(torch, lambda: target.copy_(source)))}
    for name, scalar in (("float32", "float32"), ("tf32", "float32"), ("bf16", "bfloat16"), ("float64", "float64")):
        a = torch.randn(8192, 8192, device="cuda", dtype=getattr(torch, scalar))
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        a @ a
        found[f"{name}_multiply_adds"] = 8192**3 / median_of(5, lambda a=a: event_seconds(torch, lambda: a @ a))
    torch.backends.cuda.matmul.allow_tf32 = False
    return found


class TorchMixture:
    """EM by matrix products over all rows at once, as a user of PyTorch would write it."""

    def __init__(self, torch, data, means, kind):
        self.torch, self.x, self.kind = torch, data, kind
        self.start = means

    def run(self, iterations):
        torch, x = self.torch, self.x
        rows, columns = x.shape
        mu = self.start.clone()
        components = len(mu)
        log_weights = torch.full((components,), -np.log(components), device=x.device, dtype=x.dtype)
        if self.kind == "full":
            upper = torch.eye(columns, device=x.device, dtype=x.dtype).repeat(components, 1, 1)
        else:
            precision = torch.ones(components, columns, device=x.device, dtype=x.dtype)
        for _ in range(iterations):
            if self.kind == "full":
                log_p = torch.empty(rows, components, device=x.device, dtype=x.dtype)
                for k in range(components):
                    y = (x - mu[k]) @ upper[k]
                    log_p[:, k] = -0.5 * (y * y).sum(1) + upper[k].diagonal().log().sum() + log_weights[k]
            else:
                square = (x * x) @ precision.T - 2 * x @ (mu * precision).T + (mu * mu * precision).sum(1)
                log_p = -0.5 * square + 0.5 * precision.log().sum(1) + log_weights
            r = torch.softmax(log_p, 1)
            total = r.sum(0)
            mu = (r.T @ x) / total[:, None]
            log_weights = (total / rows).log()
            if self.kind == "full":
                for k in range(components):
                    z = x - mu[k]
                    covariance = (r[:, k : k + 1] * z).T @ z / total[k]
                    covariance.diagonal().add_(1e-6)
                    factor = torch.linalg.cholesky(covariance)
                    eye = torch.eye(columns, device=x.device, dtype=x.dtype)
                    upper[k] = torch.linalg.solve_triangular(factor, eye, upper=False).T
            else:
                variance = (r.T @ (x * x)) / total[:, None] - mu * mu + 1e-6
                if self.kind == "spherical":
                    variance = variance.mean(1, keepdim=True).expand(-1, columns)
                precision = 1 / variance
        torch.cuda.synchronize()


def torch_kmeans(torch, data, start, iterations):
    centroids = start.clone()
    for _ in range(iterations):
        labels = torch.empty(len(data), dtype=torch.long, device=data.device)
        half = 0.5 * (centroids * centroids).sum(1)
        for begin in range(0, len(data), 2**20):
            part = data[begin : begin + 2**20]
            labels[begin : begin + 2**20] = (half - part @ centroids.T).argmin(1)
        sums = torch.zeros_like(centroids).index_add_(0, labels, data)
        counts = torch.bincount(labels, minlength=len(centroids)).clamp(min=1)
        centroids = sums / counts[:, None]
    torch.cuda.synchronize()


def differenced(run, few, many):
    """Seconds an iteration of run(iterations); both lengths run once before the clock starts."""

    def timed(iterations):
        begin = time.perf_counter()
        run(iterations)
        return time.perf_counter() - begin

    timed(few), timed(many)
    return lambda: (timed(many) - timed(few)) / (many - few)


def gmmx_run(peers, data, means):
    jax, gmmx = peers["jax"], peers["gmmx"]
    import jax.numpy as jnp
    from gmmx.fit import EMFitter
    from gmmx.gmm import CovarianceType, GaussianMixtureModelJax

    components, columns = means.shape
    x = jnp.asarray(data if isinstance(data, np.ndarray) else data.cpu().numpy())
    model = GaussianMixtureModelJax.from_squeezed(
        means=means,
        covariances=np.tile(np.eye(columns, dtype=np.float32), (components, 1, 1)),
        weights=np.full(components, 1 / components, np.float32),
        covariance_type=CovarianceType.full,
    )
    del gmmx
    return lambda iterations: jax.block_until_ready(EMFitter(max_iter=iterations, tol=0).fit(x=x, gmm=model).gmm.means)


def mixture_peers(peers, kind, data, means, iterations, wanted=("torch_float32", "torch_tf32", "gmmx")):
    runs = {}
    few, many = max(1, iterations // 10), max(2, iterations // 2)
    if "torch" in peers and kind != "tied":
        torch = peers["torch"]
        x, mu = torch.as_tensor(data, device="cuda"), torch.as_tensor(means, device="cuda")
        for name, tf32 in (("torch_float32", False), ("torch_tf32", True)):
            if name not in wanted:
                continue

            def run(count, tf32=tf32):
                torch.backends.cuda.matmul.allow_tf32 = tf32
                TorchMixture(torch, x, mu, kind).run(count)
                torch.backends.cuda.matmul.allow_tf32 = False

            runs[name] = differenced(run, 1, min(many, 4))
    # gmmx makes arrays of rows x components x columns, some at a time; beyond this they do not fit.
    if "gmmx" in wanted and "gmmx" in peers and "jax" in peers and kind == "full" and data.shape[0] * data.shape[1] * len(means) < 3e9:
        runs["gmmx"] = differenced(gmmx_run(peers, data, means), few, many)
    return runs


def kmeans_peers(peers, data, start, iterations, wanted=("torch_float32", "flash_kmeans_float32", "flash_kmeans_float16")):
    runs = {}
    few, many = max(1, iterations // 10), max(3, iterations // 2)
    if "torch" in peers:
        torch = peers["torch"]
        x, c = torch.as_tensor(data, device="cuda"), torch.as_tensor(start, device="cuda")
        if "torch_float32" in wanted:
            runs["torch_float32"] = differenced(lambda count: torch_kmeans(torch, x, c, count), 1, 3)
        if "flash_kmeans" in peers:
            from flash_kmeans.kmeans_triton_impl import batch_kmeans_Euclid

            for name, dtype in (("flash_kmeans_float32", torch.float32), ("flash_kmeans_float16", torch.float16)):
                if name not in wanted:
                    continue
                rows, centroids = x[None].to(dtype), c[None].to(dtype)

                def run(count, rows=rows, centroids=centroids):
                    batch_kmeans_Euclid(rows, len(start), max_iters=count, tol=-1.0, init_centroids=centroids.clone())
                    torch.cuda.synchronize()

                runs[name] = differenced(run, few, many)
    return runs


def write_start(folder, family, kind, start):
    components, columns = start.shape
    if family == "kmeans":
        model = {"format": "shoal/kmeans", "version": 1, "centroids": start.astype(float).tolist()}
    else:
        eye = np.eye(columns)
        covariances = {
            "full": lambda: np.tile(eye, (components, 1, 1)),
            "tied": lambda: eye,
            "diag": lambda: np.ones((components, columns)),
            "spherical": lambda: np.ones(components),
        }[kind]()
        model = {"format": "shoal/gmm", "version": 1, "covariance_type": kind, "weights": [1 / components] * components,
                 "means": start.astype(float).tolist(), "covariances": covariances.tolist()}  # fmt: skip
    path = folder / "start.json"
    path.write_text(json.dumps(model))
    return path


def floor_seconds(family, kind, rows, columns, components, rates):
    """The larger of reading the rows once and of the multiply-adds, these in float32 and three times in TF32."""
    if family == "kmeans":
        work = rows * components * columns
    elif kind in ("full", "tied"):
        work = rows * components * (columns * (columns + 1) + 2 * columns)
    else:
        work = rows * components * 4 * columns
    read = 4 * rows * columns / (rates["copy_bytes"])
    return {
        "multiply_adds": work,
        "bytes": 4 * rows * columns,
        "floor_float32": max(read, work / rates["float32_multiply_adds"]),
        "floor_three_tf32": max(read, 3 * work / rates["tf32_multiply_adds"]),
    }


def measure(case, program, peers, rates, repeats, folder, spread):
    family, kind, rows, columns, components, goal, iterations = case
    random = np.random.default_rng(7)
    means = random.normal(0, spread, (components, columns)).astype(np.float32)
    data = random.standard_normal((rows, columns), dtype=np.float32)
    if family == "gmm":
        data += means[random.integers(components, size=rows)]
        start = means
    else:
        data[: rows // 2] += 0.25
        start = data[random.choice(rows, components, replace=False)]
    np.save(folder / "rows.npy", data)
    path = write_start(folder, family, kind, start)

    def fit(most, precision):
        command = [program, family, "fit", folder / "rows.npy", "--init", path, "--max-iterations", most, "--tolerance", 0,
                   "--scalar", "float32", "--device", "cuda", "--precision", precision, "--json"]  # fmt: skip
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{command}\n{done.stderr}")
        answer = json.loads(done.stdout)
        return answer["loop_seconds"], answer["loop_iterations"]

    def once(precision="float32"):
        (short, few), (long, many) = fit(max(2, iterations // 10), precision), fit(iterations, precision)
        return (long - short) / (many - few)

    runs = mixture_peers(peers, kind, data, start, iterations) if family == "gmm" else kmeans_peers(peers, data, start, iterations)  # fmt: skip

    ours, theirs = [], {name: [] for name in runs}
    for _ in range(repeats):
        ours.append(once())
        for name, run in runs.items():
            theirs[name].append(run())
    result = {"family": family, "covariance_type": kind, "rows": rows, "columns": columns, "components": components,
              "spread": spread, "goal": None if goal is None else goal / 1e3, "shoal": statistics.median(ours),
              "peers": {name: statistics.median(seconds) for name, seconds in theirs.items()},
              **floor_seconds(family, kind, rows, columns, components, rates)}  # fmt: skip
    # Products are rounded where matrix products are what a kernel does.
    rounded = peers and columns >= 16 and columns * components > 256
    result["shoal_rounded"] = {name: once(name) for name in ("tf32", "bf16")} if rounded else {}
    told = ", ".join(f"{name} {1e3 * s:.3f}" for name, s in (result["shoal_rounded"] | result["peers"]).items())
    print(f"{family} {kind or ''} {rows} x {columns}, {components}, spread {spread}: shoal {1e3 * result['shoal']:.4f} ms "
          f"(goal {goal}), floor {1e3 * result['floor_float32']:.3f} / {1e3 * result['floor_three_tf32']:.3f}, {told}",
          flush=True)  # fmt: skip
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ROOT / "build" / "cuda" / "bin" / "shoal"))
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=("gmm", "kmeans"))
    parser.add_argument("--most-values", type=float, default=3e9, help="leave out larger data")
    parser.add_argument("--without-peers", action="store_true")
    chosen = parser.parse_args()
    peers = peers_here()
    torch = peers["torch"]
    rates = peaks(torch)
    print({name: f"{rate:.4g}" for name, rate in rates.items()})
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        for case in CASES:
            if chosen.only not in (None, case[0]) or case[2] * case[3] > chosen.most_values:
                continue
            for spread in (0.3, 3.0) if case[0] == "gmm" else (0.0,):
                peers_now = {} if chosen.without_peers or (case[0] == "gmm" and spread == 3.0) else peers
                results.append(measure(case, chosen.program, peers_now, rates, chosen.repeats, pathlib.Path(scratch), spread))
                torch.cuda.empty_cache()
    name = torch.cuda.get_device_name(0)
    today = datetime.date.today().isoformat()
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / f"{name.lower().replace(' ', '-')}-{today}.json"
    path.write_text(json.dumps({"date": today, "device": name, "torch": torch.__version__, "peaks": rates, "cases": results},
                               indent=1) + "\n")  # fmt: skip


if __name__ == "__main__":
    main()
