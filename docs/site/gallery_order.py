"""The order of the gallery: from what most people need first."""

ORDER = (
    "drop_in_for_scikit_learn.py",
    "choosing_k.py",
    "pictures_of_a_fit.py",
    "image_segmentation.py",
    "colours_of_a_photograph.py",
    "a_map_of_digits.py",
    "larger_than_memory.py",
    "rows_that_keep_arriving.py",
    "three_processes.py",
    "gpu_array.py",
)


class GalleryOrder:
    """Sorts example files for sphinx-gallery; a file that is not listed is an error, so that none is lost."""

    def __init__(self, source_folder):
        self.source_folder = source_folder

    def __call__(self, name):
        if name not in ORDER:
            raise ValueError(f"{name} has no place in docs/site/gallery_order.py")
        return ORDER.index(name)
