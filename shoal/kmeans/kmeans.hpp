// k-means by Lloyd's algorithm on data of any size. The door to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <shoal/core/matrix_view.hpp>
#include <shoal/core/progress.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/io/row_source.hpp>

namespace shoal::kmeans {

/// How the first centroids are chosen.
enum class seeding {
  plus_plus,    ///< greedy k-means++ (Arthur & Vassilvitskii 2007) with 2 + floor(ln K) trials a step
  parallel,     ///< k-means‖ (Bahmani et al. 2012)
  random_rows,  ///< distinct rows, drawn in proportion to their weights
  centroids,    ///< exactly options::centroids
};

/// When the iteration stops. Each rule also stops when no label changed and at max_iterations.
enum class stop_rule {
  scikit_learn,  ///< Σ‖Δc‖² ≤ tolerance · mean over columns of the variance of the rows
  relative_shift,  ///< Σ‖Δc‖² ≤ tolerance · the previous Σ‖Δc‖² (the rule of the source; 0.001 there on threads, 0.01
                   ///< on a GPU)
};

/// A fitted model: K centroids of d columns, row-major, kept in float64 whatever the data's scalar.
struct model {
  std::size_t clusters = 0;
  std::size_t columns = 0;
  std::vector<double> centroids;          ///< [clusters][columns]
  std::vector<std::string> column_names;  ///< empty or [columns]
};

struct options {
  std::size_t clusters = 8;
  seeding init = seeding::plus_plus;
  std::vector<double> centroids;  ///< [clusters][columns], for seeding::centroids
  std::size_t max_iterations = 300;
  double tolerance = 1e-4;  ///< 0: until no label changes, or max_iterations
  stop_rule stop = stop_rule::scikit_learn;
  std::size_t restarts = 1;  ///< the fit with the least inertia is kept
  std::uint64_t seed = 0;
  std::size_t threads = 0;        ///< 0: one for each hardware thread
  std::size_t memory_limit = 0;   ///< bytes for row buffers of sources that are not resident; 0: no limit
  std::string checkpoint;         ///< file; empty: none
  double checkpoint_seconds = 1;  ///< least time between two checkpoints
  device_choice device;           ///< where the fit runs; the host's processor unless chosen (choose_device)
};

struct fit_result {
  kmeans::model model;
  double inertia = 0;           ///< Σ w‖x − c‖² of the returned centroids
  std::vector<double> history;  ///< inertia of the centroids that each iteration started from
  std::size_t iterations = 0;   ///< of the fit that was kept
  bool converged = false;
  std::size_t relocated = 0;            ///< empty clusters that were given the farthest row
  std::vector<double> cluster_weights;  ///< [K] Σ w of the rows nearest to each of the returned centroids
  std::size_t rows = 0;
  double total_weight = 0;  ///< Σ w; the number of rows without weights
  double seconds = 0;       ///< seeding, loop and final labels
  /// The loop alone, and the iterations that it was spent in: of all restarts, but without what was done before a fit
  /// was resumed. One iteration takes their quotient.
  double loop_seconds = 0;
  std::size_t loop_iterations = 0;
  double bic = 0;  ///< spherical model of docs/choosing-k.md
  double aic = 0;
  std::string hardware;  ///< the instruction set or the GPUs that computed it; same bits hold per kind
};

/// Fits rows (optionally weighted: one column of weights ≥ 0, as many rows). Throws bad_argument, bad_data (not finite,
/// fewer rows than clusters, a column that spans more than squares in float64 can hold), interrupted, io_error.
fit_result fit(const row_source<float>& rows, const options& options, const row_source<float>* weights = nullptr,
               const control& control = {});
fit_result fit(const row_source<double>& rows, const options& options, const row_source<double>* weights = nullptr,
               const control& control = {});
fit_result fit(matrix_view<const float> rows, const options& options);
fit_result fit(matrix_view<const double> rows, const options& options);

/// The nearest centroid of each row (lowest index on a tie), as labels[rows]. Returns the inertia Σ‖x − c‖². On CUDA
/// devices `labels` may point to memory of the host or of any CUDA device; it has been written when predict() returns.
/// Throws bad_argument, bad_data (not finite, no rows, a column of rows and centroids that spans more than squares in
/// float64 can hold), interrupted.
double predict(const model& model, const row_source<float>& rows, std::int32_t* labels, std::size_t threads = 0,
               std::size_t memory_limit = 0, const row_source<float>* weights = nullptr, const control& control = {},
               const device_choice& device = {});
double predict(const model& model, const row_source<double>& rows, std::int32_t* labels, std::size_t threads = 0,
               std::size_t memory_limit = 0, const row_source<double>* weights = nullptr, const control& control = {},
               const device_choice& device = {});

/// The distance ‖x − c‖ of each row to every centroid, in distances[rows][clusters], each from the differences
/// themselves in float64, rounded once: the same bits on every device. On CUDA devices `distances` may point to memory
/// of the host or of any CUDA device; it has been written when distances() returns.
void distances(const model& model, const row_source<float>& rows, float* distances, std::size_t threads = 0,
               std::size_t memory_limit = 0, const control& control = {}, const device_choice& device = {});
void distances(const model& model, const row_source<double>& rows, double* distances, std::size_t threads = 0,
               std::size_t memory_limit = 0, const control& control = {}, const device_choice& device = {});

/// One step of k-means on rows that come in batches (Sculley 2010, a batch at a time): each centroid becomes the
/// weighted mean of all the rows that it was ever given. `seen` is [clusters], the weight given to each so far, and
/// grows by that of `rows`; labels[rows] takes the nearest of the centroids as given, unless it is null. Returns the
/// inertia about the centroids as given. `labels` is as for predict(). Throws what predict() throws, and
/// then leaves the model and `seen` unchanged.
double update(model& model, std::vector<double>& seen, const row_source<float>& rows, std::int32_t* labels,
              std::size_t threads = 0, std::size_t memory_limit = 0, const row_source<float>* weights = nullptr,
              const control& control = {}, const device_choice& device = {});
double update(model& model, std::vector<double>& seen, const row_source<double>& rows, std::int32_t* labels,
              std::size_t threads = 0, std::size_t memory_limit = 0, const row_source<double>* weights = nullptr,
              const control& control = {}, const device_choice& device = {});

struct choice_options {
  std::size_t clusters = 8;
  std::uint64_t seed = 0;
  std::size_t trials = 0;        ///< rows drawn in each step, of which the best is kept; 0: 2 + floor(ln K)
  std::size_t threads = 0;       ///< 0: one for each hardware thread
  std::size_t memory_limit = 0;  ///< bytes for row buffers of sources that are not resident; 0: no limit
  device_choice device;          ///< where the rows are measured
};

/// The rows that seeding::plus_plus starts the first fit with this seed from, as [clusters] indices from 0 in the order
/// in which they were chosen; rows of weight zero are never among them. Throws bad_argument when `clusters` is 0 or
/// more than there are rows, and bad_data, interrupted, io_error.
std::vector<std::size_t> choose_rows(const row_source<float>& rows, const choice_options& options,
                                     const row_source<float>* weights = nullptr, const control& control = {});
std::vector<std::size_t> choose_rows(const row_source<double>& rows, const choice_options& options,
                                     const row_source<double>* weights = nullptr, const control& control = {});

/// Reads and writes {"format":"shoal/kmeans","version":1,…}. Throws io_error, bad_data with file and position.
model load_model(const std::string& path);
void save_model(const std::string& path, const model& model, std::string_view provenance_json = {});

}  // namespace shoal::kmeans
