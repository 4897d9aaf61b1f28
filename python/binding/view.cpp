// Interactive pages for Python.
#include <cstdint>
#include <string>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <shoal/core/error.hpp>

#include "module.hpp"
#include "viewer/cloud_scene.hpp"
#include "viewer/page.hpp"
#include "viewer/surface_scene.hpp"

namespace shoal::python {
namespace {

using labels = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using strengths = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

matrix_view<const double> view_of(const matrix& values) { return {values.data(), values.shape(0), values.shape(1)}; }

viewer::projection projection_named(const std::string& name) {
  if (name == "perspective") return viewer::projection::perspective;
  if (name == "orthographic") return viewer::projection::orthographic;
  throw bad_argument("projection must be perspective or orthographic; got '" + name + "'");
}

viewer::section section_named(const std::string& name) {
  if (name == "none") return viewer::section::none;
  if (name == "x") return viewer::section::x;
  if (name == "y") return viewer::section::y;
  if (name == "z") return viewer::section::z;
  if (name == "diagonal") return viewer::section::diagonal;
  throw bad_argument("section must be none, x, y, z or diagonal; got '" + name + "'");
}

viewer::view_settings settings_of(const nb::dict& given) {
  viewer::view_settings view;
  view.projection = projection_named(nb::cast<std::string>(given["projection"]));
  view.section = section_named(nb::cast<std::string>(given["section"]));
  view.section_offset = nb::cast<double>(given["section_offset"]);
  view.azimuth = nb::cast<double>(given["azimuth"]);
  view.elevation = nb::cast<double>(given["elevation"]);
  view.zoom = nb::cast<double>(given["zoom"]);
  view.wireframe = nb::cast<bool>(given["wireframe"]);
  view.point_size = nb::cast<double>(given["point_size"]);
  view.orbit = nb::cast<bool>(given["orbit"]);
  if (!(view.zoom > 0)) throw bad_argument("zoom must be positive");
  if (!(view.point_size >= 0)) throw bad_argument("point_size must be 0, which chooses one, or positive");
  return view;
}

// Rows of no number are no rows; then the columns are those of the groups.
std::string page_of_groups(const matrix& rows, const labels& found, const strengths& certain, const matrix& means,
                           const numbers& covariances, const std::vector<double>& weights, const nb::dict& words,
                           const std::vector<double>& quantiles, const nb::dict& settings) {
  viewer::cloud_request request;
  request.title = nb::cast<std::string>(words["title"]);
  request.subtitle = nb::cast<std::string>(words["subtitle"]);
  request.cloud.group_word = nb::cast<std::string>(words["group"]);
  request.cloud.column_names = nb::cast<std::vector<std::string>>(words["columns"]);
  request.axes = nb::cast<std::vector<std::string>>(words["axes"]);
  request.rows_in_all = nb::cast<std::size_t>(words["rows_in_all"]);
  request.cloud.rows = view_of(rows);
  request.cloud.labels = {found.data(), found.shape(0)};
  request.strengths = {certain.data(), certain.shape(0)};
  request.quantiles = quantiles;
  const std::size_t d = means.shape(1);
  for (std::size_t k = 0; k < means.shape(0); ++k) {
    const double* mean = means.data() + k * d;
    report::group_shape shape{weights.at(k), {mean, mean + d}, {}};
    if (covariances.size() > 0) {
      const double* covariance = covariances.data() + k * d * d;
      shape.covariance.assign(covariance, covariance + d * d);
    }
    request.cloud.shapes.push_back(std::move(shape));
  }
  const viewer::view_settings view = settings_of(settings);
  const nb::gil_scoped_release released;
  return viewer::viewer_page(viewer::cloud_scene(request), view);
}

std::string page_of_map(const matrix& rows, const matrix& weights, const numbers& values, std::size_t width,
                        bool hexagonal, bool toroidal, const nb::dict& words, const nb::dict& settings) {
  viewer::surface_request request;
  request.title = nb::cast<std::string>(words["title"]);
  request.subtitle = nb::cast<std::string>(words["subtitle"]);
  request.column_names = nb::cast<std::vector<std::string>>(words["columns"]);
  request.axes = nb::cast<std::vector<std::string>>(words["axes"]);
  request.rows_in_all = nb::cast<std::size_t>(words["rows_in_all"]);
  request.width = width;
  request.height = weights.shape(0) / width;
  request.hexagonal = hexagonal;
  request.toroidal = toroidal;
  request.weights = view_of(weights);
  request.values = {values.data(), values.size()};
  request.rows = view_of(rows);
  const viewer::view_settings view = settings_of(settings);
  const nb::gil_scoped_release released;
  return viewer::viewer_page(viewer::surface_scene(request, view), view);
}

}  // namespace

const add_family added_pages([](nb::module_& module) {
  module.attr("most_points") = viewer::most_points;
  module.def("page_of_groups", page_of_groups, nb::arg("rows"), nb::arg("labels"), nb::arg("strengths"),
             nb::arg("means"), nb::arg("covariances"), nb::arg("weights"), nb::kw_only(), nb::arg("words"),
             nb::arg("quantiles"), nb::arg("settings"),
             "An interactive page of rows in groups; empty arrays stand for what is not there.");
  module.def("page_of_map", page_of_map, nb::arg("rows"), nb::arg("weights"), nb::arg("values"), nb::kw_only(),
             nb::arg("width"), nb::arg("hexagonal"), nb::arg("toroidal"), nb::arg("words"), nb::arg("settings"),
             "An interactive page of a map among rows.");
});

}  // namespace shoal::python
