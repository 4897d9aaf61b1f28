"""What the package is: its version, what it says of itself, its types, and what its wheel must carry."""

import doctest
import importlib
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import shoal

SOURCE = Path(__file__).parents[2]


def test_there_is_one_version():
    project = (SOURCE / "CMakeLists.txt").read_text()
    assert shoal.__version__ == re.search(r"project\(shoal VERSION ([0-9.]+)", project)[1]


def test_show_config_says_what_there_is(capsys):
    config = shoal.show_config()
    printed = capsys.readouterr().out
    assert config["version"] == shoal.__version__ and shoal.__version__ in printed
    assert "cpu" in config["devices"] and isinstance(config["cuda"], bool)
    assert config["instruction_set"] in printed


def test_public_names_have_docstrings():
    for name in shoal.__all__:
        value = getattr(shoal, name)
        assert isinstance(value, str) or value.__doc__, name


@pytest.mark.parametrize("make", shoal._ESTIMATORS)
def test_examples_in_docstrings(make):
    results = doctest.testmod(importlib.import_module(make.__module__))
    assert results.attempted > 0 and results.failed == 0


def test_types(tmp_path):
    """mypy finds no fault in the package, and knows what its functions return."""
    (tmp_path / "uses.py").write_text(
        "import shoal\n"
        "X, y = shoal.make_mixture(100, 2, 3, random_state=0)\n"
        "reveal_type(shoal.GaussianMixture(3))\n"
        "reveal_type(shoal.select_components(X, range(1, 3)).best_estimator)\n"
        "reveal_type(shoal.__version__)\n"
    )
    arguments = ["--ignore-missing-imports", "--python-executable", sys.executable, "--cache-dir", str(tmp_path)]
    mypy = [sys.executable, "-m", "mypy", *arguments]
    package = subprocess.run([*mypy, "-p", "shoal"], capture_output=True, text=True, cwd=tmp_path)
    assert package.returncode == 0, package.stdout
    user = subprocess.run([*mypy, "uses.py"], capture_output=True, text=True, cwd=tmp_path)
    assert user.returncode == 0, user.stdout
    revealed = re.findall(r'Revealed type is "([^"]*)"', user.stdout)
    assert revealed == ["shoal._gaussian_mixture.GaussianMixture"] * 2 + ["str"]


def test_licences_of_what_it_holds_are_in_it():
    """Of every library that is linked into the extension, lies next to it, or draws its pages."""
    installed = [str(file) for file in metadata.files("shoal") or () if "licenses" in str(file)]
    assert {Path(file).stem for file in installed} >= {"LICENSE", "LICENSES", "eigen", "fmt", "highway", "nanobind", "nlohmann_json"}
    named = metadata.metadata("shoal").get_all("License-File")
    assert sorted(named) == sorted(file.split("licenses/", 1)[1] for file in installed)


def test_nothing_else_is_needed_to_load_it():
    """The libraries that the extension was linked to are next to it, or the system's own."""
    folder = Path(shoal.__file__).parent
    module = next(folder.glob("_shoal*.so"))
    linked = subprocess.run(["ldd", str(module)], capture_output=True, text=True, check=True).stdout
    for name in ("libhwy", "libfmt"):
        for path in re.findall(rf"{name}\S* => (\S+)", linked):
            assert Path(path).parent.resolve() == folder.resolve()


def test_it_is_hardened():
    """Relocations are read-only and bound when it is loaded; stacks and copies are checked (cmake/hardening.cmake)."""
    if shutil.which("readelf") is None:
        pytest.skip("there is no readelf here")
    module = next(Path(shoal.__file__).parent.glob("_shoal*.so"))
    command = ["readelf", "--wide", "--segments", "--dynamic", "--dyn-syms", str(module)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for mark in ("GNU_RELRO", "BIND_NOW", "__stack_chk_fail", "_chk@"):
        assert mark in text, mark
