"""Every program of the gallery, and every program of the user guide, runs."""

import os
import pathlib
import re
import resource
import runpy
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))
PAGES = sorted((ROOT / "docs" / "site").rglob("*.md"))
# A gallery that takes long is not looked at. Of the processor, since the machine may be busy with other tests.
SECONDS = 15
# The fences of a page that are one program together; others (```sh, ```text) are not run.
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def run(arguments, folder):
    """Runs Python as a user would, with pictures going nowhere."""
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_there_are_examples_and_pages():
    assert len(EXAMPLES) >= 6 and len(PAGES) >= 10


def test_each_example_has_its_place_in_the_gallery():
    order = runpy.run_path(str(ROOT / "docs/site/gallery_order.py"))["ORDER"]
    assert sorted(order) == [example.name for example in EXAMPLES]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example):
    pytest.importorskip("matplotlib")
    before = processor_seconds()
    output = run([example], example.parent)
    seconds = processor_seconds() - before
    for line in output.splitlines():
        if line.startswith("skipped: "):
            pytest.skip(line.removeprefix("skipped: "))
    assert seconds < SECONDS, f"{example.name} took {seconds:.0f} s"


def programs(page):
    return PYTHON.findall(page.read_text())


@pytest.mark.parametrize("page", [page for page in PAGES if programs(page)], ids=lambda path: path.stem)
def test_programs_of_a_page(page, tmp_path):
    pytest.importorskip("matplotlib")
    program = tmp_path / "page.py"
    program.write_text("\n".join(programs(page)))
    run([program], tmp_path)
