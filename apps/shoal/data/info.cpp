// shoal data info
#include <cmath>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "common/answer.hpp"
#include "common/interruption.hpp"
#include "common/progress_line.hpp"
#include "common/rows.hpp"
#include "data/column_statistics.hpp"
#include "data/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* examples = R"(Examples:
  shoal data info rows.npy
  shoal data info rows.csv.gz --label-column class --json

Says what the file is, and the least, mean, greatest and deviation (population, weighted with --weights) of each column.
Values that are not finite are counted apart.)";

struct info_command {
  data_options data;
  run_options run;
};

json number(double value) { return std::isfinite(value) ? json(value) : json(); }

// What the file says of itself; nothing of standard input, which can be read once only, and its rows are what is
// wanted.
std::optional<file_description> description_of(const std::string& path) {
  if (path == "-") return std::nullopt;
  return describe_file(path);
}

named_values format_values(const file_description& file) {
  return joined({{{"format", file.format}, {"element", file.element}},
                 given_values({{"order", file.order}}),
                 {{"compressed", file.compressed}, {"header", file.header}}});
}

std::string format_text(const file_description& file) {
  std::string text = file.format;
  if (file.element != file.format) text += ", " + file.element;
  if (!file.order.empty()) text += fmt::format(", {} order", file.order);
  if (file.compressed) text += ", compressed";
  if (file.header) text += ", with a header";
  return text;
}

json column_value(const std::string& title, const column_statistics& column) {
  return object_of({{"name", title},
                    {"minimum", number(column.minimum)},
                    {"mean", column.weight > 0 ? number(column.mean) : json()},
                    {"maximum", number(column.maximum)},
                    {"deviation", number(column.deviation())},
                    {"not_finite", column.not_finite}});
}

std::vector<std::string> column_cells(const std::string& title, const column_statistics& column) {
  return {title,
          fmt::format("{:.6g}", column.minimum),
          fmt::format("{:.6g}", column.mean),
          fmt::format("{:.6g}", column.maximum),
          fmt::format("{:.6g}", column.deviation()),
          grouped(column.not_finite)};
}

template <class Scalar>
answer answer_of(const data_options& options, const std::optional<file_description>& file, const data_set<Scalar>& data,
                 const std::vector<column_statistics>& statistics, scalar scalar) {
  const std::size_t rows = data.rows().rows();
  const std::size_t columns = data.rows().columns();
  const std::vector<std::string>& label_names = data.features.label_names;
  const std::vector<std::string> titles = column_titles(data.features.column_names, columns);
  json values = json::array();
  std::vector<std::vector<std::string>> cells(1, {"column", "least", "mean", "greatest", "deviation", "not finite"});
  for (std::size_t j = 0; j < columns; ++j) {
    values.push_back(column_value(titles[j], statistics[j]));
    cells.push_back(column_cells(titles[j], statistics[j]));
  }
  const std::string labels = label_names.empty()
                                 ? std::string()
                                 : fmt::format("{}: {}: {}", options.label_column, counted(label_names.size(), "value"),
                                               enumeration(label_names, 10));
  return {.values = joined({file ? format_values(*file) : named_values(),
                            data_values(options, rows, columns, data.features.column_names),
                            {{"scalar", word_for(scalar_choices(), scalar)}},
                            label_names.empty() ? named_values() : named_values{{"label_values", label_names}},
                            {{"statistics", values}}}),
          .paragraphs = {lines({{"format", file ? format_text(*file) : std::string()},
                                {"shape", fmt::format("{} of {}", counted(rows, "row"), counted(columns, "column"))},
                                {"labels", labels}}),
                         table(cells)}};
}

void run(const info_command& command) {
  const std::optional<file_description> file = description_of(command.data.path);
  const scalar scalar = command.data.chosen_scalar();
  with_scalar(scalar, [&]<class Scalar>(Scalar) {
    const data_set<Scalar> data = open_data<Scalar>(command.data, command.run);
    const auto statistics = column_statistics_of(data.rows(), data.weights(), command.run, interruptions().token());
    give(answer_of(command.data, file, data, statistics, scalar), command.run);
  });
}

}  // namespace

void add_data_info(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<info_command>();
  CLI::App& app = *add_verb(noun, "info", "Say what a file holds", examples, selected, [command] { run(*command); });
  add_data_options(app, command->data);
  add_run_options(app, command->run);
}

}  // namespace shoal::app
