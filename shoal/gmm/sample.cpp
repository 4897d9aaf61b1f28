// Rows drawn from a mixture: each row has a random stream of its own, so that ranges can be drawn by anybody.
#include <algorithm>
#include <vector>

#include <shoal/gmm/cuda/sample/sample.hpp>
#include <shoal/gmm/sample.hpp>
#include <shoal/gmm/sample_factors.hpp>
#include <shoal/random/categorical.hpp>
#include <shoal/random/normal.hpp>

namespace shoal::gmm {
namespace {

// row += L_k·η, η drawn in the order of the columns.
void add_deviation(const sample_factors& factors, std::size_t k, random::stream& bits, random::normal_method method,
                   std::vector<double>& row) {
  const double* factor = factors.values().data() + k * factors.stride();
  if (!factors.triangular()) {
    for (double& value : row) value += *factor++ * random::normal(bits, method);
    return;
  }
  for (std::size_t j = 0; j < row.size(); ++j) {
    const double normal = random::normal(bits, method);
    for (std::size_t i = j; i < row.size(); ++i) row[i] += normal * *factor++;
  }
}

template <class Scalar>
void draw(const model& model, std::uint64_t seed, std::size_t first, matrix_view<Scalar> rows, std::int32_t* labels,
          random::normal_method method) {
  check_sample_sizes(model, rows.columns());
  const random::categorical component(model.weights);
  const sample_factors factors(model);
  const std::uint64_t key = random::mix(seed, sampling_stream);
  std::vector<double> row(model.columns);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    random::stream bits(key, first + i);
    const std::size_t k = component(bits);
    const double* mean = model.means.data() + k * model.columns;
    std::copy(mean, mean + model.columns, row.begin());
    add_deviation(factors, k, bits, method, row);
    std::transform(row.begin(), row.end(), rows.row(i), [](double value) { return static_cast<Scalar>(value); });
    if (labels) labels[i] = static_cast<std::int32_t>(k);
  }
}

}  // namespace

void sample(const model& model, std::uint64_t seed, std::size_t first, matrix_view<float> rows, std::int32_t* labels,
            random::normal_method method) {
  draw(model, seed, first, rows, labels, method);
}

void sample(const model& model, std::uint64_t seed, std::size_t first, matrix_view<double> rows, std::int32_t* labels,
            random::normal_method method) {
  draw(model, seed, first, rows, labels, method);
}

void sample(const model& model, std::uint64_t seed, std::size_t first, matrix_view<float> rows, std::int32_t* labels,
            random::normal_method method, const device_choice& device) {
  if (device.on_host()) return draw(model, seed, first, rows, labels, method);
  sample_on_devices(model, seed, first, rows, labels, method, device);
}

void sample(const model& model, std::uint64_t seed, std::size_t first, matrix_view<double> rows, std::int32_t* labels,
            random::normal_method method, const device_choice& device) {
  if (device.on_host()) return draw(model, seed, first, rows, labels, method);
  sample_on_devices(model, seed, first, rows, labels, method, device);
}

}  // namespace shoal::gmm
