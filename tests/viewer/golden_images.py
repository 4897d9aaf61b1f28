"""Small pictures that are kept as PNG files, written and read without any library."""

import os
import struct
import zlib

WIDTH, HEIGHT = 320, 240
# A picture is the kept one when at most this share of its pixels differs by more than so many of 255 levels in a
# channel. Fonts and rasterizers differ between systems along edges of letters, lines and points.
MOST_LEVELS = 40
MOST_PIXELS = 0.02


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png(path, pixels):
    lines = b"".join(b"\0" + pixels[3 * WIDTH * row : 3 * WIDTH * (row + 1)] for row in range(HEIGHT))
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(lines, 9)) + _chunk(b"IEND", b""))


def read_png(path):
    """Of the files that write_png() writes."""
    with open(path, "rb") as file:
        data = file.read()
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += 12 + length
    lines = zlib.decompress(packed)
    step = 3 * WIDTH + 1
    return b"".join(lines[row * step + 1 : (row + 1) * step] for row in range(HEIGHT))


def share_that_differs(a, b):
    different = sum(
        any(abs(a[3 * i + k] - b[3 * i + k]) > MOST_LEVELS for k in range(3)) for i in range(WIDTH * HEIGHT)
    )
    return different / (WIDTH * HEIGHT)


def is_blank(pixels):
    return len(set(zip(pixels[0::3], pixels[1::3], pixels[2::3]))) < 5


def expect_golden(name, pixels):
    """The kept picture of that name; SHOAL_WRITE_GOLDEN=1 keeps this one instead."""
    assert not is_blank(pixels), f"{name}: the picture is blank"
    folder = os.path.join(os.path.dirname(__file__), "golden")
    path = os.path.join(folder, f"{name}.png")
    if os.environ.get("SHOAL_WRITE_GOLDEN"):
        write_png(path, pixels)
        return
    share = share_that_differs(read_png(path), pixels)
    if share > MOST_PIXELS:
        seen = os.path.abspath(f"{name}-seen.png")
        write_png(seen, pixels)
        raise AssertionError(f"{name}: {share:.2%} of the pixels differ from {path}; this one is {seen}")
    print(f"   {name}: {share:.3%} of the pixels differ")
