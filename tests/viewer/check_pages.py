"""Pages of shoal view in a real browser: python3 check_pages.py PROGRAM. Exits 77 where there is no Chromium."""

import html
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import browser
import golden_images
import scenes
import som_scenes

SKIPPED = 77
SIZE = (golden_images.WIDTH * 2, golden_images.HEIGHT * 2)


class Pages:
    """Writes pages with the program and opens them."""

    def __init__(self, program, folder, shown):
        self.program, self.folder, self.shown = program, folder, shown
        self.mixture, self.rows = scenes.write_mixture(folder)
        self.clusters = scenes.write_clusters(folder)
        self.map = som_scenes.write_map(folder)
        self.line, self.plane = scenes.write_waves(folder)

    def write(self, name, *words):
        path = self.folder / f"{name}.html"
        command = [self.program, "view", *map(str, words), "--output", str(path), "--quiet"]
        made = subprocess.run(command, capture_output=True, text=True)
        assert made.returncode == 0, f"{command}: {made.stderr}"
        return path

    def open(self, name, *words, settings=""):
        self.shown.open(self.write(name, *words), settings)
        self.expect_quiet(name)

    def expect_quiet(self, name):
        assert not self.shown.value_of("Boolean(shoal_viewer.still)"), f"{name}: WebGL 2 does not run: {self.shown.errors()}"
        assert self.shown.errors() == [], f"{name}: {self.shown.errors()}"
        assert self.shown.requests() == [], f"{name} asks for {self.shown.requests()}"

    def expect_golden(self, name):
        golden_images.expect_golden(name, self.shown.pixels(golden_images.WIDTH, golden_images.HEIGHT))


def check_pictures(pages):
    pages.open("mixture", pages.mixture, pages.rows)
    pages.expect_golden("mixture")
    pages.open("clusters", pages.clusters, pages.rows, "--wireframe", "--projection", "orthographic", "--point-size", 4)
    pages.expect_golden("clusters")
    pages.open("map", pages.map, pages.rows, "--azimuth", 20, "--elevation", 40)
    pages.expect_golden("map")
    pages.open("line", pages.line, "--spacing", 0.5)
    pages.expect_golden("line")
    pages.open("sponge", "--sponge", 2)
    pages.expect_golden("sponge")
    pages.open("cut", "--sponge", 3, "--section", "diagonal", "--section-offset", 0.1, "--azimuth", 45, "--elevation", 35)
    pages.expect_golden("cut")


def check_principal_axes(pages):
    wide = pages.folder / "wide"
    wide.mkdir()
    model, rows = scenes.write_mixture(wide, columns=6, rows=200)
    pages.open("principal", model, rows)
    labels = pages.shown.value_of("JSON.parse(document.getElementById('scene').textContent).axes.map((a) => a.label)")
    assert all(label.startswith("principal axis") for label in labels), labels
    pages.open("two", model, rows, "--axes", "1,0")
    labels = pages.shown.value_of("JSON.parse(document.getElementById('scene').textContent).axes.map((a) => a.label)")
    assert labels == ["column <1>", "column <0>", ""], labels


def check_keys(pages):
    page = pages.shown
    pages.open("keys", "--sponge", 1)
    first = page.state()
    picture = page.pixels(40, 30)
    page.press("+")
    assert page.state()["order"] == 2
    subtitle = page.value_of("document.getElementById('subtitle').textContent")
    assert subtitle == "order 2: 400 cubes, 1,056 faces", subtitle
    page.press("-")
    page.press("-")
    page.press("-")
    assert page.state()["order"] == 0
    page.press("w")
    page.press("p")
    page.press("c")
    page.press("]")
    changed = page.state()
    assert changed["wireframe"] and changed["projection"] == "orthographic", changed
    assert changed["section"] == "x" and abs(changed["offset"] - 0.05) < 1e-9, changed
    page.press("ArrowLeft")
    page.press("ArrowUp")
    page.press("PageUp")
    page.press("ArrowRight", shift=True)
    moved = page.state()
    assert abs(moved["azimuth"] - first["azimuth"] + 5) < 1e-6 and abs(moved["elevation"] - first["elevation"] - 5) < 1e-6
    assert abs(moved["zoom"] - 1.15) < 1e-6 and moved["target"] != [0, 0, 0], moved
    assert page.pixels(40, 30) != picture
    page.press("r")
    again = page.state()
    for name, value in first.items():
        near = abs(again[name] - value) < 1e-9 if isinstance(value, float) else again[name] == value
        assert near, f"{name} is {again[name]} after the reset and was {value}"
    assert page.pixels(40, 30) == picture, "the reset shows another picture"
    page.press("h")
    assert page.value_of("!document.getElementById('help').hidden")
    page.press("o")
    turned = page.state()["azimuth"]
    time.sleep(0.3)
    assert page.state()["azimuth"] != turned, "it does not turn by itself"
    page.press("o")
    page.ask("Page.setDownloadBehavior", behavior="deny")
    page.press("s")
    until = time.monotonic() + 20
    while not page.value_of("shoal_viewer.saved > 1000"):
        assert time.monotonic() < until, "no picture was saved"
    pages.expect_quiet("keys")


def check_pointers(pages):
    page = pages.shown
    pages.open("pointers", pages.mixture, pages.rows)
    first = page.state()
    x, y = SIZE[0] // 2, SIZE[1] // 2
    mouse = lambda kind, x, y, **more: page.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
    mouse("mousePressed", x, y, button="left", clickCount=1)
    mouse("mouseMoved", x + 60, y + 20, button="left", buttons=1)
    mouse("mouseReleased", x + 60, y + 20, button="left", clickCount=1)
    dragged = page.state()
    assert dragged["azimuth"] < first["azimuth"] - 1 and dragged["elevation"] > first["elevation"] + 1, dragged
    mouse("mouseWheel", x, y, deltaX=0, deltaY=-240)
    assert page.state()["zoom"] > dragged["zoom"] * 1.05, page.state()
    page.press("r")
    touch = lambda kind, *places: page.ask(
        "Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(places)]
    )
    touch("touchStart", (x, y))
    touch("touchMove", (x - 60, y))
    touch("touchEnd")
    assert page.state()["azimuth"] > first["azimuth"] + 1, page.state()
    touch("touchStart", (x - 40, y), (x + 40, y))
    touch("touchMove", (x - 90, y), (x + 90, y))
    touch("touchEnd")
    assert page.state()["zoom"] > 1.3, page.state()
    page.value_of("document.querySelector('[data-key=w]').click()")
    assert page.state()["wireframe"]
    pages.expect_quiet("pointers")


def check_time(pages):
    page = pages.shown
    pages.open("plane", pages.plane, "--times", "0,1,2,3,4.5", "--variable", "w")
    assert page.state()["moment"] == 4
    assert page.value_of("document.getElementById('moment_text').textContent") == "4.5"
    last = page.pixels(80, 60)
    page.press(",")
    assert page.state()["moment"] == 3 and page.pixels(80, 60) != last
    page.press(".")
    assert page.pixels(80, 60) == last
    pages.expect_golden("plane")
    page.press(" ")
    until = time.monotonic() + 20
    while page.state()["moment"] == 4:
        assert time.monotonic() < until, "time does not run"
    page.press(" ")
    assert not page.state()["play"]


def check_frame(pages):
    """As a notebook shows it: in a frame that has no address, with and without the rights of the page around it."""
    text = html.escape(pages.write("framed", pages.mixture, pages.rows).read_text(encoding="utf-8"))
    for sandbox in ("", ' sandbox="allow-scripts"'):
        path = pages.folder / "notebook.html"
        path.write_text(
            "<!DOCTYPE html><script>window.shoal_viewer = {ready: true}</script>"
            f'<iframe{sandbox} srcdoc="{text}" width="100%" height="400"></iframe>',
            encoding="utf-8",
        )
        pages.shown.open(path)
        seen = b""
        until = time.monotonic() + 60
        # The frame's page draws on a canvas of its own, which a picture of the window shows.
        while len(seen) < 35_000:
            assert time.monotonic() < until, f"the frame{sandbox} stays empty: {pages.shown.errors()}"
            time.sleep(0.2)
            seen = pages.shown.screenshot()
        assert pages.shown.errors() == [], pages.shown.errors()


def check_many_points(pages, rows=1_000_000):
    """As many as a page shows."""
    block = pages.rows.read_bytes()
    start = 10 + int.from_bytes(block[8:10], "little")
    header = re.sub(rb"\(600, 3\), }\s*", b"(%d, 3), }" % rows, block[10:start])
    header = header + b" " * (start - 11 - len(header)) + b"\n"
    path = pages.folder / "many.npy"
    values = block[start:] * (rows // 600 + 1)
    path.write_bytes(block[:10] + header + values[: 24 * rows])
    page = pages.write("many", pages.mixture, path)
    begin = time.monotonic()
    pages.shown.open(page)
    pages.expect_quiet("many")
    count = pages.shown.value_of("JSON.parse(document.getElementById('scene').textContent).points.count")
    assert count > 0.99 * rows, count
    assert not golden_images.is_blank(pages.shown.pixels(40, 30))
    print(f"   {count} points in {page.stat().st_size / 1e6:.1f} MB, shown after {time.monotonic() - begin:.1f} s")


def check_without_graphics(program, pages):
    path = pages.write("still", pages.mixture, pages.rows, "--most-rows", 100)
    with browser.Browser(program, graphics=False, size=SIZE) as bare:
        bare.open(path)
        seen = bare.value_of(
            "[document.getElementById('why').getBoundingClientRect().height,"
            "document.querySelector('#still svg').getBoundingClientRect().height,"
            "document.getElementById('stage').getBoundingClientRect().height]"
        )
        assert seen[0] > 10 and seen[1] > 100 and seen[2] == 0, seen
        assert "no WebGL 2" in bare.value_of("document.getElementById('why').textContent")
        assert bare.errors() == [], bare.errors()


def main():
    program = browser.find()
    if program is None:
        # As GoogleTest says it, which script/test looks for.
        print(f"{__file__}: Skipped\nthere is no Chromium here (script/bootstrap browser installs one)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name, browser.Browser(program, size=SIZE) as shown:
        pages = Pages(sys.argv[1], pathlib.Path(name), shown)
        for check in (check_pictures, check_principal_axes, check_keys, check_pointers, check_time, check_frame, check_many_points):
            begin = time.monotonic()
            check(pages)
            print(f"{check.__name__}: {time.monotonic() - begin:.1f} s")
        check_without_graphics(program, pages)
    print("all pages are shown")
    return 0


if __name__ == "__main__":
    sys.exit(main())
