// The layers of the normal ziggurat, computed by the compiler so that every platform draws with the same bits.
#pragma once

#include <array>
#include <cstddef>

namespace shoal::random {

/// 256 layers of equal area under f(x) = exp(−x²/2), x ≥ 0 (Marsaglia and Tsang, "The ziggurat method for generating
/// random variables", J. Stat. Softw. 5(8), 2000). Layer 0 is the base strip and the tail beyond `tail_start`; layer i
/// is the rectangle [0, edge[i]] × [height[i], height[i + 1]].
struct ziggurat_table {
  static constexpr std::size_t layers = 256;
  /// The root r that closes 256 layers at f(0) = 1, and the area r·f(r) + ∫_r^∞ f of each.
  static constexpr double tail_start = 3.65415288536100877165;
  static constexpr double layer_area = 0.00492867323397465534736;

  std::array<double, layers + 1> edge{};    ///< decreasing; edge[0] = area / f(r), the width of the base strip
  std::array<double, layers + 1> height{};  ///< f(edge[i]); height[0] is not used

  constexpr ziggurat_table() {
    edge[0] = layer_area / density(tail_start);
    edge[1] = tail_start;
    height[1] = density(tail_start);
    for (std::size_t i = 2; i < layers; ++i) {
      height[i] = height[i - 1] + layer_area / edge[i - 1];
      edge[i] = inverse_density(height[i], edge[i - 1]);
    }
    edge[layers] = 0;
    height[layers] = 1;
  }

 private:
  // The standard library's functions are not constexpr in C++20, and their last bits differ between platforms. These
  // hold on the table's range only, to a few units in the last place.
  static constexpr double exponential(
      double x) {  // x in [−8, 0]: one over the series of e^−x, whose terms are positive
    double sum = 1;
    for (int n = 50; n > 0; --n) sum = 1 - sum * x / n;
    return 1 / sum;
  }
  static constexpr double density(double x) { return exponential(-0.5 * x * x); }
  /// The x < `above` with f(x) = y, by Newton's iteration for ln y and Heron's for the square root.
  static constexpr double inverse_density(double y, double above) {
    double logarithm = -0.5 * above * above;
    for (int i = 0; i < 8; ++i) logarithm += y / exponential(logarithm) - 1;
    double root = above;
    for (int i = 0; i < 8; ++i) root = 0.5 * (root - 2 * logarithm / root);
    return root;
  }
};

inline constexpr ziggurat_table ziggurat;

}  // namespace shoal::random
