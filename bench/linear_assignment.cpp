// Linear assignment of the matrices in a file, square ones below each other: least milliseconds of processor time for
// one of them, over repeated rounds through all, and the sum of their costs. compare_assignment.py writes the files and
// measures others on them.
#include <algorithm>
#include <cstdlib>
#include <ctime>
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
  bool certified = true;
  const std::size_t matrices = rows / columns;
  for (int repeat = 0; repeat < std::atoi(argv[2]); ++repeat) {
    timespec begin, end;
    cost = 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (std::size_t n = 0; n < matrices; ++n) {
      const shoal::assignment::solution found =
          shoal::assignment::solve(shoal::matrix_view<const double>(&costs[n * columns * columns], columns, columns));
      cost += found.cost;
      certified = certified && found.certified;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    least = std::min(least, (1e3 * static_cast<double>(end.tv_sec - begin.tv_sec) +
                             1e-6 * static_cast<double>(end.tv_nsec - begin.tv_nsec)) /
                                static_cast<double>(matrices));
  }
  fmt::print("{} {} {}\n", least, cost, certified ? "certified" : "unproven");
}
