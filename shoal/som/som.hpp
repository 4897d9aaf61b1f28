// Self-organizing maps (Kohonen 1982) of data of any size. The door to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <shoal/core/matrix_view.hpp>
#include <shoal/core/progress.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/io/row_source.hpp>

namespace shoal::som {

/// How the units lie. Unit u stands in row u / width and column u % width of the map. A toroidal map has no border: its
/// last row lies next to its first and its last column next to its first, and distances are those of nearest images.
enum class lattice {
  rectangular,  ///< at (column, row): neighbours are the four units at distance 1 and the four at √2
  hexagonal,    ///< at (column + ½ in odd rows, row·√3/2): neighbours are the six units at distance 1
};

/// Between a row x and a unit's weights w. With all of them units move to weighted means of the rows.
enum class metric {
  euclidean,  ///< ‖x − w‖
  taxicab,    ///< Σ|x − w|
  cosine,     ///< 1 − x·w/(‖x‖‖w‖); 1 where x or w is zero
  chebyshev,  ///< max|x − w|
};

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

/// A fitted map: its units' weights row-major, kept in float64 whatever the data's scalar.
struct model {
  std::size_t width = 0;   ///< units in a row of the map
  std::size_t height = 0;  ///< rows of the map
  std::size_t columns = 0;
  som::lattice lattice = som::lattice::rectangular;
  bool toroidal = false;
  som::metric metric = som::metric::euclidean;
  std::vector<double> codebook;           ///< [height·width][columns]
  std::vector<std::string> column_names;  ///< empty or [columns]

  std::size_t units() const { return width * height; }
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
  std::size_t threads = 0;        ///< 0: one for each hardware thread
  std::size_t memory_limit = 0;   ///< bytes for row buffers of sources that are not resident; 0: no limit
  std::string checkpoint;         ///< file; empty: none
  double checkpoint_seconds = 1;  ///< least time between two checkpoints
  device_choice device;           ///< where the fit runs; the host's processor unless chosen (choose_device)
};

/// How well a map stands for rows of weights w.
struct quality {
  double quantization_error = 0;  ///< Σ w·(distance to the best-matching unit) / Σ w, in the map's metric
  double topographic_error = 0;  ///< the share of Σ w whose two best-matching units are not neighbours; 0 for one unit
  std::vector<double> hits;      ///< [units] Σ w of the rows that each unit matches best
};

struct fit_result {
  som::model model;
  som::quality quality;  ///< of the returned codebook
  /// Batch: the quantization error of the codebook that each epoch started from. Online: the mean distance of each row
  /// to its best-matching unit as it came.
  std::vector<double> history;
  std::size_t epochs = 0;
  std::size_t rows = 0;
  double total_weight = 0;  ///< Σ w; the number of rows without weights
  double seconds = 0;       ///< first codebook, epochs and quality
  /// The epochs alone, and how many it was spent in: without what was done before a fit was resumed. One epoch takes
  /// their quotient.
  double loop_seconds = 0;
  std::size_t loop_epochs = 0;
  std::string hardware;  ///< the instruction set or the GPUs that computed it; same bits hold per kind
};

/// Trains a map on rows (optionally weighted: one column of weights ≥ 0, as many rows). A batch epoch moves unit i by
/// Σⱼ hᵢⱼ(Sⱼ − nⱼwᵢ) / Σⱼ|hᵢⱼ|nⱼ, where Sⱼ = Σ w·x and nⱼ = Σ w over the rows that unit j matches best: to the mean of
/// the rows weighted by h where h is not negative. An online step moves unit i by rate·hᵢ of the way to the row; a row
/// of weight w counts as w visits. Throws bad_argument, bad_data (not finite, no rows), interrupted, io_error.
fit_result fit(const row_source<float>& rows, const options& options, const row_source<float>* weights = nullptr,
               const control& control = {});
fit_result fit(const row_source<double>& rows, const options& options, const row_source<double>* weights = nullptr,
               const control& control = {});
fit_result fit(matrix_view<const float> rows, const options& options);
fit_result fit(matrix_view<const double> rows, const options& options);

/// The best-matching unit of each row (lowest index on a tie), as units[rows]. Returns the quantization error. On CUDA
/// devices `units` may point to memory of the host or of any CUDA device; it has been written when predict() returns.
/// Throws bad_argument, bad_data (not finite, no rows, a column of rows and units that spans more than 1e150),
/// interrupted.
double predict(const model& model, const row_source<float>& rows, std::int32_t* units, std::size_t threads = 0,
               std::size_t memory_limit = 0, const row_source<float>* weights = nullptr, const control& control = {},
               const device_choice& device = {});
double predict(const model& model, const row_source<double>& rows, std::int32_t* units, std::size_t threads = 0,
               std::size_t memory_limit = 0, const row_source<double>* weights = nullptr, const control& control = {},
               const device_choice& device = {});

/// How well the map stands for the rows.
quality score(const model& model, const row_source<float>& rows, std::size_t threads = 0, std::size_t memory_limit = 0,
              const row_source<float>* weights = nullptr, const control& control = {},
              const device_choice& device = {});
quality score(const model& model, const row_source<double>& rows, std::size_t threads = 0, std::size_t memory_limit = 0,
              const row_source<double>* weights = nullptr, const control& control = {},
              const device_choice& device = {});

/// The distance of each row to every unit in the map's metric, in distances[rows][units], each computed in float64 and
/// rounded once: the same bits on every device. On CUDA devices `distances` may point to memory of the host or of any
/// CUDA device; it has been written when distances() returns.
void distances(const model& model, const row_source<float>& rows, float* distances, std::size_t threads = 0,
               std::size_t memory_limit = 0, const control& control = {}, const device_choice& device = {});
void distances(const model& model, const row_source<double>& rows, double* distances, std::size_t threads = 0,
               std::size_t memory_limit = 0, const control& control = {}, const device_choice& device = {});

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

/// One batch step on rows that come in parts: each unit goes `rate` of the way that an epoch over these rows alone
/// would take it. units[rows] takes the best-matching units of the codebook as given, unless it is null; it is as for
/// predict(). Returns the quantization error of the codebook as given. Throws what predict() throws, and then leaves
/// the model unchanged.
double update(model& model, const row_source<float>& rows, const update_options& options, std::int32_t* units = nullptr,
              const row_source<float>* weights = nullptr, const control& control = {});
double update(model& model, const row_source<double>& rows, const update_options& options,
              std::int32_t* units = nullptr, const row_source<double>* weights = nullptr, const control& control = {});

/// The neighbours of unit `unit` on the lattice, in ascending order: at most eight, or six.
std::vector<std::size_t> neighbors(const model& model, std::size_t unit);

/// [units] The mean distance of each unit's weights to those of its neighbours, in the map's metric (Ultsch & Siemon
/// 1990); 0 for a map of one unit.
std::vector<double> u_matrix(const model& model);

/// What the labels of the rows say about the units that match them best.
struct unit_labels {
  std::vector<std::int64_t> majority;  ///< [units] the label of most rows, the least of equals; -1 where there are none
  std::vector<double> purity;          ///< [units] the share of the rows that have it; 0 where there are none
  double overall_purity = 0;           ///< the share of all rows that have the label of their unit
};

/// `units` and `labels` hold one value for each of the rows. Throws bad_argument for a unit that is not in the map,
/// and for a label below 0.
unit_labels label_units(const model& model, const std::int32_t* units, const std::int64_t* labels, std::size_t rows);

/// Reads and writes {"format":"shoal/som","version":1,…}. Throws io_error, bad_data with file and position.
model load_model(const std::string& path);
void save_model(const std::string& path, const model& model, std::string_view provenance_json = {});

}  // namespace shoal::som
