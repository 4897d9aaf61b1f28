"""
A file larger than memory
=========================

A memory-mapped array is read piece by piece, and the fit is the same to the last bit as that of an array in memory.
"""

# %%
# An honest stand-in
# ------------------
#
# This machine could hold the file, so the program is forbidden to: Linux is told to refuse it memory beyond 160 MiB more than it
# has now, and the file is 256 MiB. Nothing else is pretended. With a file of a terabyte the program is the same.

import pathlib
import resource
import tempfile

import numpy as np

import shoal

MIB = 2**20
ROWS, COLUMNS, PIECE = 2**23, 8, 2**17

folder = tempfile.TemporaryDirectory()
path = pathlib.Path(folder.name) / "rows.npy"
draw = np.random.default_rng(0)
centres = draw.normal(scale=4, size=(5, COLUMNS)).astype(np.float32)
file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(ROWS, COLUMNS))
for first in range(0, ROWS, PIECE):
    noise = draw.standard_normal((PIECE, COLUMNS), dtype=np.float32)
    file[first : first + PIECE] = centres[draw.integers(5, size=PIECE)] + noise
del file


def memory_of_process(field):
    """Bytes of private memory that the process has (VmData) or holds in the machine now (RssAnon)."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


before = resource.getrlimit(resource.RLIMIT_DATA)
resource.setrlimit(
    resource.RLIMIT_DATA, (memory_of_process("VmData") + 160 * MIB, before[1])
)

# %%
# Loaded whole, the file does not fit:

rows = np.load(path, mmap_mode="r")
print(f"{rows.nbytes / MIB:.0f} MiB, {rows.shape[0]:,} rows of {rows.dtype}")
try:
    np.array(rows)
except MemoryError as refused:
    print("MemoryError:", refused)

# %%
# Mapped, it is fitted:

held_before = memory_of_process("RssAnon")
mixture = shoal.GaussianMixture(5, tol=1e-4, memory_limit=16 * MIB, random_state=1).fit(
    rows
)
more = (memory_of_process("RssAnon") - held_before) / MIB
print(f"{mixture.n_iter_} iterations, and {more:.0f} MiB more than before are held")

# %%
# The centres that the rows were drawn about are found again, to within what eight million rows can tell:

nearest = np.abs(mixture.means_[:, None] - centres).max(axis=2).min(axis=0)
print("each centre is this far from a mean:", np.round(nearest, 4))
assert nearest.max() < 0.01

# %%
# Pictures read only the rows that they draw.

import shoal.plot

shoal.plot.data(mixture, rows, columns=(0, 1)).set_title(
    "256 MiB of rows, five thousand of them drawn", loc="left"
)

# %%
# The limit is lifted again, so that what runs after this example has its memory.

resource.setrlimit(resource.RLIMIT_DATA, before)
del rows
folder.cleanup()
