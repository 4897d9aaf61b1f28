// The rooms of kernels that a mixture's rows go through on a GPU.
#pragma once

#include <array>
#include <string_view>

namespace shoal::gmm {

/// In the order in which they are asked: of rooms that take the same time, to all that is known, the first one is
/// taken.
enum class room_name {
  few_columns_teams,
  few_columns,
  tensor_matrix,
  tensor_diagonal,
  tensor_wide,
  tensor_float64,
  plain,
};

/// As bench/results name them.
inline constexpr std::array<std::string_view, 7> room_names = {
    "few_columns_teams", "few_columns", "tensor_matrix", "tensor_diagonal", "tensor_wide", "tensor_float64", "plain"};

}  // namespace shoal::gmm
