// A map among its rows as a scene.
#include <fmt/format.h>

#include <shoal/som/model_text.hpp>
#include <shoal/som/u_matrix.hpp>

#include "common/model_file.hpp"
#include "som/noun.hpp"
#include "som/units.hpp"
#include "viewer/surface_scene.hpp"

namespace shoal::app {
namespace {

viewer::scene show(const view_command& command, const std::string& contents) {
  const model_file<som::model> file = model_file_of(command.file, contents, som::parse_model);
  const som::model& map = file.model;
  const report::row_sample sample = rows_to_show(command, {command.file, map.columns, map.column_names});
  const std::vector<double> distances = som::u_matrix(file.units ? to_standard_units(map, *file.units) : map);
  viewer::surface_request request;
  request.title = "Self-organizing map";
  request.subtitle =
      view_subtitle(command, fmt::format("{} x {} units of {}", map.width, map.height, counted(map.columns, "column")));
  request.width = map.width;
  request.height = map.height;
  request.hexagonal = map.lattice == som::lattice::hexagonal;
  request.toroidal = map.toroidal;
  request.weights = {map.codebook.data(), map.units(), map.columns};
  request.values = distances;
  request.rows = {sample.values.data(), sample.indices.size(), map.columns};
  request.rows_in_all = sample.rows_in_all;
  request.column_names = map.column_names;
  request.axes = command.axes;
  return viewer::surface_scene(request, command.view);
}

}  // namespace

viewable som_view() { return {"shoal/som", show}; }

}  // namespace shoal::app
