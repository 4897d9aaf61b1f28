// Reduces and scans on threads with an installed shoal: the same bits as on one thread.
#include <shoal/algebra/algebra.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/execution/runner.hpp>

#include <cstdio>
#include <vector>

int main() {
  namespace algebra = shoal::algebra;
  std::vector<double> values;
  for (int i = 0; i < 100000; ++i) values.push_back(0.1 * (i % 7));
  const auto threads = shoal::make_threads(2), one = shoal::make_sequential();
  const algebra::real_addition<double> addition;
  const double sum = algebra::reduce(addition, values, shoal::runner(*threads));
  const auto scan = algebra::inclusive_scan(addition, values, shoal::runner(*threads));
  const bool same = sum == algebra::reduce(addition, values, shoal::runner(*one)) &&
                    scan == algebra::inclusive_scan(addition, values, shoal::runner(*one)) &&
                    sum == algebra::reduce(addition, values);
  std::printf("a sum on two threads: %.10g, %s\n", sum, same ? "as on one" : "and another on one");
  return same ? 0 : 1;
}
