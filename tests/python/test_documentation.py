"""The reference names every public object, and every docstring every parameter."""

import dataclasses
import doctest
import inspect
import pathlib
import re

import pytest

import shoal
import shoal.plot

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = {name: getattr(shoal, name) for name in shoal.__all__ if name != "__version__" and not inspect.ismodule(getattr(shoal, name))}
for module in (shoal.plot, shoal.statistics, shoal.assignment, shoal.metrics):
    room = module.__name__.removeprefix("shoal.")
    PUBLIC |= {f"{room}.{name}": getattr(module, name) for name in module.__all__}
METHODS = {
    f"{name}.{method}": value
    for name, cls in PUBLIC.items()
    if inspect.isclass(cls)
    for method, value in vars(cls).items()
    if inspect.isfunction(value) and not method.startswith("_")
}


def test_the_reference_names_every_public_object():
    listed = re.findall(r"^   ([\w.]+)$", (ROOT / "docs/site/api/index.rst").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(PUBLIC)


@pytest.mark.parametrize("name", [*PUBLIC, *METHODS])
def test_a_docstring_names_every_parameter(name):
    documented = PUBLIC.get(name) or METHODS[name]
    text = inspect.getdoc(documented) or ""
    assert text, f"{name} has no docstring"
    # A tuple with names, and a dataclass, say what their elements are under "Attributes".
    section = "Attributes" if hasattr(documented, "_fields") or dataclasses.is_dataclass(documented) else "Parameters"
    body = re.search(rf"^{section}\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE)
    found = re.findall(r"^([\w*, ]+?)(?: :.*)?$", body[1], re.MULTILINE) if body else []
    named = {part.strip(" *") for line in found for part in line.split(",")}
    wanted = {parameter for parameter in inspect.signature(documented).parameters if parameter != "self"}
    assert wanted <= named, f"{name} does not document {sorted(wanted - named)}"


@pytest.mark.parametrize("name", PUBLIC)
def test_the_examples_of_a_docstring_say_what_comes_out(name):
    for example in doctest.DocTestFinder(recurse=False).find(PUBLIC[name], name):
        assert doctest.DocTestRunner().run(example).failed == 0
