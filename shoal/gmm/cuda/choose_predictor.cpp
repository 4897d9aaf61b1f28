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
using room = kernel_room<predictor_shape, std::unique_ptr<predictor<Scalar>>(const predictor_shape&, cudaStream_t)>;

// The first room that suits a shape takes it, the most special one first.
const room<float> float_rooms[] = {
    {few_columns::suits, few_columns::make_predictor},
    {tensor_matrix::suits, tensor_matrix::make_predictor},
    {tensor_diagonal::suits, tensor_diagonal::make_predictor},
    {tensor_wide::suits, tensor_wide::make_predictor},
    {tensor_float64::suits, tensor_float64::make_predictor<float>},
    {plain::suits, plain::make_predictor<float>},
};
const room<double> double_rooms[] = {
    {tensor_float64::suits, tensor_float64::make_predictor<double>},
    {plain::suits, plain::make_predictor<double>},
};

}  // namespace

template <>
std::unique_ptr<predictor<float>> make_predictor(const predictor_shape& shape, cudaStream_t stream) {
  return make_in_first_room(float_rooms, shape, stream);
}
template <>
std::unique_ptr<predictor<double>> make_predictor(const predictor_shape& shape, cudaStream_t stream) {
  return make_in_first_room(double_rooms, shape, stream);
}

}  // namespace shoal::gmm
