// The fold of a mixture: rows into statistics, one block of rows after another; and the same for predictions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <shoal/execution/executor.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/prediction.hpp>
#include <shoal/gmm/statistics.hpp>
#include <shoal/gmm/workspace.hpp>

namespace shoal::gmm {

/// Fills responsibilities of a block of at most block_rows rows that somebody else knows (labels of k-means, random
/// numbers): `responsibilities` is [K][stride], zero on entry. May be called from several threads at once, for
/// different blocks; must depend on block.first and the rows alone.
template <class Scalar>
using responsibilities_function =
    std::function<void(const row_block<Scalar>& block, Scalar* responsibilities, std::size_t stride)>;

/// The body of the fold of one EM iteration (see shoal::folder). Adds the statistics of a piece of rows about
/// `components->centres`, or those of `about`, which may have no factors. Responsibilities are the posterior under
/// `components`, or `given`; those below exp(−negligible_log_ratio) (tuning.hpp) count as zero. With given
/// responsibilities the log-likelihood stays zero.
///
/// The result depends on the blocks of block_rows rows alone: neither on how pieces cut the rows (at multiples of
/// block_rows) nor on the size of the team.
template <class Scalar>
struct accumulation {
  using scratch = workspace<Scalar>;

  const parameters<Scalar>* components = nullptr;
  const responsibilities_function<Scalar>* given = nullptr;
  const parameters<Scalar>* about = nullptr;

  void operator()(const row_block<Scalar>& block, const team_member& member, scratch& memory, statistics& into) const;
};
extern template struct accumulation<float>;
extern template struct accumulation<double>;

/// Σ w ln p(x) and Σ w of some rows.
struct score {
  double log_likelihood = 0;
  double weight = 0;
};

struct score_monoid {
  using value_type = score;
  static constexpr algebra::operation_laws laws = algebra::rounded_sums;
  score identity() const { return {}; }
  void reset(score& value) const { value = {}; }
  void combine_into(score& into, const score& from) const {
    into.log_likelihood += from.log_likelihood;
    into.weight += from.weight;
  }
  std::size_t bytes() const { return sizeof(score); }
};

/// Writes what `out` asks for, for the rows of `block` alone (index 0 is block's first row), and adds their score to
/// `into`, block_rows rows at a time. Labels are the lowest component among those of greatest responsibility.
template <class Scalar>
void predict_rows(const parameters<Scalar>& components, const row_block<Scalar>& block, workspace<Scalar>& memory,
                  const prediction<Scalar>& out, score& into);
extern template void predict_rows(const parameters<float>&, const row_block<float>&, workspace<float>&,
                                  const prediction<float>&, score&);
extern template void predict_rows(const parameters<double>&, const row_block<double>&, workspace<double>&,
                                  const prediction<double>&, score&);

/// The body of the fold of predict() and of a model's score. `out` is of all rows: index 0 is row 0 of the data.
template <class Scalar>
struct prediction_body {
  using scratch = workspace<Scalar>;

  const parameters<Scalar>* components = nullptr;
  prediction<Scalar> out;

  void operator()(const row_block<Scalar>& block, const team_member& member, scratch& memory, score& into) const {
    if (member.rank() != 0) return;
    prediction<Scalar> here = out;
    if (here.labels != nullptr) here.labels += block.first;
    if (here.probabilities != nullptr) here.probabilities += block.first * components->components;
    if (here.log_density != nullptr) here.log_density += block.first;
    predict_rows(*components, block, memory, here, into);
  }
};

/// The instruction set that the kernels run on: "AVX2", "AVX3", ….
const char* instruction_set();

}  // namespace shoal::gmm
