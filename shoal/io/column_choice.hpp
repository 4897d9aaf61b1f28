// Which columns of a file are kept, and which one holds labels.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <shoal/io/rows_file.hpp>

namespace shoal {

struct column_choice {
  bool all = true;                ///< every column is kept, in its order; `kept` is empty
  std::vector<std::size_t> kept;  ///< otherwise: these, in this order
  std::optional<std::size_t> label;
};

/// Resolves the columns of `options` in a file of `columns` columns, whose names are `names` (or none). Throws
/// bad_argument, which starts with `name`, for a column that is not there, that is listed twice, or that is both a
/// feature and the label; bad_data when no column is left.
column_choice choose_columns(const std::string& name, std::size_t columns, std::span<const std::string> names,
                             const read_options& options);

/// The names of the columns kept; empty when there are none.
std::vector<std::string> kept_names(const column_choice& choice, std::span<const std::string> names);

}  // namespace shoal
