#include <shoal/gmm/cuda/usual_room.hpp>

#include <type_traits>

#include <shoal/gmm/cuda/tensor_float64/tensor_float64.hpp>
#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>
#include <shoal/gmm/cuda/tuning.hpp>

namespace shoal::gmm {
namespace {

template <class Scalar>
bool tensor_cores_come_first(const accumulator_shape& shape) {
  const std::size_t columns = shape.layout.columns();
  if (sizeof(Scalar) == 8) {
    const bool many_rows = columns >= least_first_double_columns && shape.share_rows >= least_first_double_rows;
    const bool few_rows = columns >= least_few_rows_columns && shape.layout.components() >= least_few_rows_components;
    return shape.layout.has_matrices() && (many_rows || few_rows);
  }
  return shape.layout.has_matrices() && columns >= least_first_columns &&
         shape.layout.components() * columns * columns * columns >= least_first_numbers &&
         shape.share_rows >= shape.multiprocessors * least_first_rows;
}

template <class Scalar>
bool is_within_limit(const accumulator_shape& shape) {
  const bool matrices = shape.layout.has_matrices();
  const std::size_t columns = shape.layout.columns();
  const few_columns_limit limit = few_columns_limit_of<Scalar>(matrices, columns);
  const std::size_t moments = matrices ? 1 + columns * (columns + 3) / 2 : 1 + 2 * columns;
  const auto is_within = [&](const few_columns_limit& most) {
    return shape.layout.components() <= most.components && shape.layout.components() * moments <= most.numbers;
  };
  const bool shares_products = sizeof(Scalar) == 8 && shape.layout.type() == covariance_type::tied &&
                               shape.share_rows >= least_tied_rows && columns >= least_tied_columns &&
                               shape.layout.components() > most_known_tied_components;
  return is_within(limit) && (!shares_products || is_within(tied_double_limit));
}

}  // namespace

template <class Scalar>
bool is_usual(room_name room, const accumulator_shape& shape) {
  if (std::is_same_v<Scalar, float> && tensor_float64::reads_rows_once(shape)) {
    return room == room_name::tensor_float64 || room == room_name::plain;
  }
  if (room != room_name::few_columns && room != room_name::few_columns_teams) return true;
  if (tensor_cores_come_first<Scalar>(shape)) return false;
  if (room == room_name::few_columns) return is_within_limit<Scalar>(shape);
  const bool many_rows = shape.share_rows >= shape.multiprocessors * least_team_rows(shape.layout.type());
  if (!many_rows && shape.layout.type() == covariance_type::full && shape.layout.components() == 1 &&
      shape.layout.columns() >= least_lone_team_columns) {
    return true;
  }
  return many_rows && shape.layout.components() >= least_team_components;
}
template bool is_usual<float>(room_name, const accumulator_shape&);
template bool is_usual<double>(room_name, const accumulator_shape&);

bool is_usual(room_name room, const predictor_shape& shape) {
  const std::size_t columns = shape.layout.columns();
  if (room == room_name::few_columns) return columns * shape.layout.components() <= most_prediction_numbers;
  if (room != room_name::tensor_float64) return true;
  if (columns > 1 && shape.layout.components() >= tensor_float64::many_components) return true;
  if (shape.layout.has_matrices()) return columns >= tensor_float64::least_matrix_columns;
  return columns >= tensor_float64::least_diagonal_columns &&
         columns * shape.layout.components() >= tensor_float64::least_diagonal_numbers;
}

}  // namespace shoal::gmm
