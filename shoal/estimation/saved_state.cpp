#include <shoal/estimation/saved_state.hpp>

#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal {

std::span<const double> state_reader::take(std::size_t count, std::string_view what) {
  if (count > left()) {
    throw bad_data(fmt::format("its state has {} words, too few for {} (words {} to {})", words_.size(), what, at_,
                               at_ + count - 1));
  }
  const std::span<const double> taken = words_.subspan(at_, count);
  at_ += count;
  return taken;
}

std::span<const double> state_reader::take_finite(std::size_t count, std::string_view what) {
  const std::size_t first = at_;
  const std::span<const double> taken = take(count, what);
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isfinite(taken[i])) continue;
    throw bad_data(fmt::format("word {} of its state, of {}, is {} and should be finite", first + i, what, taken[i]));
  }
  return taken;
}

std::size_t state_reader::take_count(std::string_view what, std::uint64_t most) {
  const double word = take(1, what)[0];
  if (!(word >= 0 && word <= static_cast<double>(most)) || word != std::floor(word)) {
    throw bad_data(fmt::format("word {} of its state, {}, is {} and should be a whole number from 0 to {}", at_ - 1,
                               what, word, most));
  }
  return static_cast<std::size_t>(word);
}

void state_reader::end() const {
  if (left() == 0) return;
  throw bad_data(fmt::format("its state has {} words, {} too many", words_.size(), left()));
}

}  // namespace shoal
