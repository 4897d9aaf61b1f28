"""
A map of handwritten digits
===========================

Images of 8 × 8 pixels are rows of 64 columns. A self-organizing map lays them out on a plane: units side by side stand
for digits that are drawn alike.
"""

# %%
# The map is fitted to the pixels alone. It never sees which digit an image shows.

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_digits

import shoal
import shoal.plot

digits = load_digits()
X = digits.data.astype(np.float32)
som = shoal.SelfOrganizingMap(
    width=20, height=16, lattice="hexagonal", epochs=20, radius=(8, 0.7)
).fit(X)
print(f"quantization error {som.quantization_error_:.1f} grey levels")
print(f"topographic error {som.topographic_error_:.1%}")

# %%
# What it found
# -------------
#
# Each unit in the colour of the digit that most of its images show, paler where others are among them. And the U-matrix:
# dark units lie far from their neighbours, so that ridges part the digits.

figure, (left, right) = pyplot.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
shoal.plot.unit_labels(som, X, digits.target, ax=left)
shoal.plot.u_matrix(som, ax=right)

# %%
# The units are images themselves
# -------------------------------
#
# Every other unit of every other row, in its place. From one to the next a digit changes a little.

figure, axes = pyplot.subplots(figsize=(9, 6.4), layout="constrained")
images = som.codebook_.reshape(som.height, som.width, 8, 8)[::2, ::2]
mosaic = np.pad(images, [(0, 0), (0, 0), (0, 1), (0, 1)]).transpose(0, 2, 1, 3)
axes.imshow(mosaic.reshape(mosaic.shape[0] * 9, -1), cmap="gray_r")
axes.set_axis_off()

# %%
# Where images lie, and what a pixel says
# ---------------------------------------
#
# The hits count the images of each unit. A component plane shows one column over the map: the pixel in the middle is
# blank where the zeros lie.

figure, (left, right) = pyplot.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
shoal.plot.hit_map(som, ax=left)
shoal.plot.component_planes(som, columns=4 * 8 + 4, ax=right)
right.set_title("The pixel in the middle", loc="left", fontsize="medium")

# sphinx_gallery_thumbnail_number = 1
