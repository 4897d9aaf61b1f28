"""
Segments of a photograph
========================

Pixels are rows: a colour and a place. A mixture finds regions of like colour that lie together, and says how sure it is of
each pixel.
"""

# %%
# One of scikit-learn's photographs, 427 by 640 pixels: 273,280 rows of five columns. The scale of
# the places matters to the k-means that the mixture starts from, where the picture's width counts
# as much as a third of a colour's range; full covariances do not mind scales.

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_sample_image

import shoal

picture = load_sample_image("china.jpg").astype(np.float32) / 255
height, width, _ = picture.shape
down, across = np.mgrid[0:height, 0:width].astype(np.float32) / (3 * width)
pixels = np.dstack([picture, across, down]).reshape(-1, 5)

# %%
# Full covariances let a segment be a slope of colours, such as a sky that darkens upwards.

mixture = shoal.GaussianMixture(
    n_components=7, random_state=0, n_init=2, max_iter=200, tol=1e-4
).fit(pixels)
probabilities = mixture.predict_proba(pixels)
labels = probabilities.argmax(axis=1)
print(f"{mixture.n_iter_} iterations over {len(pixels):,} pixels; {mixture.converged_=}")

# %%
# Each pixel in the mean colour of its segment, and where the mixture hesitates: the borders.

segments = np.clip(mixture.means_[labels, :3], 0, 1).reshape(picture.shape)
doubt = 1 - probabilities.max(axis=1).reshape(height, width)

figure, panels = pyplot.subplots(1, 3, figsize=(12, 3.1), layout="constrained")
for axes, title in zip(panels, ["The photograph", "Seven segments", "Where it hesitates"]):
    axes.set_title(title, loc="left", fontsize="medium")
    axes.set_axis_off()
panels[0].imshow(picture)
panels[1].imshow(segments)
shown = panels[2].imshow(doubt, cmap="Blues", vmin=0)
figure.colorbar(
    shown, ax=panels[2], shrink=0.8, label="1 − responsibility"
).outline.set_visible(False)
