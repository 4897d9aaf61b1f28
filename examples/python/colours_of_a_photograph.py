"""
A photograph in sixteen colours
===============================

k-means as a compressor: the centroids of the pixels are a palette, and the label of a pixel is its colour's number.
"""

# %%
# Three bytes a pixel become half a byte with sixteen colours, and the palette.

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_sample_image

import shoal

picture = load_sample_image("flower.jpg").astype(np.float32) / 255
pixels = picture.reshape(-1, 3)
fits = {
    colours: shoal.KMeans(colours, random_state=0, n_init=1).fit(pixels)
    for colours in (4, 16, 64)
}

# %%
# Palettes are sorted by their lightness, and as wide as their share of the picture.

figure, panels = pyplot.subplots(
    2, 4, figsize=(12, 2.9), height_ratios=[10, 1], layout="constrained"
)
panels[0, 0].imshow(picture)
panels[0, 0].set_title("The photograph", loc="left", fontsize="medium")
for (colours, fit), (above, below) in zip(fits.items(), panels.T[1:]):
    palette = np.clip(fit.cluster_centers_, 0, 1)
    error = np.sqrt(fit.inertia_ / len(pixels))
    above.imshow(palette[fit.labels_].reshape(picture.shape))
    above.set_title(
        f"{colours} colours, off by {255 * error:.0f} of 255", loc="left", fontsize="medium"
    )
    order = np.argsort(palette @ [0.2126, 0.7152, 0.0722])
    shares = np.bincount(fit.labels_, minlength=colours)[order] / len(pixels)
    starts = np.concatenate([[0], np.cumsum(shares)[:-1]])
    below.bar(starts, 1, width=shares, align="edge", color=palette[order])
    below.set_xlim(0, 1)
for axes in panels.flat:
    axes.set_axis_off()
