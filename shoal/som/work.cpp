#include <shoal/som/work.hpp>

namespace shoal::som {
namespace {

// What a row takes on top of the products with the units, in multiply-adds of each column.
constexpr double beside_products = 8;

estimated_work passes_over(std::size_t rows, std::size_t columns, std::size_t scalar_bytes, std::size_t units,
                           double passes) {
  const double elements = static_cast<double>(rows) * static_cast<double>(columns);
  const double double_cost = scalar_bytes == sizeof(double) ? 2 : 1;
  return {double_cost * passes * elements * (static_cast<double>(units) + beside_products),
          elements * static_cast<double>(scalar_bytes), passes};
}

}  // namespace

estimated_work work_of_fit(std::size_t rows, std::size_t columns, std::size_t scalar_bytes, const options& options) {
  const auto width = static_cast<double>(options.width), height = static_cast<double>(options.height);
  const auto epochs = static_cast<double>(options.epochs);
  // The check before and the quality after are passes too; principal components take one more.
  estimated_work work = passes_over(rows, columns, scalar_bytes, options.width * options.height, epochs + 3);
  // Smoothing is in float64, separable or not.
  const bool separable = options.neighborhood == neighborhood::gaussian && !(options.cutoff > 0);
  const double reach = separable ? width + height : width * height;
  work.multiply_adds += 2 * epochs * width * height * reach * static_cast<double>(columns + 1);
  return work;
}

estimated_work work_of_prediction(std::size_t rows, std::size_t scalar_bytes, const model& model) {
  return passes_over(rows, model.columns, scalar_bytes, model.units(), 2);
}

}  // namespace shoal::som
