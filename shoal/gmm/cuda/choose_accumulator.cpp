#include <cstddef>
#include <memory>
#include <utility>

#include <shoal/gmm/cuda/cost.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/plain/plain.hpp>
#include <shoal/gmm/cuda/rooms.hpp>
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/tensor_diagonal.hpp>
#include <shoal/gmm/cuda/tensor_float64/tensor_float64.hpp>
#include <shoal/gmm/cuda/tensor_matrix/tensor_matrix.hpp>
#include <shoal/gmm/cuda/tensor_wide/tensor_wide.hpp>
#include <shoal/gmm/cuda/usual_room.hpp>

namespace shoal::gmm {
namespace {

template <class Scalar>
using room = kernel_room<accumulator_shape, std::unique_ptr<accumulator<Scalar>>(const accumulator_shape&)>;

const room<float> float_rooms[] = {
    {room_name::few_columns_teams, few_columns::suits_teams, few_columns::make_team_accumulator},
    {room_name::few_columns, few_columns::suits<float>, few_columns::make_accumulator<float>},
    {room_name::tensor_matrix, tensor_matrix::suits, tensor_matrix::make_accumulator},
    {room_name::tensor_diagonal, tensor_diagonal::suits, tensor_diagonal::make_accumulator},
    {room_name::tensor_wide, tensor_wide::suits, tensor_wide::make_accumulator},
    {room_name::tensor_float64, tensor_float64::suits, tensor_float64::make_accumulator<float>},
    {room_name::plain, plain::suits, plain::make_accumulator<float>},
};
const room<double> double_rooms[] = {
    {room_name::few_columns, few_columns::suits<double>, few_columns::make_accumulator<double>},
    {room_name::tensor_float64, tensor_float64::suits, tensor_float64::make_accumulator<double>},
    {room_name::plain, plain::suits, plain::make_accumulator<double>},
};

template <class Scalar, std::size_t Count>
std::unique_ptr<accumulator<Scalar>> make_cheapest(const room<Scalar> (&rooms)[Count], const accumulator_shape& shape) {
  // Rows are read once by Hopper's products alone; without them tensor_diagonal keeps those shapes.
  const bool reads_twice = sizeof(Scalar) == 4 && tensor_float64::reads_rows_once(shape) && !tensor::has_products();
  return make_in_cheapest_room(rooms, shape, [&](room_name name) {
    const bool usual = (reads_twice && name == room_name::tensor_diagonal) || is_usual<Scalar>(name, shape);
    return room_candidate{true, usual, expected_milliseconds<Scalar>(name, shape)};
  });
}

}  // namespace

template <>
std::unique_ptr<accumulator<float>> make_accumulator(const accumulator_shape& shape) {
  if (few_columns::suits_registers(shape)) return few_columns::make_register_accumulator(shape);
  if (few_columns::suits_warp_products(shape)) return few_columns::make_warp_product_accumulator(shape);
  std::unique_ptr<accumulator<float>> cheapest = few_columns::takes_many<float>(shape)
                                                     ? few_columns::make_many_accumulator<float>(shape)
                                                     : make_cheapest(float_rooms, shape);
  if (few_columns::suits_circles(shape)) return few_columns::make_circle_accumulator(shape, std::move(cheapest));
  if (few_columns::suits_term_products(shape)) {
    return few_columns::make_term_product_accumulator(shape, std::move(cheapest));
  }
  if (tensor_diagonal::suits_staged(shape)) return tensor_diagonal::make_staged_accumulator(shape, std::move(cheapest));
  if (!few_columns::suits_products(shape)) return cheapest;
  return few_columns::make_product_accumulator(shape, std::move(cheapest));
}
template <>
std::unique_ptr<accumulator<double>> make_accumulator(const accumulator_shape& shape) {
  if (few_columns::takes_small_float64_products(shape)) return few_columns::make_small_float64_accumulator(shape);
  std::unique_ptr<accumulator<double>> cheapest = few_columns::takes_many<double>(shape)
                                                      ? few_columns::make_many_accumulator<double>(shape)
                                                      : make_cheapest(double_rooms, shape);
  if (!few_columns::takes_float64_products(shape)) return cheapest;
  return few_columns::make_float64_product_accumulator(shape, std::move(cheapest));
}

}  // namespace shoal::gmm
