#include <shoal/kmeans/work.hpp>

#include <algorithm>

namespace shoal::kmeans {
namespace {

// What a row takes on top of the products with the centroids, in multiply-adds of each column.
constexpr double beside_products = 8;

estimated_work passes_over(std::size_t rows, std::size_t columns, std::size_t scalar_bytes, std::size_t clusters,
                           double passes) {
  const double elements = static_cast<double>(rows) * static_cast<double>(columns);
  const double double_cost = scalar_bytes == sizeof(double) ? 2 : 1;
  return {double_cost * passes * elements * (static_cast<double>(clusters) + beside_products),
          elements * static_cast<double>(scalar_bytes), passes};
}

}  // namespace

estimated_work work_of_fit(std::size_t rows, std::size_t columns, std::size_t scalar_bytes, const options& options) {
  const auto iterations = static_cast<double>(std::min(options.max_iterations, usual_iterations));
  const auto restarts = static_cast<double>(options.restarts);
  // Seeding measures every row against every centroid once; the check before and the final labels are passes too.
  return passes_over(rows, columns, scalar_bytes, options.clusters, restarts * (iterations + 2) + 1);
}

estimated_work work_of_prediction(std::size_t rows, std::size_t scalar_bytes, const model& model) {
  return passes_over(rows, model.columns, scalar_bytes, model.clusters, 2);
}

}  // namespace shoal::kmeans
