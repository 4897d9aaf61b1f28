// Gaussian mixtures by expectation-maximisation on data of any size. The door to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <shoal/core/matrix_view.hpp>
#include <shoal/core/progress.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/random/normal_method.hpp>

namespace shoal::gmm {

/// The shape of the covariances: one matrix a component, one for all, one diagonal a component, one variance a
/// component.
enum class covariance_type { full, tied, diag, spherical };

/// How the first model is chosen.
enum class initialization {
  kmeans,                   ///< k-means++ and Lloyd; weights, means and covariances of its clusters
  plus_plus,                ///< means by greedy k-means++; pooled per-column variance, uniform weights
  parallel,                 ///< means by k-means‖; pooled per-column variance, uniform weights
  random_rows,              ///< means from distinct rows; pooled per-column variance, uniform weights
  random_responsibilities,  ///< uniform random responsibilities, normalised
  model,                    ///< exactly options::start
  kmeans_of_tenth,  ///< means by k-means on a random tenth of the rows; pooled per-column variance, uniform weights
};

/// A mixture of K Gaussians in d columns, in float64 whatever the data's scalar. Matrices are row-major.
struct model {
  gmm::covariance_type covariance_type = gmm::covariance_type::full;
  std::size_t components = 0;
  std::size_t columns = 0;
  std::vector<double> weights;            ///< [K], positive or zero, sum 1
  std::vector<double> means;              ///< [K][d]
  std::vector<double> covariances;        ///< full [K][d][d], tied [d][d], diag [K][d], spherical [K]
  std::vector<std::string> column_names;  ///< empty or [d]
};

/// Elements of model::covariances for that type.
std::size_t covariance_size(covariance_type type, std::size_t components, std::size_t columns);

/// Free parameters of such a mixture: the covariances', K·d means and K − 1 weights.
double free_parameters(covariance_type type, std::size_t components, std::size_t columns);

/// How often the model moves during a pass over the rows. One iteration is one pass, whichever is chosen.
enum class algorithm {
  batch,  ///< once: the statistics of all rows under one model, then one maximisation
  /// After every superchunk (Neal & Hinton 1998): what its chunks contributed before is subtracted from the statistics
  /// of all rows, what they contribute now is added, and the model is maximised. The first pass is one of batch. Same
  /// bits for any number of threads.
  incremental,
  /// As incremental, by threads that do not wait for each other: each takes a superchunk, uses the newest model there
  /// is, and folds in the chunks that moved by more than a threshold. With several threads a result is repeatable in
  /// distribution only; on CUDA devices deltas are folded in in a fixed order, and bits are the same.
  asynchronous,
  /// After every superchunk, by decaying steps towards its statistics (Cappé & Moulines 2009); keeps no statistics of
  /// chunks. Approaches a maximum without reaching it.
  stepwise,
};

/// What is made of the models that batch passes through.
enum class acceleration {
  none,
  /// Extrapolation from every three of them (Varadhan & Roland 2008), in log-weights, means and log-Cholesky factors,
  /// where every value is a mixture. An extrapolated model that explains the rows worse is dropped.
  squarem,
};

/// How algorithms other than batch cut the rows: chunks of consecutive rows, which are gone through in an order drawn
/// from the seed, and superchunks of as many successive chunks of that order, after each of which the model moves.
struct chunk_options {
  std::size_t rows = 0;         ///< of a chunk; CUDA devices: multiples of 4096 of a share; 0: by shape and `memory`
  std::size_t superchunks = 0;  ///< of a pass, at most one for each chunk; 0: 32, fewer for few rows or a device
  /// Bytes for the statistics that incremental and asynchronous keep of each chunk (and for `memberships`); 0: 256 MiB.
  std::size_t memory = 0;
  /// asynchronous: a chunk whose responsibilities moved by no more, Σₖ |ΔWₖ| / Σ w ≤ threshold, is not folded in. A
  /// pass that folds nothing in is followed by one without a threshold, and ends the fit when it comes just after one.
  double threshold = 0;
  /// asynchronous: keep the responsibilities of every row (N × K of the data's scalar) and hold the threshold to each
  /// row's Σₖ |Δrₖ|; rows below it keep their old contribution.
  bool memberships = false;
  /// asynchronous: a thread maximises a model of its own after every chunk of its superchunk.
  bool local_models = false;
  /// asynchronous: every so many passes thresholds are ignored and all statistics are made anew; at least 1.
  std::size_t rebuild_passes = 20;
};

struct options {
  std::size_t components = 1;
  gmm::covariance_type covariance_type = gmm::covariance_type::full;
  gmm::algorithm algorithm = gmm::algorithm::batch;
  gmm::acceleration acceleration = gmm::acceleration::none;  ///< of batch
  chunk_options chunks;                                      ///< of the other algorithms
  /// stepwise: step t = 0, 1, … has η = (t + step_delay)^−step_exponent; delay at least 1, exponent in (0.5, 1].
  double step_delay = 2;
  double step_exponent = 0.6;
  initialization init = initialization::kmeans;
  model start;  ///< for initialization::model
  std::size_t max_iterations = 100;
  double tolerance = 1e-3;  ///< stop when |Δ mean log-likelihood| < tolerance; 0: exactly max_iterations
  /// What the mean log-likelihood was one iteration before `start`, so that a fit that goes on from an earlier one
  /// stops where one long fit would have stopped. Not-a-number: not known, and the first iteration never stops.
  double previous_log_likelihood = std::numeric_limits<double>::quiet_NaN();
  double regularization = 1e-6;  ///< added to the diagonal of every covariance, in the data's units squared
  std::size_t restarts = 1;      ///< the fit with the greatest log-likelihood is kept
  std::uint64_t seed = 0;
  std::size_t threads = 0;        ///< 0: one for each hardware thread
  std::size_t memory_limit = 0;   ///< bytes for row buffers of sources that are not resident; 0: no limit
  std::string checkpoint;         ///< file; empty: none
  double checkpoint_seconds = 1;  ///< least time between two checkpoints
  device_choice device;           ///< where the fit runs; the host's processor unless chosen (choose_device)
};

/// Sets what Altinigneli, Plant & Böhm ("Massively parallel expectation maximization using graphics processing units",
/// KDD 2013) fit with: asynchronous, chunks of 512 rows (128 threads of 4), 128 superchunks, a factorisation after
/// every chunk, a threshold of 0.01 on each row's responsibilities, which are kept; at most 100 iterations or until a
/// pass changes nothing; means by k-means on a tenth of the rows. Everything else stays.
void set_async_em_2013(options& options);

struct fit_result {
  gmm::model model;
  double mean_log_likelihood = 0;  ///< of the returned model, per unit of weight
  /// Mean log-likelihood of the model that each iteration started from; where models change within a pass, of the rows
  /// under the models that they met. Under `squarem` an iteration whose model was dropped stands lower.
  std::vector<double> history;
  std::size_t iterations = 0;  ///< of the fit that was kept
  bool converged = false;
  std::size_t reseeded = 0;  ///< empty components that were given the row that fitted worst
  std::size_t rows = 0;
  double total_weight = 0;  ///< Σ w; the number of rows without weights
  double seconds = 0;       ///< checks, initialisation, loop and final score
  /// The loop alone, and the iterations that it was spent in: of all restarts, but without what was done before a fit
  /// was resumed. One iteration takes their quotient.
  double loop_seconds = 0;
  std::size_t loop_iterations = 0;
  double bic = 0;        ///< −2ℓ·Σw + p·ln Σw
  double aic = 0;        ///< −2ℓ·Σw + 2p
  std::string hardware;  ///< the instruction set or the GPUs that computed it; same bits hold per kind
};

/// Fits rows (optionally weighted: one column of weights ≥ 0, as many rows). Throws bad_argument, bad_data (not finite,
/// fewer rows than components), numerical_error (a covariance that is not positive definite, by component),
/// interrupted, io_error.
fit_result fit(const row_source<float>& rows, const options& options, const row_source<float>* weights = nullptr,
               const control& control = {});
fit_result fit(const row_source<double>& rows, const options& options, const row_source<double>* weights = nullptr,
               const control& control = {});
fit_result fit(matrix_view<const float> rows, const options& options);
fit_result fit(matrix_view<const double> rows, const options& options);

/// What predict() writes for each row; a null pointer leaves that output out. On CUDA devices each may point to memory
/// of the host or of any CUDA device; it has been written when predict() returns.
template <class Scalar>
struct prediction {
  std::int32_t* labels = nullptr;   ///< [rows], the component with the greatest responsibility
  Scalar* probabilities = nullptr;  ///< [rows][K] responsibilities, each row summing to one
  Scalar* log_density = nullptr;    ///< [rows], ln p(x)
};

/// Labels, responsibilities and log-density of rows under the model. Returns the mean log-likelihood, Σ w ln p(x) / Σ
/// w.
double predict(const model& model, const row_source<float>& rows, const prediction<float>& out, std::size_t threads = 0,
               std::size_t memory_limit = 0, const row_source<float>* weights = nullptr, const control& control = {},
               const device_choice& device = {});
double predict(const model& model, const row_source<double>& rows, const prediction<double>& out,
               std::size_t threads = 0, std::size_t memory_limit = 0, const row_source<double>* weights = nullptr,
               const control& control = {}, const device_choice& device = {});

struct update_options {
  double step_size = 1;          ///< η of (0, 1]: the share of these rows in what the model rests on afterwards
  double regularization = 1e-6;  ///< the one that the model was made with; as options::regularization
  std::size_t threads = 0;       ///< 0: one for each hardware thread
  std::size_t memory_limit = 0;  ///< bytes for row buffers of sources that are not resident; 0: no limit
  device_choice device;          ///< where the rows are summed; the model is maximised on the host
};

/// One step of stepwise EM (Cappé & Moulines 2009), for rows that come in batches: with s the expected
/// statistics per unit of weight that the model stands for, s ← (1 − η) s + η ŝ(rows), and the model is maximised over
/// s again. Statistics are complete: with η = 1 this is one iteration of EM on the rows. A component that has neither
/// weight in the model nor rows keeps its mean and covariance. Returns the mean log-likelihood of the rows under the
/// model as it was given. Throws what fit() throws, and then leaves the model unchanged.
double update(model& model, const row_source<float>& rows, const update_options& options,
              const row_source<float>* weights = nullptr, const control& control = {});
double update(model& model, const row_source<double>& rows, const update_options& options,
              const row_source<double>* weights = nullptr, const control& control = {});

/// Draws rows [first, first + count) of the endless sequence that (model, seed, method) defines, so that row i is the
/// same whoever draws it, in whatever pieces: component k with probability weights[k], then μ_k + L_k·η with L_k the
/// Cholesky factor of its covariance and η standard normals. `rows` is [count][d], in the model's units, computed in
/// float64 and rounded once; `labels`, [count], takes the components and may be null. Each call factorises the
/// covariances, so draw thousands of rows at a time. Threads may draw separate ranges at once. Throws bad_argument when
/// the columns of `rows` or the sizes of the model's arrays are not those that it states, numerical_error for a
/// covariance that is not positive definite, by component.
void sample(const model& model, std::uint64_t seed, std::size_t first, matrix_view<float> rows, std::int32_t* labels,
            random::normal_method method = random::normal_method::ziggurat);
void sample(const model& model, std::uint64_t seed, std::size_t first, matrix_view<double> rows, std::int32_t* labels,
            random::normal_method method = random::normal_method::ziggurat);

/// Reads and writes {"format":"shoal/gmm","version":1,…}. Throws io_error, bad_data with file and position.
model load_model(const std::string& path);
void save_model(const std::string& path, const model& model, std::string_view provenance_json = {});

}  // namespace shoal::gmm
