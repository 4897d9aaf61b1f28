"""What the tests share: the fixtures that scikit-learn's own tests ask for, and their committed exclusions."""

import re
import signal

import numpy as np
import pytest
import sklearn

# Other releases of scikit-learn lack some of the tests that the exclusions name.
EXCLUSIONS_WRITTEN_FOR = "1.9."


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture(params=[np.float64], ids=["float64"])
def global_dtype(request):
    return request.param


def pytest_collection_modifyitems(config, items):
    """Leaves out what a module's EXCLUDED = {pattern: reason} names; one that names nothing is an error."""
    kept, left_out, used = [], [], set()
    modules = {}
    for item in items:
        excluded = getattr(item.module, "EXCLUDED", {})
        modules[item.module.__name__] = item.module
        matching = [pattern for pattern in excluded if re.fullmatch(pattern, item.name)]
        used.update((item.module.__name__, pattern) for pattern in matching)
        (left_out if matching else kept).append(item)
    stale = [
        pattern
        for name, module in modules.items()
        for pattern in getattr(module, "EXCLUDED", {})
        if (name, pattern) not in used
    ]
    # A run of chosen tests (-k, file::name) sees only part of a module.
    current = sklearn.__version__.startswith(EXCLUSIONS_WRITTEN_FOR)
    if stale and current and not config.option.keyword and not any("::" in argument for argument in config.args):
        raise pytest.UsageError(f"EXCLUDED names tests that are not there: {stale}")
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


@pytest.fixture
def keyboard_interrupts():
    """Ctrl-C raises KeyboardInterrupt here and in processes begun here, though this one was begun to ignore it.

    A shell that is not interactive starts what runs in the background so.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
