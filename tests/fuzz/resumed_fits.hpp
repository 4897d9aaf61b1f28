// The fits that fuzz_restore resumes from words that no fit has saved: each family adds its own in
// tests/NAME/fuzz_restore.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "refusal.hpp"

#include <shoal/core/progress.hpp>
#include <shoal/estimation/backend_rows.hpp>
#include <shoal/estimation/fit_loop.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/io/row_source.hpp>

namespace fuzzing {

inline void require_finite(std::span<const double> numbers) {
  require(std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); }),
          "a fit that was resumed ends with finite parameters");
}

/// A small fit of one family, with its rows.
class resumed_fit {
 public:
  virtual ~resumed_fit() = default;
  /// All of it, with this checkpoint, written every so many seconds.
  virtual void run(const std::string& checkpoint, double seconds, const shoal::control& control) const = 0;
  /// Its steps alone, on rows that were checked when it was called first.
  virtual std::unique_ptr<shoal::stepper> steps() = 0;
  /// What the fit makes of its steps when the loop has ended.
  virtual void end(shoal::stepper& steps) = 0;
};

/// What families have in common. `Make` makes their backend.
template <class Options, auto Make>
class small_fit : public resumed_fit {
 public:
  small_fit(shoal::view_source<double> rows, Options options) : rows_(std::move(rows)), options_(std::move(options)) {}
  std::unique_ptr<shoal::stepper> steps() override { return backend().fit(options_); }

 protected:
  using backend_pointer = decltype(Make(shoal::device_choice(), shoal::backend_rows<double>()));

  auto& backend() {
    if (!backend_) {
      workers_ = shoal::make_executor(1);
      backend_ = Make(options_.device, {shoal::context_of(*workers_, 0, {}), &rows_});
    }
    return *backend_;
  }
  Options with(const std::string& checkpoint, double seconds) const {
    Options chosen = options_;
    chosen.threads = 1;
    chosen.checkpoint = checkpoint;
    chosen.checkpoint_seconds = seconds;
    return chosen;
  }

  shoal::view_source<double> rows_;
  Options options_;

 private:
  std::unique_ptr<shoal::executor> workers_;
  backend_pointer backend_;
};

inline std::vector<std::unique_ptr<resumed_fit>>& resumed_fits() {
  static std::vector<std::unique_ptr<resumed_fit>> fits;
  return fits;
}

/// A variable of this type puts fits on the list.
struct add_resumed_fits {
  template <class... Fits>
  explicit add_resumed_fits(Fits... fits) {
    (resumed_fits().push_back(std::move(fits)), ...);
  }
};

/// Rows in three groups, the same in every process: few, because a step must be made and not a good fit.
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

}  // namespace fuzzing
