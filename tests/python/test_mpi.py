"""shoal.mpi: ranks that speak through mpi4py, each time for at most 20 seconds."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import shoal

pytest.importorskip("mpi4py", reason="mpi4py is not installed")
if shutil.which("mpirun") is None:
    pytest.skip("mpirun is not on the path", allow_module_level=True)

ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
BEGIN = """
import sys
import numpy as np
import shoal, shoal.mpi
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
X = np.load(sys.argv[1], mmap_mode="r")
"""


def run(ranks, program, *arguments):
    command = ["mpirun", "-n", str(ranks), sys.executable, "-c", BEGIN + program, *map(str, arguments)]
    return subprocess.run(command, env=os.environ | ENVIRONMENT, capture_output=True, text=True, timeout=20)


@pytest.fixture
def rows(tmp_path):
    X = np.random.default_rng(0).normal(size=(5000, 3)) * [1, 2, 3]
    np.save(tmp_path / "rows.npy", X)
    return tmp_path / "rows.npy"


def test_ranks_give_the_bits_of_one_process(rows, tmp_path):
    program = """
kmeans = shoal.mpi.fit(shoal.KMeans(7, random_state=3), X)
mixture = shoal.mpi.fit(shoal.GaussianMixture(3, random_state=3, max_iter=5, tol=0), X)
np.savez(f"{sys.argv[2]}/{rank}.npz", centroids=kmeans.cluster_centers_, covariances=mixture.covariances_,
         score=shoal.mpi.score(mixture, X))
"""
    ended = run(3, program, rows, tmp_path)
    assert ended.returncode == 0, ended.stderr
    X = np.load(rows)
    kmeans = shoal.KMeans(7, random_state=3).fit(X)
    with pytest.warns(Warning):
        mixture = shoal.GaussianMixture(3, random_state=3, max_iter=5, tol=0).fit(X)
    for rank in range(3):
        made = np.load(tmp_path / f"{rank}.npz")
        assert np.array_equal(made["centroids"], kmeans.cluster_centers_)
        assert np.array_equal(made["covariances"], mixture.covariances_)
        assert made["score"] == mixture.score(X)


def test_a_rank_that_fails_ends_the_others(rows, tmp_path):
    # In files: mpirun cuts what ranks print at once into each other's lines.
    program = """
def stop(progress):
    raise KeyError("enough")
try:
    shoal.mpi.fit(shoal.KMeans(7, random_state=3, callback=stop if rank == 0 else None), X)
except (KeyError, shoal.mpi.RankFailed) as error:
    with open(f"{sys.argv[2]}/{rank}.txt", "w") as file:
        file.write(f"{type(error).__name__} {error}")
"""
    ended = run(2, program, rows, tmp_path)
    assert ended.returncode == 0, ended.stderr
    said = [(tmp_path / f"{rank}.txt").read_text().split(" (on ")[0] for rank in range(2)]
    assert said == ["KeyError 'enough'", "RankFailed rank 0 failed: 'enough'"]


def test_each_process_takes_a_gpu_of_its_host(rows, tmp_path):
    program = """
from shoal import _shoal
_shoal.cuda_devices = lambda: [{}, {}]
taken = []
def fit(data, sample_weight=None):
    taken.append(estimator.device)
    raise KeyError("seen")
estimator = shoal.KMeans(2, random_state=0, device="cuda:local")
estimator.fit = fit
try:
    shoal.mpi.fit(estimator, X)
except (KeyError, ValueError, shoal.mpi.RankFailed) as error:
    with open(f"{sys.argv[2]}/{rank}", "w") as file:
        print(taken, estimator.device, error, file=file)
"""
    ended = run(2, program, rows, tmp_path)
    assert ended.returncode == 0, ended.stderr
    for rank in range(2):
        assert (tmp_path / str(rank)).read_text().startswith(f"['cuda:{rank}'] cuda:local ")
    ended = run(3, program, rows, tmp_path)
    refused = "[] cuda:local cuda:local gives each process of a host a GPU of its own; process 2 of a host that has 2 GPUs"
    assert (tmp_path / "2").read_text().startswith(refused), ended.stderr
