// Folding rows into the statistics of their columns.
#include "data/column_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <shoal/estimation/weights_in.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/execution/fold.hpp>

namespace shoal::app {
namespace {

template <class Scalar>
struct columns_body {
  struct scratch {};

  void operator()(const row_block<Scalar>& block, const team_member& member, scratch&,
                  std::vector<column_statistics>& into) const {
    if (member.rank() != 0) return;
    for (std::size_t i = 0; i < block.rows.rows(); ++i) {
      const double weight = block.weights == nullptr ? 1 : static_cast<double>(block.weights[i]);
      const Scalar* const row = block.rows.row(i);
      for (std::size_t j = 0; j < into.size(); ++j) into[j].add(static_cast<double>(row[j]), weight);
    }
  }
};

}  // namespace

void column_statistics::add(double value, double value_weight) {
  if (!std::isfinite(value)) {
    ++not_finite;
    return;
  }
  if (!(value_weight > 0)) return;
  weight += value_weight;
  const double before = value - mean;
  mean += before * (value_weight / weight);
  squares += value_weight * before * (value - mean);
  minimum = std::min(minimum, value);
  maximum = std::max(maximum, value);
}

void column_statistics::add(const column_statistics& other) {
  not_finite += other.not_finite;
  if (!(other.weight > 0)) return;
  const double total = weight + other.weight;
  if (weight == 0) {  // apart, because the square of a huge mean would overflow
    mean = other.mean;
    squares = other.squares;
  } else {
    const double difference = other.mean - mean;
    const double share = other.weight / total;
    squares += other.squares + difference * difference * weight * share;
    mean += difference * share;
  }
  weight = total;
  minimum = std::min(minimum, other.minimum);
  maximum = std::max(maximum, other.maximum);
}

double column_statistics::deviation() const { return std::sqrt(squares / weight); }

template <class Scalar>
std::vector<column_statistics> column_statistics_of(const row_source<Scalar>& rows, row_weights weights,
                                                    const run_options& run, std::stop_token stop) {
  const std::unique_ptr<executor> workers = make_threads(run.threads);
  const fold_context context{workers.get(), run.memory_limit, std::move(stop)};
  const weights_in<Scalar> held(context, weights);
  return fold<Scalar>(context, weighted_rows<Scalar>{&rows, held.get(), 1}, columns_monoid{rows.columns()},
                      columns_body<Scalar>{});
}
template std::vector<column_statistics> column_statistics_of<float>(const row_source<float>&, row_weights,
                                                                    const run_options&, std::stop_token);
template std::vector<column_statistics> column_statistics_of<double>(const row_source<double>&, row_weights,
                                                                     const run_options&, std::stop_token);

}  // namespace shoal::app
