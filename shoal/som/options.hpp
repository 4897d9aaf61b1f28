// How a map is trained.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <shoal/execution/device_choice.hpp>
#include <shoal/som/lattice.hpp>
#include <shoal/som/metric.hpp>

namespace shoal::som {

/// How much a unit takes part in what is δ away on the lattice, with radius σ: h(δ). At radius 0 each is 1 at δ = 0 and
/// else 0.
enum class neighborhood {
  gaussian,     ///< exp(−δ²/2σ²)
  bubble,       ///< 1 where δ ≤ σ, else 0
  mexican_hat,  ///< (1 − δ²/σ²)·exp(−δ²/2σ²), below zero beyond σ
  triangle,     ///< max(0, 1 − δ/σ)
};

/// The way from `first` to `last` in T steps t = 0 … T−1, both reached (T = 1: first); s = t/(T−1).
enum class decay {
  linear,       ///< first + (last − first)·s
  exponential,  ///< first·(last/first)^s; both above 0
  asymptotic,   ///< first/(1 + (first/last − 1)·s); both above 0
};

enum class training {
  batch,   ///< an epoch is one fold of the rows, then one smoothing over the lattice (Kohonen 1993)
  online,  ///< a step for each row (Kohonen 1982): it does not fold, so it runs on one thread of the host
};

/// The codebook that training begins with.
enum class initialization {
  principal_plane,  ///< on the plane of the rows' first two principal components, one standard deviation to each side
  sampled_rows,     ///< rows drawn in proportion to their weights, distinct while there are enough
  random_values,    ///< uniform between each column's least and greatest value
  codebook,         ///< exactly options::codebook
};

struct range {
  double first = 0;
  double last = 0;
};

struct options {
  std::size_t width = 10;
  std::size_t height = 10;
  som::lattice lattice = som::lattice::rectangular;
  bool toroidal = false;  ///< a toroidal hexagonal map needs an even height
  som::metric metric = som::metric::euclidean;
  som::neighborhood neighborhood = som::neighborhood::gaussian;
  double cutoff = 0;  ///< h is 0 where δ > cutoff·σ; 0: no cut-off
  som::training training = som::training::batch;
  std::size_t epochs = 10;  ///< passes over the rows
  /// σ, in units of the lattice. Batch training takes a step of the decay each epoch, online training each 512 rows.
  /// None: from half the map's smaller side (of a chain of units, half its length), at least 1, to 1.
  std::optional<range> radius;
  som::decay radius_decay = som::decay::linear;  ///< as SOM_PAK, kohonen and Somoclu have it; reaches 0
  range rate{0.5, 0.01};                         ///< online: the share of the way to a row, in (0, 1]
  som::decay rate_decay = som::decay::linear;
  initialization init = initialization::principal_plane;
  std::vector<double> codebook;  ///< [height·width][columns], for initialization::codebook
  std::uint64_t seed = 0;
  std::size_t threads = 0;        ///< 0: default_threads()
  std::size_t memory_limit = 0;   ///< bytes for row buffers of sources that are not resident; 0: no limit
  std::string checkpoint;         ///< file; empty: none
  double checkpoint_seconds = 1;  ///< least time between two checkpoints
  device_choice device;           ///< where the fit runs; the host's processor unless chosen (choose_device)
};

/// How update() moves the units.
struct update_options {
  som::neighborhood neighborhood = som::neighborhood::gaussian;
  double cutoff = 0;  ///< as in options
  double radius = 1;
  double rate = 1;               ///< the share of a whole epoch's step, in (0, 1]
  std::size_t threads = 0;       ///< as in options
  std::size_t memory_limit = 0;  ///< as in options
  device_choice device;          ///< as in options
};

}  // namespace shoal::som
