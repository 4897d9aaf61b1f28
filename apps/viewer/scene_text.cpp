#include "viewer/scene_text.hpp"

#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <shoal/geometry/sponge.hpp>

#include "report/colour_scale.hpp"
#include "report/png.hpp"
#include "report/text.hpp"
#include "viewer/sponge_scene.hpp"

namespace shoal::viewer {
namespace {

using json = nlohmann::ordered_json;

template <class Value>
std::string bytes_of(const std::vector<Value>& values) {
  return report::base64({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)});
}

json axis_object(const scene_axis& axis) {
  json ticks = json::array();
  for (const scene_axis::tick& tick : axis.ticks) ticks.push_back({{"at", tick.at}, {"text", tick.text}});
  return {{"label", report::clean(axis.label)}, {"half", axis.half}, {"ticks", ticks}};
}

std::string_view section_word(section section) {
  switch (section) {
    case section::none:
      return "none";
    case section::x:
      return "x";
    case section::y:
      return "y";
    case section::z:
      return "z";
    case section::diagonal:
      break;
  }
  return "diagonal";
}

json view_object(const view_settings& view) {
  return {{"projection", view.projection == projection::perspective ? "perspective" : "orthographic"},
          {"azimuth", view.azimuth},
          {"elevation", view.elevation},
          {"zoom", view.zoom},
          {"pan", {view.pan_across, view.pan_up}},
          {"wireframe", view.wireframe},
          {"section", section_word(view.section)},
          {"offset", view.section_offset},
          {"size", view.point_size},
          {"orbit", view.orbit},
          {"play", view.play}};
}

json groups_array(const scene& shown) {
  json groups = json::array();
  for (const scene_group& group : shown.groups) {
    json one = {{"number", group.number}, {"name", report::clean(group.name)}, {"centre", group.centre}};
    if (group.axes) one["axes"] = *group.axes;
    groups.push_back(std::move(one));
  }
  return groups;
}

}  // namespace

std::string scene_text(const scene& shown, const view_settings& view) {
  json text = {{"title", report::clean(shown.title)},
               {"axes", {axis_object(shown.axes[0]), axis_object(shown.axes[1]), axis_object(shown.axes[2])}},
               {"view", view_object(view)}};
  json scale = json::array();
  constexpr int shades = 64;
  for (int i = 0; i < shades; ++i)
    scale.push_back(report::hexadecimal(report::value_colour(static_cast<double>(i) / (shades - 1))));
  text["scale"] = scale;
  if (shown.points) text["points"] = {{"count", shown.points->count()}, {"packed", bytes_of(shown.points->packed)}};
  if (!shown.groups.empty()) {
    text["groups"] = groups_array(shown);
    json contours = json::array();
    for (const contour& one : shown.contours) contours.push_back({{"share", one.share}, {"distance", one.distance}});
    text["contours"] = contours;
  }
  if (shown.surface || shown.field)
    text["values"] = {{"word", report::clean(shown.value_word)}, {"low", shown.values[0]}, {"high", shown.values[1]}};
  if (const auto& surface = shown.surface) {
    text["surface"] = {{"vertices", bytes_of(surface->vertices)},
                       {"values", bytes_of(surface->values)},
                       {"triangles", bytes_of(surface->triangles)},
                       {"lines", bytes_of(surface->lines)}};
  }
  if (const auto& field = shown.field) {
    text["field"] = {{"rows", field->rows},
                     {"columns", field->columns},
                     {"heights", bytes_of(field->heights)},
                     {"row_places", bytes_of(field->row_places)},
                     {"times", field->times}};
  }
  if (shown.sponge) {
    json colours = json::array();
    for (const auto& [red, green, blue] : geometry::face_colours)
      colours.push_back(report::hexadecimal({red, green, blue}));
    const auto& [red, green, blue] = geometry::section_colour;
    text["sponge"] = {{"order", shown.sponge->order},
                      {"most", most_sponge_order},
                      {"colours", colours},
                      {"inside", report::hexadecimal({red, green, blue})}};
  }
  std::string made = text.dump(-1, ' ', false, json::error_handler_t::replace);
  // Only within strings, where this is the same character.
  for (std::size_t at = made.find('<'); at != std::string::npos; at = made.find('<', at))
    made.replace(at, 1, "\\u003c");
  return made;
}

}  // namespace shoal::viewer
