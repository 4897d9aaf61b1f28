"""What ends badly elsewhere: a mapped file that somebody shortens, and an interpreter that ends before its fits."""

import mmap
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from shoal import KMeans, _input, _shoal


def run(code: str, timeout=60) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=timeout, check=False
    )


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("limit", [None, 100_000])
@pytest.mark.parametrize("mode", ["r", "c"])
def test_a_mapped_file_that_was_shortened(tmp_path, order, limit, mode):
    """An error that can be caught, where a touch of the lost pages would be SIGBUS: so in a process of its own."""
    path = tmp_path / "x.npy"
    np.save(path, np.asarray(np.random.default_rng(0).normal(size=(5000, 4)), order=order))
    ended = run(
        f"""
        import os, numpy as np
        from shoal import KMeans
        X = np.load({str(path)!r}, mmap_mode={mode!r})
        model = KMeans(2, random_state=0, memory_limit={limit})
        model.fit(X)
        os.truncate({str(path)!r}, 4096)
        for rows in (X, X[::-1], X[:, 1:], X[10:]):
            for weights in (None, X[:, 0] if rows is X else None):
                try:
                    KMeans(2, memory_limit={limit}).fit(rows, sample_weight=weights)
                except OSError as error:
                    assert "shorter" in str(error), error
                else:
                    raise AssertionError("nothing was raised")
        try:
            KMeans(2).fit(np.zeros((5000, 2)) + np.arange(5000)[:, None], sample_weight=X[:, 0])
        except OSError as error:
            print("refused")
        """
    )
    assert ended.returncode == 0, (ended.returncode, ended.stderr)
    assert ended.stdout == "refused\n"


def test_mapped_arrays_are_read_the_same(tmp_path):
    X = np.random.default_rng(0).normal(size=(3000, 5))
    for order in "CF":
        path = tmp_path / f"{order}.npy"
        np.save(path, np.asarray(X, order=order))
        plain = KMeans(3, random_state=0).fit(X).cluster_centers_
        for mode in "rc":
            mapped = np.load(path, mmap_mode=mode)
            for limit in (None, 50_000):
                fitted = KMeans(3, random_state=0, memory_limit=limit).fit(mapped).cluster_centers_
                assert np.array_equal(fitted, plain)
            backwards = KMeans(3, random_state=0).fit(mapped[::-1, ::2]).cluster_centers_
            assert np.array_equal(backwards, KMeans(3, random_state=0).fit(X[::-1, ::2]).cluster_centers_)


def test_how_mapped_arrays_are_read(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((100, 2)))
    shared, private = np.load(path, mmap_mode="r"), np.load(path, mmap_mode="c")
    ways = _shoal.Residence
    assert _input._residence(shared[5:], None) == _input._residence(private, None) == ways.copied
    assert _input._residence(shared[5:], 100) == ways.in_pieces_given_back
    assert _input._residence(private, 100) == ways.in_pieces, "what was written to a private map is nowhere else"
    with open(path, "rb") as file:
        raw = np.frombuffer(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ), dtype=np.uint8)
    assert _input._residence(raw, None) == ways.copied
    assert _input._residence(np.zeros(3), None) == _input._residence(None, None) == ways.in_place


@pytest.mark.parametrize("callback", ["None", "lambda *where: None"])
@pytest.mark.parametrize("rows", [2**18, 300])
def test_daemon_threads_do_not_disturb_the_end(callback, rows):
    """The interpreter ends with status 0 and without a word, whatever its daemon threads are computing."""
    ended = run(
        f"""
        import threading, time, warnings
        import numpy as np
        from shoal import GaussianMixture, KMeans
        warnings.simplefilter("ignore")
        X = np.random.default_rng(0).normal(size=({rows}, 8))
        def fit(make):
            while True:
                make().fit(X)
        kept = dict(tol=0, max_iter=10_000 if {rows} > 1000 else 5, callback={callback})
        makes = (lambda: GaussianMixture(8, init_params="random", **kept), lambda: KMeans(50, **kept))
        for make in makes:
            threading.Thread(target=fit, args=(make,), daemon=True).start()
        time.sleep(0.7)
        print("the end", flush=True)
        """
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "the end\n", "")


def test_a_fit_that_the_end_itself_calls():
    """Functions of atexit may fit: those that run after the package's own, on the thread that ends the interpreter."""
    ended = run(
        """
        import atexit
        atexit.register(lambda: print(GaussianMixture(2).fit(np.arange(40.0).reshape(20, 2)).converged_))
        import numpy as np
        from shoal import GaussianMixture
        """
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")


def test_a_forked_child_ends():
    """A child has none of its parent's threads, and waits for none of their computations."""
    ended = run(
        """
        import os, sys, threading, time, warnings
        warnings.simplefilter("ignore")
        import numpy as np
        from shoal import KMeans
        X = np.random.default_rng(0).normal(size=(2**17, 8))
        fit = threading.Thread(target=lambda: KMeans(50, tol=0, max_iter=200).fit(X), daemon=True)
        fit.start()
        time.sleep(0.3)
        child = os.fork()
        if child == 0:
            sys.exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert (ended.returncode, ended.stdout) == (0, "7\n"), ended.stderr
