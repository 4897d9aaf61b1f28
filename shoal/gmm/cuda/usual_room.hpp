// The room that takes a shape by thresholds, where rooms that could take it have not been timed on the like of it.
#pragma once

#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/predictor.hpp>
#include <shoal/gmm/cuda/room_name.hpp>

namespace shoal::gmm {

/// Whether a room that suits takes the shape if none before it does. Cells of float64 rows, of more than 128 columns,
/// of few rows and of many components for few columns are not timed yet (cost_table.hpp has those that are), so
/// that these thresholds still choose for them. tuning.hpp says what was measured.
template <class Scalar>
bool is_usual(room_name room, const accumulator_shape& shape);
extern template bool is_usual<float>(room_name, const accumulator_shape&);
extern template bool is_usual<double>(room_name, const accumulator_shape&);

/// The same for predictions, no cells of which are timed yet.
bool is_usual(room_name room, const predictor_shape& shape);

}  // namespace shoal::gmm
