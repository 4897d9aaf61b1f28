// How the units of a map lie.
#pragma once

namespace shoal::som {

/// How the units lie. Unit u stands in row u / width and column u % width of the map. A toroidal map has no border: its
/// last row lies next to its first and its last column next to its first, and distances are those of nearest images.
enum class lattice {
  rectangular,  ///< at (column, row): neighbours are the four units at distance 1 and the four at √2
  hexagonal,    ///< at (column + ½ in odd rows, row·√3/2): neighbours are the six units at distance 1
};

}  // namespace shoal::som
