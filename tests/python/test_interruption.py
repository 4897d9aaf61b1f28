"""Ctrl-C ends a fit within a second, and leaves the process usable."""

import _thread
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from shoal import GaussianMixture, KMeans

pytestmark = pytest.mark.usefixtures("keyboard_interrupts")


@pytest.mark.parametrize(
    "estimator",
    [GaussianMixture(16, tol=0, max_iter=10_000, init_params="random"), KMeans(500, tol=0, max_iter=10_000)],
)
def test_ctrl_c(estimator):
    X = np.random.default_rng(0).normal(size=(2**19, 16)).astype(np.float32)
    sent = []

    def press():
        time.sleep(1.5)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X)
    assert time.perf_counter() - sent[0] < 1
    GaussianMixture(2).fit(X[:1000])
    assert threading.active_count() < 5


def test_a_script_ends_with_a_traceback():
    """What a user sees who runs a script: KeyboardInterrupt, from the line that fits."""
    code = textwrap.dedent(
        """
        import numpy as np, sys
        from shoal import GaussianMixture
        X = np.random.default_rng(0).normal(size=(2**19, 16))
        print("fitting", flush=True)
        GaussianMixture(16, tol=0, max_iter=10_000, init_params="random").fit(X)
        """
    )
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdout.readline() == "fitting\n"
    time.sleep(1.0)
    run.send_signal(signal.SIGINT)
    started = time.perf_counter()
    _, errors = run.communicate(timeout=30)
    assert time.perf_counter() - started < 5  # with the interpreter's own end, on a busy machine
    assert run.returncode != 0 and "KeyboardInterrupt" in errors


def test_fits_on_other_threads_are_not_disturbed():
    """Signals are the main thread's; a fit elsewhere ends as it would."""
    X = np.random.default_rng(0).normal(size=(2**16, 8))
    models = []
    threads = [threading.Thread(target=lambda: models.append(KMeans(20, random_state=0).fit(X))) for _ in range(2)]
    for thread in threads:
        thread.start()
    with pytest.raises(KeyboardInterrupt):
        _thread.interrupt_main()
        for thread in threads:
            thread.join()
    for thread in threads:
        thread.join()
    assert len(models) == 2 and np.array_equal(models[0].labels_, models[1].labels_)
