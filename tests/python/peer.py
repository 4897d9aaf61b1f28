"""scikit-learn's own test modules, as installed, with other classes in place of theirs."""

from __future__ import annotations

import importlib.util
from contextlib import ExitStack
from types import ModuleType
from unittest import mock


def load(name: str, replaced: dict[ModuleType, dict[str, object]]) -> dict[str, object]:
    """The tests and fixtures of the installed module `name`, run anew while `replaced` attributes hold.

    Names that the module imports, and those in its parametrizations, are then the replacements.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{name}: this scikit-learn was installed without its tests")
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(f"peer_{name}", spec.origin))
    with ExitStack() as stack:
        for owner, names in replaced.items():
            for attribute, value in names.items():
                stack.enter_context(mock.patch.object(owner, attribute, value))
        module.__spec__.loader.exec_module(module)
    return {key: value for key, value in vars(module).items() if key.startswith("test_") or _is_fixture(value)}


def _is_fixture(value) -> bool:
    return type(value).__name__ == "FixtureFunctionDefinition"
