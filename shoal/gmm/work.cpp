#include <shoal/gmm/work.hpp>

#include <algorithm>

namespace shoal::gmm {
namespace {

// What an exponential and the sums about it take on top of the products, in multiply-adds.
constexpr double beside_products = 16;

// What drawing a normal takes, in multiply-adds of float64: about 20 ns on one thread.
constexpr double normal_cost = 250;

// Of one row and one component: the triangular products of the expectation, and as many of the second moments.
double multiply_adds(covariance_type type, std::size_t columns) {
  const auto d = static_cast<double>(columns);
  const bool matrices = type == covariance_type::full || type == covariance_type::tied;
  return (matrices ? d * d : 2 * d) + 2 * d + beside_products;
}

estimated_work passes_over(std::size_t rows, std::size_t columns, std::size_t scalar_bytes, std::size_t components,
                           double each, double passes) {
  const double elements = static_cast<double>(rows) * static_cast<double>(columns);
  const double double_cost = scalar_bytes == sizeof(double) ? 2 : 1;
  return {double_cost * passes * static_cast<double>(rows) * static_cast<double>(components) * each,
          elements * static_cast<double>(scalar_bytes), passes};
}

}  // namespace

estimated_work work_of_fit(std::size_t rows, std::size_t columns, std::size_t scalar_bytes, const options& options) {
  const auto iterations = static_cast<double>(options.tolerance > 0 ? std::min(options.max_iterations, usual_iterations)
                                                                    : options.max_iterations);
  const auto restarts = static_cast<double>(options.restarts);
  // The check before and the final score are passes too.
  estimated_work work = passes_over(rows, columns, scalar_bytes, options.components,
                                    multiply_adds(options.covariance_type, columns), restarts * (iterations + 1) + 1);
  if (options.init != initialization::model) {
    // k-means, or the passes of seeding: about as many.
    work += passes_over(rows, columns, scalar_bytes, options.components, static_cast<double>(columns),
                        restarts * static_cast<double>(usual_iterations));
  }
  return work;
}

estimated_work work_of_prediction(std::size_t rows, std::size_t scalar_bytes, const model& model) {
  return passes_over(rows, model.columns, scalar_bytes, model.components,
                     multiply_adds(model.covariance_type, model.columns), 2);
}

estimated_work work_of_sample(std::size_t rows, std::size_t scalar_bytes, const model& model) {
  const auto d = static_cast<double>(model.columns);
  const bool matrices =
      model.covariance_type == covariance_type::full || model.covariance_type == covariance_type::tied;
  const auto count = static_cast<double>(rows);
  // Float64 on the host whatever the scalar, a normal for each column.
  return {2 * count * d * ((matrices ? d / 2 : 1) + normal_cost), count * d * static_cast<double>(scalar_bytes), 1};
}

}  // namespace shoal::gmm
