#include <shoal/gmm/saved_model.hpp>

#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal::gmm {
namespace {

constexpr double weight_sum_tolerance = 1e-6;

void check_weights(const std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    if (weights[k] < 0) throw bad_data(fmt::format("the weight of its component {} is {}", k, weights[k]));
    sum += weights[k];
  }
  if (!(std::abs(sum - 1) <= weight_sum_tolerance)) {
    throw bad_data(fmt::format("the weights of its components sum to {} and should sum to 1", sum));
  }
}

}  // namespace

void append_model(const model& model, std::vector<double>& state) {
  for (const auto* part : {&model.weights, &model.means, &model.covariances})
    state.insert(state.end(), part->begin(), part->end());
}

model take_model(state_reader& state, const statistics_layout& layout) {
  model taken;
  taken.covariance_type = layout.type();
  taken.components = layout.components();
  taken.columns = layout.columns();
  const auto take = [&](std::vector<double>& into, std::size_t count, std::string_view what) {
    const std::span<const double> values = state.take_finite(count, what);
    into.assign(values.begin(), values.end());
  };
  take(taken.weights, taken.components, "the weights");
  take(taken.means, taken.components * taken.columns, "the means");
  take(taken.covariances, covariance_size(taken.covariance_type, taken.components, taken.columns), "the covariances");
  check_weights(taken.weights);
  return taken;
}

}  // namespace shoal::gmm
