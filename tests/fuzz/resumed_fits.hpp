// The fits that fuzz_restore resumes from words that no fit has saved: each family adds its own in
// tests/NAME/fuzz_restore.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "refusal.hpp"

#include <shoal/core/progress.hpp>
#include <shoal/io/row_source.hpp>

namespace fuzzing {

/// Runs a small fit of some restarts with this checkpoint, written every so many seconds.
using resumed_fit = void (*)(const std::string& checkpoint, double seconds, const shoal::control& control);

inline std::vector<resumed_fit>& resumed_fits() {
  static std::vector<resumed_fit> fits;
  return fits;
}

/// A variable of this type puts fits on the list.
struct add_resumed_fits {
  add_resumed_fits(std::initializer_list<resumed_fit> fits) {
    resumed_fits().insert(resumed_fits().end(), fits.begin(), fits.end());
  }
};

/// Rows in three groups, the same in every process.
template <std::size_t Rows, std::size_t Columns>
shoal::view_source<double> grouped_rows() {
  static const std::vector<double> rows = [] {
    std::vector<double> made;
    for (std::size_t i = 0; i < Rows * Columns; ++i)
      made.push_back(8.0 * static_cast<double>(i / Columns % 3) + std::sin(static_cast<double>(i * i)));
    return made;
  }();
  return shoal::view_source<double>(shoal::matrix_view<const double>(rows.data(), Rows, Columns));
}

inline void require_finite(std::span<const double> numbers) {
  require(std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); }),
          "a fit that was resumed ends with finite parameters");
}

}  // namespace fuzzing
