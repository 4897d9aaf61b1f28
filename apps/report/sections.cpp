// Sections that the reports of all families share.
#include "report/sections.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/column_scales.hpp"
#include "report/text.hpp"

namespace shoal::report {
namespace {

constexpr std::size_t most_table_columns = 8;
constexpr std::size_t most_table_groups = 64;
constexpr std::size_t most_agreement_labels = 24;

// Positions of the largest sums, at most `most` of them, in their own order.
std::vector<std::size_t> largest(const std::vector<std::uint64_t>& sums, std::size_t most) {
  std::vector<std::size_t> order(sums.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
  order.resize(std::min(order.size(), most));
  std::sort(order.begin(), order.end());
  return order;
}

constexpr std::size_t unmatched = static_cast<std::size_t>(-1);

// For each row of the table a column, each column once, cells with most rows first, ties in their order.
std::vector<std::size_t> match_rows(const metrics::contingency_table& counts) {
  std::vector<std::tuple<std::uint64_t, std::size_t, std::size_t>> cells;
  for (std::size_t a = 0; a < counts.first.size(); ++a)
    for (std::size_t b = 0; b < counts.second.size(); ++b)
      if (counts(a, b) > 0) cells.emplace_back(counts(a, b), a, b);
  std::stable_sort(cells.begin(), cells.end(), [](const auto& x, const auto& y) { return get<0>(x) > get<0>(y); });
  std::vector<std::size_t> match(counts.first.size(), unmatched);
  std::vector<bool> taken(counts.second.size(), false);
  for (const auto& [rows, a, b] : cells) {
    if (match[a] != unmatched || taken[b]) continue;
    match[a] = b;
    taken[b] = true;
  }
  return match;
}

// Columns in the order that puts each row's match on the diagonal, then the others.
std::vector<std::size_t> by_match(const std::vector<std::size_t>& match, const std::vector<std::size_t>& rows,
                                  const std::vector<std::size_t>& columns) {
  std::vector<std::size_t> ordered;
  const auto add = [&](std::size_t column) {
    const bool shown = std::find(columns.begin(), columns.end(), column) != columns.end();
    if (shown && std::find(ordered.begin(), ordered.end(), column) == ordered.end()) ordered.push_back(column);
  };
  for (const std::size_t row : rows) add(match[row]);
  for (const std::size_t column : columns) add(column);
  return ordered;
}

// "54.5 ± 5.8": both to the decimals that give the deviation two significant digits.
std::string mean_and_deviation(double mean, double deviation) {
  if (!(deviation >= 1e-4 && deviation < 1e6 && std::abs(mean) < 1e6))
    return number(mean, 4) + " ± " + number(deviation, 2);
  const int decimals = std::clamp(1 - static_cast<int>(std::floor(std::log10(deviation))), 0, 6);
  std::string text = fmt::format("{:.{}f}", std::abs(mean), decimals);
  const bool zero = text.find_first_not_of("0.") == std::string::npos;
  return fmt::format("{}{} ± {:.{}f}", mean < 0 && !zero ? "\u2212" : "", text, deviation, decimals);
}

// Four significant digits, and no powers of ten among numbers of everyday size.
std::string short_number(double value) {
  return std::abs(value) >= 1e4 && std::abs(value) < 1e9 ? grouped(value) : number(value, 4);
}

std::string given_name(const std::vector<std::string>& names, std::int32_t label) {
  return label >= 0 && static_cast<std::size_t>(label) < names.size() ? names[static_cast<std::size_t>(label)]
                                                                      : std::to_string(label);
}

}  // namespace

std::vector<std::int32_t> match_groups(const metrics::contingency_table& counts, std::size_t groups) {
  const std::vector<std::size_t> match = match_rows(counts);
  std::vector<std::int32_t> out(groups, -1);
  for (std::size_t a = 0; a < match.size(); ++a) {
    const std::int32_t group = counts.first[a];
    if (match[a] != unmatched && group >= 0 && static_cast<std::size_t>(group) < groups)
      out[static_cast<std::size_t>(group)] = counts.second[match[a]];
  }
  return out;
}

table agreement_table(const metrics::contingency_table& counts, const std::string& group_word,
                      const std::vector<std::string>& given_names) {
  std::vector<std::uint64_t> by_first(counts.first.size(), 0);
  std::vector<std::uint64_t> by_second(counts.second.size(), 0);
  for (std::size_t a = 0; a < counts.first.size(); ++a)
    for (std::size_t b = 0; b < counts.second.size(); ++b) {
      by_first[a] += counts(a, b);
      by_second[b] += counts(a, b);
    }
  const std::vector<std::size_t> first = largest(by_first, most_agreement_labels);
  const std::vector<std::size_t> second =
      by_match(match_rows(counts), first, largest(by_second, most_agreement_labels));
  table out;
  out.caption = fmt::format("Rows by {} (down) and given label (across). Adjusted Rand index {}.", group_word,
                            number(metrics::adjusted_rand_index(counts), 4));
  out.headings.push_back(group_word);
  for (const std::size_t b : second) out.headings.push_back(shorten(given_name(given_names, counts.second[b]), 16));
  out.headings.push_back("rows");
  for (const std::size_t a : first) {
    std::vector<table::cell> row{{std::to_string(counts.first[a]), 0, counts.first[a]}};
    for (const std::size_t b : second)
      row.push_back({count(counts(a, b)), static_cast<double>(counts(a, b)) / static_cast<double>(by_first[a])});
    row.push_back({count(by_first[a])});
    out.rows.push_back(std::move(row));
  }
  out.note = "A cell is darker the larger its share of the row.";
  if (first.size() < by_first.size() || second.size() < by_second.size())
    out.note += fmt::format(" The largest {} of {} and {} of {} labels are shown; the index counts all.", first.size(),
                            by_first.size(), second.size(), by_second.size());
  return out;
}

cloud fitted_cloud(const fit_data& data, const std::vector<std::string>& model_columns, std::string group_word) {
  cloud out;
  out.rows = data.rows;
  out.labels = data.labels;
  out.group_word = std::move(group_word);
  out.column_names = data.column_names.empty() ? model_columns : data.column_names;
  return out;
}

metrics::contingency_table agreement_counts(const fit_data& data) {
  return data.agreement ? *data.agreement : metrics::contingency(data.labels, data.given);
}

cloud given_cloud(const cloud& fitted, const fit_data& data, const metrics::contingency_table& counts,
                  std::size_t groups, std::vector<std::int32_t>& relabelled) {
  const std::vector<std::int32_t> match = match_groups(counts, groups);
  std::map<std::int32_t, std::int32_t> place;
  for (std::size_t k = 0; k < groups; ++k)
    if (match[k] >= 0) place[match[k]] = static_cast<std::int32_t>(k);
  auto next = static_cast<std::int32_t>(groups);
  relabelled.clear();
  for (const std::int32_t label : data.given) {
    if (place.try_emplace(label, next).second) ++next;
    relabelled.push_back(place[label]);
  }
  cloud out = fitted;
  out.labels = relabelled;
  out.shapes.clear();
  out.group_word = "given label";
  out.group_names.assign(static_cast<std::size_t>(next), "");
  for (const auto& [label, at] : place)
    out.group_names[static_cast<std::size_t>(at)] = given_name(data.given_names, label);
  return out;
}

picture history_picture(const std::vector<double>& history, std::string title, std::string y_label, std::string step) {
  line_chart chart;
  chart.title = std::move(title);
  chart.x_label = std::move(step);
  chart.y_label = std::move(y_label);
  chart.whole_x = true;
  line_series line;
  line.name = chart.y_label;
  for (std::size_t i = 0; i < history.size(); ++i) line.x.push_back(static_cast<double>(i + 1));
  line.y = history;
  if (!history.empty())
    chart.description = fmt::format("From {} in the first of {} {}s to {} in the last.", number(history.front(), 8),
                                    history.size(), chart.x_label, number(history.back(), 8));
  chart.series.push_back(std::move(line));
  return draw(chart);
}

table group_table(const cloud& data, const std::vector<std::string>& extra_headings,
                  const std::vector<std::vector<std::string>>& extra_cells) {
  const std::size_t columns = data.rows.columns();
  const std::size_t shown_columns = std::min(columns, most_table_columns);
  const std::size_t shown_groups = std::min(data.shapes.size(), most_table_groups);
  table out;
  out.headings.push_back(data.group_word);
  out.headings.insert(out.headings.end(), extra_headings.begin(), extra_headings.end());
  for (std::size_t j = 0; j < shown_columns; ++j)
    out.headings.push_back(shorten(data.column_names.empty() ? fmt::format("column {}", j) : data.column_names[j], 20));
  for (std::size_t k = 0; k < shown_groups; ++k) {
    const group_shape& shape = data.shapes[k];
    std::vector<table::cell> row{{std::to_string(k), 0, static_cast<int>(k)}};
    for (const std::string& extra : extra_cells[k]) row.push_back({extra});
    for (std::size_t j = 0; j < shown_columns; ++j) {
      row.push_back({shape.covariance.empty()
                         ? short_number(shape.mean[j])
                         : mean_and_deviation(shape.mean[j], std::sqrt(shape.covariance[j * columns + j]))});
    }
    out.rows.push_back(std::move(row));
  }
  if (shown_columns < columns) out.note = fmt::format("The first {} of {} columns are shown.", shown_columns, columns);
  if (shown_groups < data.shapes.size())
    out.note += fmt::format("{}The first {} of {} rows of this table are shown.", out.note.empty() ? "" : " ",
                            shown_groups, count(data.shapes.size()));
  return out;
}

std::string drawn_words(const fit_data& data) {
  if (data.rows_in_all <= data.rows.rows()) return {};
  return fmt::format("A sample of {} of the {} rows, the same each time.", count(data.rows.rows()),
                     count(data.rows_in_all));
}

void add_agreement(page& out, const fit_data& data, const cloud& fitted, std::size_t groups) {
  if (data.given.empty() && !data.agreement) return;
  const metrics::contingency_table counts = agreement_counts(data);
  out.section("Agreement with the given labels");
  out.paragraph(
      "The adjusted Rand index compares two groupings whatever the groups are called: 1 when they are the same, 0 for "
      "what chance alone would give.");
  out.add(agreement_table(counts, fitted.group_word, data.given_names));
  if (data.given.empty()) return;
  std::vector<std::int32_t> relabelled;
  const cloud given = given_cloud(fitted, data, counts, groups, relabelled);
  // Three columns at most: the page has shown the whole matrix once.
  const std::string title = "The same rows by given label";
  const std::size_t columns = given.rows.columns();
  out.figure(columns > 2 ? draw_scatter_matrix(given, 3, title) : draw_cloud(given, title),
             fmt::format("A label has the colour of the {} that shares most rows with it.", fitted.group_word));
}

void add_options(page& out, const fit_data& data) {
  if (data.options.empty()) return;
  out.section("Options");
  out.facts(data.options);
}

table choice_table(const std::vector<choice>& choices, std::string group_heading, std::string objective_heading,
                   std::size_t chosen) {
  table out;
  out.headings = {std::move(group_heading), std::move(objective_heading), "BIC", "AIC"};
  for (const choice& tried : choices) {
    const double shade = tried.groups == chosen ? 0.5 : 0;
    out.rows.push_back({{std::to_string(tried.groups)},
                        {grouped(tried.mean_log_likelihood), shade},
                        {grouped(tried.bic), shade},
                        {grouped(tried.aic), shade}});
  }
  return out;
}

picture choice_picture(const std::vector<choice>& choices, const std::string& group_word) {
  line_chart chart;
  chart.title = "Choice of K";
  chart.x_label = fmt::format("K, number of {}s", group_word);
  chart.y_label = "criterion (less is better)";
  chart.whole_x = true;
  chart.mark_name = "K = ";
  line_series bic{"BIC", {}, {}, 0, false, true};
  line_series aic{"AIC", {}, {}, 4, true, true};
  for (const choice& tried : choices) {
    bic.x.push_back(static_cast<double>(tried.groups));
    aic.x.push_back(static_cast<double>(tried.groups));
    bic.y.push_back(tried.bic);
    aic.y.push_back(tried.aic);
  }
  chart.series = {std::move(aic), std::move(bic)};
  chart.description = fmt::format("BIC and AIC for {} values of K, the least of each marked.", choices.size());
  return draw(chart);
}

void add_scale_note(page& out, const std::vector<double>& variances, const std::vector<std::string>& names) {
  const std::string words = scale_words(variances, names);
  if (!words.empty()) out.paragraph("Note: " + words + ". Standardized columns count alike.");
}

std::string title_name(const std::string& name) {
  const std::size_t slash = name.find_last_of('/');
  return slash == std::string::npos || slash + 1 == name.size() ? name : name.substr(slash + 1);
}

void check_columns(const fit_data& data, std::size_t columns) {
  if (data.rows.columns() != columns)
    throw bad_argument(
        fmt::format("rows of {} columns cannot be drawn with a model of {}", data.rows.columns(), columns));
  if (!data.given.empty() && data.given.size() != data.rows.rows())
    throw bad_argument(fmt::format("{} given labels for {} rows; give one a row", data.given.size(), data.rows.rows()));
}

}  // namespace shoal::report
