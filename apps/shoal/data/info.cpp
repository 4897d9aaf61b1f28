// shoal data info
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "common/interruption.hpp"
#include "common/output.hpp"
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

template <class Scalar>
void run(const info_command& command, json object, scalar scalar) {
  const data_set<Scalar> data = open_data<Scalar>(command.data, command.run);
  const std::stop_token stop = interruptions().token();
  const std::vector<column_statistics> statistics =
      column_statistics_of(data.rows(), data.weights(), command.run, stop);
  const std::size_t rows = data.rows().rows();
  const std::size_t columns = data.rows().columns();
  const std::vector<std::string> titles = column_titles(data.features.column_names, columns);
  describe_data(object, command.data, rows, columns, data.features.column_names);
  object["scalar"] = word_for(scalar_choices(), scalar);
  if (!data.features.label_names.empty()) object["label_values"] = data.features.label_names;
  object["statistics"] = json::array();
  std::vector<std::vector<std::string>> cells(1, {"column", "least", "mean", "greatest", "deviation", "not finite"});
  for (std::size_t j = 0; j < columns; ++j) {
    const column_statistics& column = statistics[j];
    json entry;
    entry["name"] = titles[j];
    entry["minimum"] = number(column.minimum);
    entry["mean"] = column.weight > 0 ? number(column.mean) : json();
    entry["maximum"] = number(column.maximum);
    entry["deviation"] = number(column.deviation());
    entry["not_finite"] = column.not_finite;
    object["statistics"].push_back(std::move(entry));
    cells.push_back({titles[j], fmt::format("{:.6g}", column.minimum), fmt::format("{:.6g}", column.mean),
                     fmt::format("{:.6g}", column.maximum), fmt::format("{:.6g}", column.deviation()),
                     grouped(column.not_finite)});
  }
  if (command.run.json) {
    print_json(object);
    return;
  }
  if (command.run.quiet) return;
  std::string text;
  if (object.contains("format")) {
    std::string format = object["format"];
    if (object["element"] != object["format"]) format += ", " + object["element"].get<std::string>();
    if (object.contains("order")) format += fmt::format(", {} order", object["order"].get<std::string>());
    if (object["compressed"].get<bool>()) format += ", compressed";
    if (object["header"].get<bool>()) format += ", with a header";
    text += fact("format", format);
  }
  text += fact("shape", fmt::format("{} of {}", counted(rows, "row"), counted(columns, "column")));
  if (!data.features.label_names.empty()) {
    text += fact("labels", fmt::format("{}: {}: {}", command.data.label_column,
                                       counted(data.features.label_names.size(), "value"),
                                       enumeration(data.features.label_names, 10)));
  }
  print(printable_lines(text + "\n" + table(cells)));
}

void run(const info_command& command) {
  json object;
  // Standard input can be read once only, and its rows are what is wanted.
  if (command.data.path != "-") {
    const file_description description = describe_file(command.data.path);
    object["format"] = description.format;
    object["element"] = description.element;
    if (!description.order.empty()) object["order"] = description.order;
    object["compressed"] = description.compressed;
    object["header"] = description.header;
  }
  const scalar scalar = command.data.chosen_scalar();
  with_scalar(scalar, [&]<class Scalar>(Scalar) { run<Scalar>(command, object, scalar); });
}

}  // namespace

void add_data_info(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<info_command>();
  CLI::App& app = *add_verb(noun, "info", "Say what a file holds", examples, selected, [command] { run(*command); });
  add_data_options(app, command->data);
  add_run_options(app, command->run);
}

}  // namespace shoal::app
