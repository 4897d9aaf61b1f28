#include <type_traits>

#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/few_columns/accumulator.hpp>
#include <shoal/gmm/cuda/few_columns/teams_accumulator.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/accumulator.hpp>
#include <shoal/gmm/cuda/tensor_matrix/accumulator.hpp>

namespace shoal::gmm {

// The first kernel that is made for the shape, the most special one first; the plain one is made for all. tuning.hpp
// says what was measured.
template <class Scalar>
std::unique_ptr<device_accumulator<Scalar>> make_device_accumulator(const accumulator_shape& shape) {
  if constexpr (std::is_same_v<Scalar, float>) {
    if (prefers_large_accumulator(shape)) return make_large_accumulator(shape);
    if (takes_team_accumulator(shape)) return make_team_accumulator(shape);
  }
  if (fits_small_accumulator<Scalar>(shape)) return make_small_accumulator<Scalar>(shape);
  if constexpr (std::is_same_v<Scalar, float>) {
    if (takes_large_accumulator(shape)) return make_large_accumulator(shape);
    if (takes_large_diagonal_accumulator(shape)) return make_large_diagonal_accumulator(shape);
  }
  return make_plain_accumulator<Scalar>(shape);
}
template std::unique_ptr<device_accumulator<float>> make_device_accumulator(const accumulator_shape&);
template std::unique_ptr<device_accumulator<double>> make_device_accumulator(const accumulator_shape&);

}  // namespace shoal::gmm
