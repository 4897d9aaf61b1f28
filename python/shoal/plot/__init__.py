"""Pictures of fits, drawn with matplotlib.

Every function takes ``ax=None``: the axes to draw on, or none to make a new figure. Every function returns the axes.
They take fitted estimators of shoal and of scikit-learn alike, since the attributes have the same names. Maps and waves
are shoal's alone.

Two rules hold for all of them. **Large data are thinned out**, except where rows are only counted: at most ``max_points`` rows are drawn, one from each of
as many equal stretches of the data, at a place in the stretch that a hash of its number fixes, so that the same data
give the same picture and no period in the rows shows; the picture says how many rows it shows. Only these rows are read,
converted and given to the estimator, so a memory-mapped file or an array on a GPU stays where it is. **Colours** are
those of Okabe and Ito (2008), which people with any common form of colour vision can tell apart. There are eight, and
the ninth group takes the first again; the numbers at the centres tell them apart.
"""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError("shoal.plot needs matplotlib: pip install 'shoal[plot]'") from error

from ._convergence import convergence
from ._data import data
from ._maps import component_planes, hit_map, u_matrix, unit_labels
from ._responsibilities import responsibilities
from ._selection import selection
from ._silhouette import silhouette
from ._waves import space_time

__all__ = [
    "component_planes",
    "convergence",
    "data",
    "hit_map",
    "responsibilities",
    "selection",
    "silhouette",
    "space_time",
    "u_matrix",
    "unit_labels",
]
