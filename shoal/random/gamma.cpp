// Gamma variates by the method of Marsaglia and Tsang.
#include <shoal/random/gamma.hpp>

#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/random/normal.hpp>

namespace shoal::random {
namespace {

// d·(1 + c·normal)³, accepted by the squeeze or else by the logarithms (the algorithm of the paper, for shape ≥ 1).
double gamma_of_shape_at_least_one(stream& bits, double shape) {
  const double d = shape - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x = 0, cube = 0;
    do {
      x = normal_by_ziggurat(bits);
      const double root = 1 + c * x;
      cube = root * root * root;
    } while (cube <= 0);
    const double u = bits.uniform();
    const double square = x * x;
    if (u < 1 - 0.0331 * square * square) return d * cube;
    if (std::log(u) < 0.5 * square + d * (1 - cube + std::log(cube))) return d * cube;
  }
}

void check_shape(double shape) {
  if (!(shape > 0) || !std::isfinite(shape))
    throw bad_argument(fmt::format("the shape of a gamma distribution is {}; give a positive finite number", shape));
}

}  // namespace

double gamma(stream& bits, double shape) {
  check_shape(shape);
  if (shape >= 1) return gamma_of_shape_at_least_one(bits, shape);
  return std::exp(log_gamma_variate(bits, shape));
}

double log_gamma_variate(stream& bits, double shape) {
  check_shape(shape);
  if (shape >= 1) return std::log(gamma_of_shape_at_least_one(bits, shape));
  // A gamma of shape a is one of shape a + 1 times an independent u^(1/a) (the paper's section 6).
  const double larger = std::log(gamma_of_shape_at_least_one(bits, shape + 1));
  return larger + std::log(bits.uniform()) / shape;
}

double chi_squared(stream& bits, double degrees_of_freedom) {
  if (!(degrees_of_freedom > 0) || !std::isfinite(degrees_of_freedom))
    throw bad_argument(
        fmt::format("chi-squared with {} degrees of freedom; give a positive finite number", degrees_of_freedom));
  return 2 * gamma(bits, degrees_of_freedom / 2);
}

}  // namespace shoal::random
