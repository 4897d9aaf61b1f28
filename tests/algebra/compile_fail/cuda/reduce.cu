// Reduces on a GPU with STRUCTURE: compiles exactly when the device can call its operation.
#include <string>

#include <shoal/algebra/cuda/reduce.cuh>
#include <shoal/algebra/instances/reals.hpp>
#include <shoal/algebra/instances/strings.hpp>

// Its operation is a function of the host: neither constexpr nor marked for the device.
struct host_addition : shoal::algebra::real_addition<double> {
  double combine(double a, double b) const { return a + b; }
};

void reduce(const STRUCTURE::value_type* values, shoal::algebra::gpu::workspace& memory) {
  static_cast<void>(shoal::algebra::gpu::reduce(STRUCTURE{}, values, 1, memory));
}
