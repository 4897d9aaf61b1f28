"""Not the Python package, but the C++ library's folder, which Python finds first where a clone's root is on its path.

The installed package takes its place. Where there is none, the error says how to install it.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _installed():
    for place in sys.path:
        found = importlib.machinery.PathFinder.find_spec(__name__, [place])
        if found is None or found.loader is None or found.origin is None:
            continue
        # This folder, and that of another clone, hold sources.
        if not os.path.exists(os.path.join(os.path.dirname(found.origin), "CMakeLists.txt")):
            return found
    return None


_spec = _installed()
if _spec is None:
    raise ImportError(
        f"{os.path.dirname(os.path.realpath(__file__))} is the C++ library's folder, and the Python package is not installed "
        "here: run 'pip install .' in the clone, or script/python",
        name=__name__,
    )
_package = importlib.util.module_from_spec(_spec)
sys.modules[__name__] = _package
_spec.loader.exec_module(_package)
