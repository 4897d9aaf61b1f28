// A random order of the larger side, of which the smaller side takes the first.
#include <shoal/assignment/random_assignment.hpp>

#include <shoal/random/permutation.hpp>
#include <shoal/random/stream.hpp>

namespace shoal::assignment {

std::vector<std::size_t> random_assignment(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  std::vector<std::size_t> order = random::permutation(rows <= columns ? columns : rows, random::stream(seed, 0));
  if (rows <= columns) {
    order.resize(rows);
    return order;
  }
  std::vector<std::size_t> column_of_row(rows, unassigned);
  for (std::size_t j = 0; j < columns; ++j) column_of_row[order[j]] = j;
  return column_of_row;
}

}  // namespace shoal::assignment
