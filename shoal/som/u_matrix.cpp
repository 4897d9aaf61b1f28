// What a map shows of itself: the neighbours of its units and how far they are.
#include <shoal/som/u_matrix.hpp>

#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/som/check_model.hpp>
#include <shoal/som/distance.hpp>
#include <shoal/som/lattice.hpp>
#include <shoal/som/lattice_geometry.hpp>
#include <shoal/som/metric.hpp>
#include <shoal/som/model.hpp>

namespace shoal::som {

std::vector<std::size_t> neighbors(const model& model, std::size_t unit) {
  check_shape(model.width, model.height, model.lattice, model.toroidal);
  if (unit >= model.units()) {
    throw bad_argument(fmt::format("unit {} is not in a map of {} x {} units", unit, model.width, model.height));
  }
  const neighbor_list found = neighbors_of(shape_of(model), unit);
  return {found.units, found.units + found.count};
}

std::vector<double> u_matrix(const model& model) {
  check_model(model);
  const lattice_shape shape = shape_of(model);
  std::vector<double> means(model.units());
  for (std::size_t u = 0; u < model.units(); ++u) {
    const neighbor_list around = neighbors_of(shape, u);
    for (std::uint32_t i = 0; i < around.count; ++i) {
      means[u] += distance_between(model.metric, model.codebook.data() + u * model.columns,
                                   model.codebook.data() + around.units[i] * model.columns, model.columns) /
                  around.count;
    }
  }
  return means;
}

}  // namespace shoal::som
