#include <shoal/reaction_diffusion/initial_state.hpp>

#include <cmath>

namespace shoal::reaction_diffusion {
namespace {

// Calls set(index, x, y) with the place of each node from the middle of the grid.
template <class Set>
void for_each_node(const grid& nodes, const Set& set) {
  const double middle_column = (static_cast<double>(nodes.columns) - 1) / 2;
  const double middle_row = (static_cast<double>(nodes.rows) - 1) / 2;
  for (std::size_t i = 0; i < nodes.rows; ++i) {
    for (std::size_t j = 0; j < nodes.columns; ++j) {
      set(i * nodes.columns + j, (static_cast<double>(j) - middle_column) * nodes.spacing,
          (static_cast<double>(i) - middle_row) * nodes.spacing);
    }
  }
}

}  // namespace

initial_state rest(const grid& nodes) {
  return {std::vector<double>(nodes.nodes()), std::vector<double>(nodes.nodes())};
}

initial_state impulse(const grid& nodes) {
  initial_state begin = rest(nodes);
  for_each_node(nodes, [&](std::size_t i, double x, double y) { begin.v[i] = std::exp(-(x * x + y * y) / 10); });
  return begin;
}

initial_state front(const grid& nodes, const parameters& equations) {
  initial_state begin = rest(nodes);
  const double width = std::sqrt(2 * equations.diffusion);
  for_each_node(nodes, [&](std::size_t i, double x, double) { begin.v[i] = 1 / (1 + std::exp(x / width)); });
  return begin;
}

initial_state broken_front(const grid& nodes) {
  initial_state begin = rest(nodes);
  for_each_node(nodes, [&](std::size_t i, double x, double y) {
    if (x < 0) begin.v[i] = 1;
    if (y > 0) begin.w[i] = 0.1;
  });
  return begin;
}

}  // namespace shoal::reaction_diffusion
