// Rows that k-means may start from, by their places in the data.
#include <shoal/kmeans/choose_rows.hpp>

#include <memory>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/options.hpp>

namespace shoal::kmeans {
namespace {

template <class Scalar>
std::vector<std::size_t> choose(const row_source<Scalar>& rows, const choice_options& options, row_weights weights,
                                const control& control) {
  if (options.clusters == 0 || options.clusters > rows.rows()) {
    throw bad_argument(fmt::format("the number of rows to choose must be from 1 to {}, the rows there are; got {}",
                                   rows.rows(), options.clusters));
  }
  const std::unique_ptr<executor> workers = make_executor(options.threads);
  const fold_context context = context_of(*workers, options.memory_limit, control);
  return make_backend<Scalar>(options.device, {context, &rows, weights})
      ->choose_rows({options.clusters, options.seed, 0, options.trials});
}

}  // namespace

std::vector<std::size_t> choose_rows(const row_source<float>& rows, const choice_options& options, row_weights weights,
                                     const control& control) {
  return choose(rows, options, weights, control);
}

std::vector<std::size_t> choose_rows(const row_source<double>& rows, const choice_options& options, row_weights weights,
                                     const control& control) {
  return choose(rows, options, weights, control);
}

}  // namespace shoal::kmeans
