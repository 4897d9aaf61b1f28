// Linear assignment of costs in a file: least milliseconds of repeated solutions, and the cost. compare_assignment.py
// writes the files and measures SciPy on them.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include <shoal/assignment/assignment.hpp>
#include <shoal/io/io.hpp>

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "linear_assignment COSTS.npy REPEATS\n");
    return 2;
  }
  const auto data = shoal::open_rows<double>(argv[1]);
  const std::size_t rows = data.rows->rows();
  const std::size_t columns = data.rows->columns();
  std::vector<double> costs(rows * columns);
  shoal::aligned_buffer<double> buffer;
  const auto read = data.rows->read(0, rows, buffer);
  for (std::size_t i = 0; i < rows; ++i) std::copy_n(read.row(i), columns, &costs[i * columns]);
  double least = 1e300;
  double cost = 0;
  for (int repeat = 0; repeat < std::atoi(argv[2]); ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    cost = shoal::assignment::solve({costs.data(), rows, columns}).cost;
    least =
        std::min(least, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  fmt::print("{} {}\n", least, cost);
}
