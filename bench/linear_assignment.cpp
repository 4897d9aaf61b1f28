// Linear assignment of costs in a file: least milliseconds of processor time of repeated solutions, and the cost.
// compare_assignment.py writes the files and measures others on them.
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
  shoal::assignment::solution found;
  for (int repeat = 0; repeat < std::atoi(argv[2]); ++repeat) {
    timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    found = shoal::assignment::solve(shoal::matrix_view<const double>(costs.data(), rows, columns));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    least = std::min(least, 1e3 * static_cast<double>(end.tv_sec - begin.tv_sec) +
                                1e-6 * static_cast<double>(end.tv_nsec - begin.tv_nsec));
  }
  fmt::print("{} {} {}\n", least, found.cost, found.certified ? "certified" : "unproven");
}
