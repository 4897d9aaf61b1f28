"""Every measured figure of README.md and docs/ comes from a file of bench/results."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import grid  # noqa: E402
import grid_page  # noqa: E402
import grid_reasons  # noqa: E402
import pages  # noqa: E402


@pytest.mark.parametrize("page", pages.pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_figures_are_those_of_the_files(page):
    assert page.read_text() == pages.written(page), "run python3 bench/pages.py"


@pytest.mark.parametrize("page", pages.pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_figure_stands_without_a_file(page):
    assert pages.bare_figures(page) == []


def test_a_figure_without_a_file_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("It took <!-- =large full -->1.9 ms<!-- / --> and `2 ms`, for 3,000 rows, with `--seconds 7`.\n")
    assert pages.bare_figures(page) == []
    for figure in ("4.2 ms", "17 µs", "2.5 times as fast", "39 %", "55.3 GB/s", "3 seconds"):
        page.write_text(f"It took {figure}.\n")
        assert len(pages.bare_figures(page)) == 1, figure


def test_a_figure_that_was_changed_by_hand_is_found(tmp_path, monkeypatch):
    readme = ROOT / "README.md"
    changed = readme.read_text().replace(pages.FIGURES["large full"](), "0.1 ms")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    (tmp_path / "README.md").write_text(changed)
    assert pages.written(tmp_path / "README.md") == readme.read_text() != changed


def test_what_is_stated_is_still_said():
    for page, phrases in pages.STATED.items():
        text = (ROOT / page).read_text()
        assert [phrase for phrase in phrases if phrase not in text] == []


def test_the_page_admits_what_the_asynchronous_algorithm_needs_on_a_gpu():
    passes = {name: pages.study.reach(pages.SPEED, name)["passes"] for name in ("batch", "asynchronous")}
    text = (ROOT / "docs/em-study.md").read_text()
    assert (passes["asynchronous"] > passes["batch"]) == ("**The asynchronous algorithm needs more passes here than batch**" in text)


def test_the_check_runs_from_the_command_line():
    done = subprocess.run([sys.executable, ROOT / "bench/pages.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_costs_of_rooms_are_those_of_their_times():
    done = subprocess.run([sys.executable, ROOT / "bench/fit_costs.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + "run python3 bench/fit_costs.py"


RATES = {f"{name}_multiply_adds": 1e13 for name in ("float32", "float64", "tf32", "bf16")} | {"read_bytes": 4e12}


def cell(seconds, components, **more):
    """Of the grid, with a floor of 10 µs: one that takes 20 µs takes what floor and launches do."""
    shape = ("kmeans", "-", "float32", "float32", 1000, 16, components)
    return dict(zip(grid.NAMES, shape)) | {"floor": 1e-5, "seconds": seconds} | more


def test_the_grid_is_of_as_many_cells_as_it_says():
    for device in ("cpu", "cuda"):
        for cells, count in ((grid.fixed(device), 200), (grid.drawn(device, 7), 400)):
            assert len({grid.key(each) for each in cells}) == count
            assert all(grid.fits(each, device) for each in cells)
        assert grid.drawn(device, 7) == grid.drawn(device, 7) != grid.drawn(device, 8)
        assert {each["columns"] for each in grid.drawn(device, 7)} == set(grid.COLUMNS)


def test_reasons_of_the_grid_are_the_largest_part_of_what_is_explained():
    result = {"device": "cuda", "rates": RATES, "cells": [cell(30e-6, 1) | {"floor": 1e-7}, cell(1.0, 1000), cell(50e-6, 1000)]}
    fixed = grid_reasons.fixed_costs(result)
    assert fixed == {("kmeans", "-"): 30e-6}
    names = [grid_reasons.reason(each, result, fixed) for each in result["cells"]]
    assert names == ["launches", "kernel of k-means, float32", "few rows"]
    assert all(grid_reasons.text(name) for name in names)


def test_cells_of_a_run_are_taken_by_neighbours():
    for device in ("cpu", "cuda"):
        cells = grid.fixed(device)
        parts = grid.in_parts(cells)
        assert sorted(map(grid.key, parts)) == sorted(map(grid.key, cells))
        assert len({each["family"] for each in parts[:40]}) == 3


def test_broken_rules_of_the_grid_are_found():
    def rules(*cells):
        return [each[0] for each in grid_page.broken({"device": "cuda", "rates": RATES, "cells": cells})]

    failed = {name: value for name, value in cell(0, 1).items() if name != "seconds"} | {"failure": "out of memory"}
    assert rules(failed) == [0]
    assert rules(cell(79e-6, 1)) == []
    assert rules(cell(81e-6, 1)) == [1]
    assert rules(cell(20e-6, 1), cell(31e-6, 2), cell(48e-6, 5)) == []
    assert rules(cell(20e-6, 1), cell(33e-6, 2)) == rules(cell(33e-6, 1), cell(20e-6, 2)) == [2]
    assert rules(cell(20e-6, 1), cell(48e-6, 5)) == []  # no neighbours
    assert rules(cell(20e-6, 1, peers={"slower": 21e-6})) == []
    assert rules(cell(20e-6, 1, peers={"slower": 21e-6, "faster": 19e-6})) == [3]
