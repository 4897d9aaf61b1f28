// The report of a self-organizing map.
#include "report/som/report.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/sections.hpp"
#include "report/som/map_chart.hpp"
#include "report/text.hpp"

namespace shoal::report {
namespace {

constexpr std::size_t most_table_labels = 24;

std::string metric_name(som::metric metric) {
  switch (metric) {
    case som::metric::euclidean:
      return "euclidean";
    case som::metric::taxicab:
      return "taxicab";
    case som::metric::cosine:
      return "cosine";
    case som::metric::chebyshev:
      return "chebyshev";
  }
  throw bad_argument("the map's metric is not one of euclidean, taxicab, cosine and chebyshev");
}

map_shape shape_of_map(const som::model& map) {
  return {map.width, map.height, map.lattice == som::lattice::hexagonal};
}

void check(const som::fit_result& fit, const map_fit_data& data) {
  const som::model& map = fit.model;
  const std::size_t units = map.units();
  if (map.codebook.size() != units * map.columns) {
    throw bad_argument("the map's codebook is not of the size that its units and columns ask for");
  }
  if (data.u_matrix.size() != units || fit.quality.hits.size() != units) {
    throw bad_argument(fmt::format("{} values of the U-matrix and {} hits for {} units; give one of each for each",
                                   data.u_matrix.size(), fit.quality.hits.size(), units));
  }
  if (!data.unit_labels) return;
  if (data.unit_labels->majority.size() != units || data.unit_labels->purity.size() != units) {
    throw bad_argument(fmt::format("labels of {} units for a map of {}", data.unit_labels->majority.size(), units));
  }
  if (data.rows_by_label.size() != data.label_names.size()) {
    throw bad_argument(
        fmt::format("counts of {} labels for {} names", data.rows_by_label.size(), data.label_names.size()));
  }
}

void add_figures(page& out, const som::fit_result& fit, const map_fit_data& data) {
  const std::size_t hit = static_cast<std::size_t>(
      std::count_if(fit.quality.hits.begin(), fit.quality.hits.end(), [](double weight) { return weight > 0; }));
  std::vector<fact> figures{{"rows", count(fit.rows)},
                            {"columns", count(fit.model.columns)},
                            {"units", count(fit.model.units())},
                            {"units with rows", count(hit)},
                            {"quantization error", number(fit.quality.quantization_error, 6)},
                            {"topographic error", percent(fit.quality.topographic_error)}};
  if (data.unit_labels) figures.push_back({"purity", percent(data.unit_labels->overall_purity)});
  figures.push_back({"time in all", duration(fit.seconds)});
  out.tiles(figures);
}

picture hit_picture(const som::fit_result& fit) {
  value_map hits{"Hits", {}, "weight of the rows", shape_of_map(fit.model), fit.quality.hits};
  if (fit.total_weight == static_cast<double>(fit.rows)) hits.value_word = "rows";
  const auto [least, most] = std::minmax_element(hits.values.begin(), hits.values.end());
  hits.description = fmt::format("From {} to {} on a unit.", number(*least, 6), number(*most, 6));
  return draw(hits);
}

picture u_matrix_picture(const som::fit_result& fit, const map_fit_data& data) {
  value_map distances{"U-matrix",
                      {},
                      fmt::format("mean {} distance to the neighbours", metric_name(fit.model.metric)),
                      shape_of_map(fit.model),
                      data.u_matrix};
  const auto [least, most] = std::minmax_element(data.u_matrix.begin(), data.u_matrix.end());
  distances.description = fmt::format("From {} to {}.", number(*least, 6), number(*most, 6));
  return draw(distances);
}

picture label_picture(const som::fit_result& fit, const map_fit_data& data) {
  label_map labels{"Labels", {}, shape_of_map(fit.model), {}, data.unit_labels->purity, data.label_names};
  for (const std::int64_t label : data.unit_labels->majority) labels.labels.push_back(static_cast<std::int32_t>(label));
  labels.description = fmt::format("The label of most rows of each unit, of {} labels.", data.label_names.size());
  return draw(labels);
}

picture planes_picture(const som::model& map) {
  std::vector<component_plane> planes(map.columns);
  for (std::size_t j = 0; j < map.columns; ++j) {
    planes[j].name = map.column_names.empty() ? fmt::format("column {}", j) : map.column_names[j];
    planes[j].values.resize(map.units());
    for (std::size_t u = 0; u < map.units(); ++u) planes[j].values[u] = map.codebook[u * map.columns + j];
  }
  return draw_planes(shape_of_map(map), planes, "Component planes");
}

table label_table(const map_fit_data& data) {
  std::vector<std::size_t> order(data.rows_by_label.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return data.rows_by_label[a].rows > data.rows_by_label[b].rows;
  });
  table out;
  out.caption = "The rows of each label, and how many of them lie on units where their label is that of most rows.";
  out.headings = {"label", "rows", "units", "rows on them", "share"};
  for (std::size_t i = 0; i < std::min(order.size(), most_table_labels); ++i) {
    const label_count& counts = data.rows_by_label[order[i]];
    const double share =
        counts.rows == 0 ? 0 : static_cast<double>(counts.rows_at_home) / static_cast<double>(counts.rows);
    out.rows.push_back({{shorten(data.label_names[order[i]], 40)},
                        {count(counts.rows)},
                        {count(counts.units)},
                        {count(counts.rows_at_home)},
                        {percent(share), share}});
  }
  if (order.size() > most_table_labels) {
    out.note = fmt::format("The {} labels of most rows, of {}.", most_table_labels, count(order.size()));
  }
  return out;
}

std::string subtitle(const som::fit_result& fit) {
  const som::model& map = fit.model;
  return fmt::format("{} × {} unit{}, {}{}, {} × {}", map.width, map.height, map.units() == 1 ? "" : "s",
                     map.lattice == som::lattice::hexagonal ? "hexagonal" : "rectangular",
                     map.toroidal ? " and toroidal" : "", counted(fit.rows, "row"), counted(map.columns, "column"));
}

}  // namespace

std::vector<label_count> count_rows_by_label(const som::unit_labels& labels, const std::int32_t* units,
                                             std::span<const std::int32_t> given, std::size_t names) {
  std::vector<label_count> counts(names);
  const auto of = [&](std::int64_t label) -> label_count& {
    if (label < 0 || static_cast<std::size_t>(label) >= names) {
      throw bad_argument(fmt::format("the label {} is none of {}", label, names));
    }
    return counts[static_cast<std::size_t>(label)];
  };
  for (const std::int64_t label : labels.majority) {
    if (label >= 0) ++of(label).units;
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto unit = static_cast<std::size_t>(units[i]);
    if (unit >= labels.majority.size()) {
      throw bad_argument(fmt::format("row {} lies on unit {} of {}", i, units[i], labels.majority.size()));
    }
    label_count& mine = of(given[i]);
    ++mine.rows;
    if (labels.majority[unit] == given[i]) ++mine.rows_at_home;
  }
  return counts;
}

page fit_page(const som::fit_result& fit, const map_fit_data& data) {
  check(fit, data);
  const som::model& map = fit.model;
  page out("Self-organizing map of " + title_name(data.name), subtitle(fit));
  add_figures(out, fit, data);
  add_scale_note(out, fit.column_variances, map.column_names);
  const std::string around = map.toroidal ? " The map goes on from each edge at the opposite one." : "";
  out.figure(
      u_matrix_picture(fit, data),
      "Dark units lie far from their neighbours: borders between groups. Pale ones lie among their like." + around);
  out.figure(hit_picture(fit), "How many rows each unit matches best.");
  if (data.unit_labels) {
    out.figure(label_picture(fit, data),
               "The given label of most rows that a unit matches best; the paler, the more have another.");
  }
  out.figure(history_picture(fit.history, "Training", "quantization error", "epoch"),
             "The mean distance of the rows to their best-matching units, of the map that each epoch started from.");
  out.figure(planes_picture(map), "The weights of the units in each column, each on colours of its own range.");
  if (data.unit_labels) {
    out.section("Labels");
    out.add(label_table(data));
  }
  out.section("The fit");
  std::vector<fact> facts{{"metric", metric_name(map.metric)},
                          {"distances are in", data.standardized ? "standardized units" : "the data's units"},
                          {"total weight of the rows", grouped(fit.total_weight)},
                          {"epochs", count(fit.epochs)},
                          {"time to choose the start", duration(fit.seeding_seconds)},
                          {"time in the epochs", duration(fit.loop_seconds)}};
  if (fit.loop_epochs > 0)
    facts.push_back({"time an epoch", duration(fit.loop_seconds / static_cast<double>(fit.loop_epochs))});
  if (!fit.hardware.empty()) facts.push_back({"hardware", fit.hardware});
  out.facts(facts);
  if (!data.options.empty()) {
    out.section("Options");
    out.facts(data.options);
  }
  return out;
}

}  // namespace shoal::report
