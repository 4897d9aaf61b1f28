#include <optional>

#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/plain/plain.hpp>
#include <shoal/gmm/cuda/rooms.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/tensor_diagonal.hpp>
#include <shoal/gmm/cuda/tensor_float64/tensor_float64.hpp>
#include <shoal/gmm/cuda/tensor_matrix/tensor_matrix.hpp>
#include <shoal/gmm/cuda/tensor_wide/tensor_wide.hpp>
#include <shoal/gmm/cuda/usual_room.hpp>

namespace shoal::gmm {
namespace {

template <class Scalar>
using room = kernel_room<predictor_shape, std::unique_ptr<predictor<Scalar>>(const predictor_shape&, cudaStream_t)>;

const room<float> float_rooms[] = {
    {room_name::few_columns, few_columns::suits, few_columns::make_predictor},
    {room_name::tensor_matrix, tensor_matrix::suits, tensor_matrix::make_predictor},
    {room_name::tensor_diagonal, tensor_diagonal::suits, tensor_diagonal::make_predictor},
    {room_name::tensor_wide, tensor_wide::suits, tensor_wide::make_predictor},
    {room_name::tensor_float64, tensor_float64::suits, tensor_float64::make_predictor<float>},
    {room_name::plain, plain::suits, plain::make_predictor<float>},
};
const room<double> double_rooms[] = {
    {room_name::tensor_float64, tensor_float64::suits, tensor_float64::make_predictor<double>},
    {room_name::plain, plain::suits, plain::make_predictor<double>},
};

// Cells of predictions are not timed yet.
auto candidate_for(const predictor_shape& shape) {
  return [&shape](room_name name) { return room_candidate{true, is_usual(name, shape), std::nullopt}; };
}

}  // namespace

template <>
std::unique_ptr<predictor<float>> make_predictor(const predictor_shape& shape, cudaStream_t stream) {
  return make_in_cheapest_room(float_rooms, shape, candidate_for(shape), stream);
}
template <>
std::unique_ptr<predictor<double>> make_predictor(const predictor_shape& shape, cudaStream_t stream) {
  return make_in_cheapest_room(double_rooms, shape, candidate_for(shape), stream);
}

}  // namespace shoal::gmm
