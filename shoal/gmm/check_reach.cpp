#include <shoal/gmm/check_reach.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal::gmm {
namespace {

// Columns that depend on each other lengthen a deviation by a factor of up to about 1e9, as far as float64 tells a
// matrix from a singular one; squares are summed over the columns. What is left of float64's and float32's range:
constexpr double farthest = 1e130;
template <class Scalar>
constexpr double least_deviation = sizeof(Scalar) == 4 ? 1e-28 : 1e-140;

double variance_of(const model& model, std::size_t k, std::size_t j) {
  const std::size_t d = model.columns;
  switch (model.covariance_type) {
    case covariance_type::full:
      return model.covariances[(k * d + j) * d + j];
    case covariance_type::tied:
      return model.covariances[j * d + j];
    case covariance_type::diag:
      return model.covariances[k * d + j];
    case covariance_type::spherical:
      break;
  }
  return model.covariances[k];
}

}  // namespace

template <class Scalar>
void check_reach(const model& model, const data_summary& summary, bool every_row) {
  const std::vector<double>& low = every_row ? summary.lowest : summary.minimum;
  const std::vector<double>& high = every_row ? summary.highest : summary.maximum;
  for (std::size_t k = 0; k < model.components; ++k) {
    for (std::size_t j = 0; j < model.columns; ++j) {
      const double mean = model.means[k * model.columns + j];
      const double deviation = std::sqrt(variance_of(model, k, j));
      if (deviation < least_deviation<Scalar>) {
        throw bad_data(
            fmt::format("component {} has the deviation {:.3g} in column {}, too small for {}: {}multiply the "
                        "column by a constant",
                        k, deviation, j, sizeof(Scalar) == 4 ? "float32" : "float64",
                        sizeof(Scalar) == 4 ? "use float64 or " : ""));
      }
      // Apart, because a difference may be infinite.
      const double apart =
          std::max(std::abs(high[j] / deviation - mean / deviation), std::abs(low[j] / deviation - mean / deviation));
      if (apart <= farthest) continue;
      throw bad_data(
          fmt::format("column {}: a row lies {:.3g} deviations from the mean of component {} ({:.3g}), and "
                      "densities beyond {:.0e} leave the range of float64: is it the model of these data?",
                      j, apart, k, mean, farthest));
    }
  }
}

template void check_reach<float>(const model&, const data_summary&, bool);
template void check_reach<double>(const model&, const data_summary&, bool);

}  // namespace shoal::gmm
