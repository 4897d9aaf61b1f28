// The words of a stepper that were saved, taken back with care: a checksum says that they are as they were written, and
// nothing about who wrote them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace shoal {

/// Takes a saved state apart from its front, and refuses what no fit can have saved. `what` names the words in
/// messages. Everything throws bad_data, with the place.
class state_reader {
 public:
  explicit state_reader(std::span<const double> words) : words_(words) {}

  /// Words of any bits.
  std::span<const double> take(std::size_t count, std::string_view what);
  /// Numbers that are finite.
  std::span<const double> take_finite(std::size_t count, std::string_view what);
  double take_finite(std::string_view what) { return take_finite(1, what)[0]; }
  /// A whole number from 0 to `most`.
  std::size_t take_count(std::string_view what, std::uint64_t most = largest_count);
  /// 0 or 1.
  bool take_flag(std::string_view what) { return take_count(what, 1) == 1; }

  std::size_t left() const { return words_.size() - at_; }
  /// For the reader of somebody else's words, who takes all that are left.
  std::span<const double> take_rest() { return take(left(), {}); }
  /// Refuses words that nobody has taken.
  void end() const;

 private:
  static constexpr std::uint64_t largest_count = std::uint64_t{1} << 53;  // beyond it a double skips whole numbers

  std::span<const double> words_;
  std::size_t at_ = 0;
};

}  // namespace shoal
