// How a mixture is fitted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <shoal/execution/device_choice.hpp>
#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/model.hpp>

namespace shoal::gmm {

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
  std::size_t rows = 0;         ///< of a chunk; CUDA devices: multiples of 4096 of a shard; 0: by shape and `memory`
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
  /// stepwise: step t = 0, 1, … has η = (t + step_delay)^−step_exponent, for rows that weigh as much as a whole
  /// superchunk and in proportion for others; delay at least 1, exponent in (0.5, 1].
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
  std::size_t threads = 0;        ///< 0: default_threads()
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

/// How update() goes on from a model.
struct update_options {
  double step_size = 1;          ///< η of (0, 1]: the share of these rows in what the model rests on afterwards
  double regularization = 1e-6;  ///< the one that the model was made with; as options::regularization
  std::size_t threads = 0;       ///< 0: default_threads()
  std::size_t memory_limit = 0;  ///< bytes for row buffers of sources that are not resident; 0: no limit
  device_choice device;          ///< where the rows are summed; the model is maximised on the host
};

}  // namespace shoal::gmm
