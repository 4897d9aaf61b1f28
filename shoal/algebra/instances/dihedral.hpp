// D4: the eight symmetries of a square.
#pragma once

#include <array>

#include <shoal/algebra/group.hpp>

namespace shoal::algebra {

/// Rotations by quarter turns, counterclockwise, and reflections about the vertical axis, the descending diagonal
/// (top left to bottom right), the horizontal axis and the ascending diagonal.
enum class square_symmetry : unsigned char {
  rotation_0,
  rotation_90,
  rotation_180,
  rotation_270,
  reflection_vertical,
  reflection_descending,
  reflection_horizontal,
  reflection_ascending
};

/// The dihedral group of order eight; combine(a, b) does b first, then a. A rotation by m quarter turns takes the
/// direction θ to θ + m; a reflection takes it to k − θ, with k twice the direction of its axis. Composing these gives
/// the whole table. Every reflection and the half turn are their own inverses; the quarter turns are each other's.
struct dihedral_4 {
  using value_type = square_symmetry;
  static constexpr operation_laws laws{.associative = law::exact, .identity = law::exact, .inverse = law::exact};

  constexpr square_symmetry combine(square_symmetry a, square_symmetry b) const {
    const unsigned m = quarter_turns(a), n = quarter_turns(b);
    // m ± (n + θ) or m ± (n − θ): a reflection turns around what was done before it.
    const unsigned turns = reflects(a) ? m + 4 - n : m + n;
    return symmetry(reflects(a) != reflects(b), turns);
  }
  constexpr square_symmetry identity() const { return square_symmetry::rotation_0; }
  constexpr square_symmetry inverse(square_symmetry a) const {
    return reflects(a) ? a : symmetry(false, 4 - quarter_turns(a));
  }
  constexpr std::array<square_symmetry, 8> elements() const {
    using enum square_symmetry;
    return {rotation_0,          rotation_90,           rotation_180,          rotation_270,
            reflection_vertical, reflection_descending, reflection_horizontal, reflection_ascending};
  }

 private:
  static constexpr bool reflects(square_symmetry a) { return a >= square_symmetry::reflection_vertical; }
  // m for a rotation, k for a reflection. The vertical axis points at 90°, so its k is two quarter turns; each later
  // reflection has its axis 45° further.
  static constexpr unsigned quarter_turns(square_symmetry a) {
    const unsigned position = static_cast<unsigned>(a) % 4;
    return reflects(a) ? position + 2 : position;
  }
  static constexpr square_symmetry symmetry(bool reflection, unsigned turns) {
    return static_cast<square_symmetry>(reflection ? 4 + (turns + 2) % 4 : turns % 4);
  }
};

}  // namespace shoal::algebra
