"""What others take for an iteration of a cell of bench/grid.py, in the same class of precision: PyTorch, gmmx and flash-kmeans
on a GPU, scikit-learn, scikit-learn-intelex and FAISS on the host. A peer that is not installed is named in `missing`."""

import importlib
import os
import statistics
import time
import warnings

import numpy as np

# Products that peers round no more than shoal does in this precision; flash-kmeans multiplies float32 rows in TF32.
GPU_CLASSES = {
    ("float32", "float32"): ("torch_float32", "gmmx"),
    ("float32", "tf32"): ("torch_tf32", "flash_kmeans_float32"),
    ("float32", "bf16"): ("flash_kmeans_float16",),
    ("float64", "float32"): ("torch_float64",),
}
MODULES = {
    "cuda": {"torch": "torch", "jax": "jax", "gmmx": "gmmx", "flash_kmeans": "flash_kmeans"},
    "cpu": {"sklearn": "scikit-learn", "sklearnex": "scikit-learn-intelex", "faiss": "FAISS"},
}
REPEATS = 3
# Seconds of a peer's shortest fit beyond which one pair of fits must do, and multiply-adds beyond which none is asked.
LONG, MOST_WORK = 1.0, {"cuda": 2e11, "cpu": 5e8}
# Seconds of an iteration on a GPU beyond which one difference must do.
LONG_ON_GPU = 0.02


def rows_and_start(cell):
    """Uniform rows, and for k-means some of them; for the others places in the same cube."""
    random = np.random.default_rng(1)
    rows = 2 * random.random((cell["rows"], cell["columns"]), dtype=cell["scalar"]) - 1
    if cell["family"] == "kmeans":
        return rows, rows[:: cell["rows"] // cell["components"]][: cell["components"]].copy()
    return rows, (random.random((cell["components"], cell["columns"])) - 0.5).astype(cell["scalar"])


class DeviceRows:
    """Uniform rows in a GPU's memory: the first of one long row of values, drawn once for each scalar."""

    def __init__(self, torch):
        self.torch, self.values = torch, {}

    def rows_and_start(self, cell):
        scalar = getattr(self.torch, cell["scalar"])
        count = cell["rows"] * cell["columns"]
        held = self.values.get(scalar)
        if held is None or len(held) < count:
            self.values[scalar] = held = None  # before there is more
            self.values[scalar] = held = self.torch.rand(count, dtype=scalar, device="cuda").mul_(2).sub_(1)
        rows = held[:count].view(cell["rows"], cell["columns"])
        if cell["family"] == "kmeans":
            return rows, rows[:: cell["rows"] // cell["components"]][: cell["components"]].cpu().numpy()
        random = np.random.default_rng(1)
        return rows, (random.random((cell["components"], cell["columns"])) - 0.5).astype(cell["scalar"])


def clock(run):
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def least_difference(run):
    """Seconds an iteration of run(iterations), which returns how many it did: medians of a longer fit less a shorter one."""
    few, many, repeats = (1, 2, 1) if clock(lambda: run(1)) > LONG else (1, 5, REPEATS)

    def timed(iterations):
        begin = time.perf_counter()
        done = run(iterations)
        return time.perf_counter() - begin, done

    found = []
    for _ in range(repeats):
        (short, fewer), (long, more) = timed(few), timed(many)
        if more > fewer:
            found.append((long - short) / (more - fewer))
    return statistics.median(found) if found else None


class Peers:
    def __init__(self, device, any_work=False):
        self.device, self.here, self.missing, self.device_rows = device, {}, {}, None
        self.most_work = float("inf") if any_work else MOST_WORK[device]
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # JAX would take three quarters of a GPU's memory
        for module, name in MODULES[device].items():
            try:
                self.here[module] = importlib.import_module(module)
            except (ImportError, OSError, RuntimeError, AttributeError) as failure:
                self.missing[name] = str(failure).splitlines()[0]
        self.missing |= {"maps" if device == "cpu" else "tied mixtures": "no peer here computes them"}

    def measure(self, cell):
        """Seconds an iteration by each peer; nothing for one that cannot."""
        if cell["rows"] * cell["columns"] * cell["components"] * (cell["columns"] if cell["type"] in ("full", "tied") else 1) > self.most_work:
            return {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that fits of stated length did not converge
            found = self.on_gpu(cell) if self.device == "cuda" else self.on_host(cell)
        return {name: seconds for name, seconds in found.items() if seconds is not None and seconds > 0}

    def on_host(self, cell):
        if cell["family"] == "som":
            return {}
        rows, start = rows_and_start(cell)
        if cell["family"] == "gmm":
            return {"scikit-learn": least_difference(self.mixture(cell, rows, start))} if "sklearn" in self.here else {}
        runs = {}
        for module in ("sklearn", "sklearnex"):
            if module in self.here:
                KMeans = importlib.import_module(f"{module}.cluster").KMeans

                def run(iterations, KMeans=KMeans):
                    return KMeans(len(start), init=start, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd").fit(rows).n_iter_

                runs[MODULES["cpu"][module]] = run
        if "faiss" in self.here and cell["scalar"] == "float32":
            runs["FAISS"] = lambda iterations: self.faiss_kmeans(rows, start, iterations)
        return {name: least_difference(run) for name, run in runs.items()}

    def faiss_kmeans(self, rows, start, iterations):
        faiss = self.here["faiss"]
        fit = faiss.Clustering(rows.shape[1], len(start))
        fit.niter, fit.max_points_per_centroid, fit.min_points_per_centroid = iterations, len(rows), 1
        fit.centroids.resize(start.size)
        faiss.copy_array_to_vector(np.ascontiguousarray(start).ravel(), fit.centroids)
        fit.train(rows, faiss.IndexFlatL2(rows.shape[1]))
        return iterations

    def mixture(self, cell, rows, start):
        from sklearn.mixture import GaussianMixture

        components, columns = start.shape
        precisions = {
            "full": lambda: np.tile(3 * np.eye(columns), (components, 1, 1)),
            "tied": lambda: 3 * np.eye(columns),
            "diag": lambda: np.full((components, columns), 3.0),
            "spherical": lambda: np.full(components, 3.0),
        }[cell["type"]]().astype(rows.dtype)

        def run(iterations):
            fit = GaussianMixture(components, covariance_type=cell["type"], tol=0, max_iter=iterations, reg_covar=1e-3,
                                  weights_init=np.full(components, 1 / components, rows.dtype), means_init=start,
                                  precisions_init=precisions, init_params="random_from_data")  # fmt: skip
            return fit.fit(rows).n_iter_

        return run

    def on_gpu(self, cell):
        import compare_gpu
        import compare_maps_gpu

        classes = GPU_CLASSES[(cell["scalar"], cell["precision"])]
        torch = self.here.get("torch")
        if torch is None or cell["type"] == "tied":
            return {}
        self.device_rows = self.device_rows or DeviceRows(torch)
        rows, start = self.device_rows.rows_and_start(cell)
        if cell["family"] == "som":  # best-matching units alone: what a map's epoch begins with
            tf32 = cell["precision"] != "float32"
            return {"torch_units": compare_maps_gpu.torch_units(rows, start, tf32) / 1e3}
        if cell["family"] == "gmm" and (cell["rows"] * cell["components"] > 2**31 or cell["type"] == "full" and len(start) > 1000):
            return {}  # PyTorch's would take arrays beyond memory, or minutes in a loop over components
        # In float64 those that are written for float32 rows are asked for.
        wanted = [name.replace("float64", "float32") for name in classes]
        make = compare_gpu.kmeans_peers if cell["family"] == "kmeans" else compare_gpu.mixture_peers
        arguments = (rows, start, 10) if cell["family"] == "kmeans" else (cell["type"], rows, start, 10)
        here = {name: module for name, module in self.here.items() if name == "torch" or cell["scalar"] == "float32"}
        found = {}
        for name, given in zip(classes, wanted):
            try:
                for run in make(here, *arguments, wanted=(given,)).values():
                    first = run()
                    found[name] = first if first > LONG_ON_GPU else statistics.median([first, run(), run()])
            except Exception as failure:  # of a peer, of any kind: it is told, and the others go on
                shape = f"({cell['rows']}, {cell['columns']}, {cell['components']})"
                self.missing[f"{name} for {shape}"] = (str(failure) or type(failure).__name__).splitlines()[0][:120]
        torch.cuda.empty_cache()
        return found
