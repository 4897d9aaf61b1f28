// One tridiagonal system solved in place: least and median milliseconds of repeated solutions. compare_waves.py
// measures LAPACK beside it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/aligned_vector.hpp>
#include <shoal/reaction_diffusion/tridiagonal/tridiagonal.hpp>

namespace {

namespace tridiagonal = shoal::reaction_diffusion::tridiagonal;

tridiagonal::method method_of(const std::string& name) {
  if (name == "thomas") return tridiagonal::method::thomas;
  if (name == "cyclic-reduction") return tridiagonal::method::cyclic_reduction;
  if (name == "parallel-cyclic-reduction") return tridiagonal::method::parallel_cyclic_reduction;
  return tridiagonal::method::partition;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "tridiagonal_systems METHOD ROWS THREADS REPEATS\n");
    return 2;
  }
  const std::size_t rows = std::strtoull(argv[2], nullptr, 10);
  const shoal::aligned_vector<double> lower(rows, -1), diagonal(rows, 3), upper(rows, -1.5);
  shoal::aligned_vector<double> right(rows);
  std::vector<double> times;
  for (int repeat = 0; repeat < std::atoi(argv[4]); ++repeat) {
    for (std::size_t i = 0; i < rows; ++i) right[i] = static_cast<double>(i % 1000) * 1e-3;
    const auto begin = std::chrono::steady_clock::now();
    tridiagonal::solve({lower.data(), diagonal.data(), upper.data(), right.data(), rows, 1}, right.data(),
                       method_of(argv[1]), std::strtoull(argv[3], nullptr, 10));
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  fmt::print("{} {} {}\n", times.front(), times[times.size() / 2], right[rows / 2]);
}
