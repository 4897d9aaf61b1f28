#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/plain/plain.hpp>
#include <shoal/gmm/cuda/rooms.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/tensor_diagonal.hpp>
#include <shoal/gmm/cuda/tensor_float64/tensor_float64.hpp>
#include <shoal/gmm/cuda/tensor_matrix/tensor_matrix.hpp>
#include <shoal/gmm/cuda/tensor_wide/tensor_wide.hpp>

namespace shoal::gmm {
namespace {

template <class Scalar>
using room = kernel_room<accumulator_shape, std::unique_ptr<accumulator<Scalar>>(const accumulator_shape&)>;

// The first room that suits a shape takes it, the most special one first. tuning.hpp says what was measured.
const room<float> float_rooms[] = {
    {tensor_matrix::beats_few_columns, tensor_matrix::make_accumulator},
    {few_columns::suits_teams, few_columns::make_team_accumulator},
    {few_columns::suits<float>, few_columns::make_accumulator<float>},
    {tensor_matrix::suits, tensor_matrix::make_accumulator},
    {tensor_diagonal::suits, tensor_diagonal::make_accumulator},
    {tensor_wide::suits, tensor_wide::make_accumulator},
    {tensor_float64::suits, tensor_float64::make_accumulator<float>},
    {plain::suits, plain::make_accumulator<float>},
};
const room<double> double_rooms[] = {
    {few_columns::suits<double>, few_columns::make_accumulator<double>},
    {tensor_float64::suits, tensor_float64::make_accumulator<double>},
    {plain::suits, plain::make_accumulator<double>},
};

}  // namespace

template <>
std::unique_ptr<accumulator<float>> make_accumulator(const accumulator_shape& shape) {
  return make_in_first_room(float_rooms, shape);
}
template <>
std::unique_ptr<accumulator<double>> make_accumulator(const accumulator_shape& shape) {
  return make_in_first_room(double_rooms, shape);
}

}  // namespace shoal::gmm
