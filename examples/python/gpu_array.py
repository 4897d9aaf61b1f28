"""
An array on a GPU
=================

Rows that PyTorch, CuPy or JAX keep on a GPU are fitted where they lie, and results come back to the same side.
"""

# %%
# This page is built on whatever machine is at hand, and says what it found there:

import importlib.util

import shoal

devices = shoal.show_config()["devices"]

if not importlib.util.find_spec("torch"):
    missing = "PyTorch is not installed"
elif "cuda:0" not in devices:
    missing = "shoal sees no GPU"
else:
    import torch

    missing = "" if torch.cuda.is_available() else "PyTorch sees no GPU"
if missing:
    print(f"skipped: {missing}")

# %%
# The program, which runs in full where nothing is missing. The rows are made on the GPU and stay there: ``fit`` is given the
# tensor itself and runs on the GPU that holds it, and ``predict`` answers with a tensor on the same GPU.

if not missing:
    torch.manual_seed(0)
    centres = 4 * torch.randn(8, 16, device="cuda")
    rows = centres[torch.randint(8, (1_000_000,), device="cuda")] + torch.randn(
        1_000_000, 16, device="cuda"
    )

    mixture = shoal.GaussianMixture(8, random_state=0).fit(rows)
    labels = mixture.predict(rows)
    print(f"{mixture.n_iter_} iterations; labels are {labels.dtype} on {labels.device}")
    assert labels.device == rows.device
    found = torch.as_tensor(mixture.means_, device="cuda", dtype=torch.float32)
    assert torch.cdist(centres, found).min(dim=1).values.max() < 0.05

    # Pictures fetch only the rows that they draw.
    import shoal.plot

    shoal.plot.data(mixture, rows).set_title("A million rows on a GPU", loc="left")

# sphinx_gallery_thumbnail_path = '_static/gpu.svg'
