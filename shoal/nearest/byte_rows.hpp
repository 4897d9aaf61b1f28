// Rows as bytes, which a fit keeps from one search by bytes (byte_search-inl.hpp) to the next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/execution/plan.hpp>

namespace shoal {

/// Rows that are rounded together: three vectors of the instruction sets that search by bytes.
inline constexpr std::size_t byte_panel_rows = 48;

/// What a search knows of a panel of rows beside their bytes.
struct byte_panel {
  float norms[byte_panel_rows];  ///< ‖x′‖²
  float farthest;                ///< the largest |x′_j|
  float lost;                    ///< the largest of what rounding took off a row, squared
  std::uint32_t call_rows;       ///< rows of the call that made it; 0: it holds nothing
  std::uint32_t unused[13];      ///< panels begin on cache lines
};
static_assert(sizeof(byte_panel) % 64 == 0);

/// The panels of one call's rows.
struct kept_panels {
  std::int32_t* packed = nullptr;  ///< [panels][fours of columns][byte_panel_rows]; null: none are kept
  byte_panel* panels = nullptr;
};

/// Panels of the first rows of a fit. They are about one origin: whoever moves it calls forget().
class byte_rows {
 public:
  /// Makes room for so many rows, a multiple of block_rows or all there are.
  void grow(std::size_t rows, std::size_t columns) {
    rows_ = rows;
    panel_numbers_ = (columns + 3) / 4 * byte_panel_rows;
    const std::size_t panels = (rows + block_rows - 1) / block_rows * panels_of_block;
    packed_.grow(panels * panel_numbers_);
    if (panels_.size() >= panels) return;
    panels_.grow(panels);
    forget();
  }
  void forget() {
    for (std::size_t p = 0; p < panels_.size(); ++p) panels_[p].call_rows = 0;
  }
  /// Bytes that grow() takes for each row.
  static constexpr std::size_t bytes_of_row(std::size_t columns) {
    return ((columns + 3) / 4 * byte_panel_rows * sizeof(std::int32_t) + sizeof(byte_panel)) * panels_of_block /
           block_rows;
  }
  /// Those of rows [first, first + count), where `first` is a multiple of block_rows.
  kept_panels of(std::size_t first, std::size_t count) {
    if (first % block_rows != 0 || first + count > rows_) return {};
    const std::size_t panel = first / block_rows * panels_of_block;
    return {packed_.data() + panel * panel_numbers_, panels_.data() + panel};
  }

 private:
  static constexpr std::size_t panels_of_block = (block_rows + byte_panel_rows - 1) / byte_panel_rows;
  std::size_t rows_ = 0;
  std::size_t panel_numbers_ = 0;
  aligned_buffer<std::int32_t> packed_;
  aligned_buffer<byte_panel> panels_;
};

}  // namespace shoal
