// shoal data info
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "common/answer.hpp"
#include "common/interruption.hpp"
#include "common/progress_line.hpp"
#include "common/rows.hpp"
#include "data/column_statistics.hpp"
#include "data/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* info_examples = R"(Examples:
  shoal data info rows.npy
  shoal data info rows.csv.gz --label-column class --json

Says what the file is, and the least, mean, greatest and deviation (population, weighted with --weights) of each column.
Values that are not finite are counted apart.)";

struct info_command {
  data_options data;
  run_options run;
  std::size_t most_columns = 10'000;
};

json number(double value) { return std::isfinite(value) ? json(value) : json(); }

// The first columns of rows. What is said of a column takes a hundred times the bytes of a row's value in it.
template <class Scalar>
class leading_columns final : public row_source<Scalar> {
 public:
  leading_columns(const row_source<Scalar>& rows, std::size_t columns) : rows_(&rows), columns_(columns) {}
  std::size_t rows() const override { return rows_->rows(); }
  std::size_t columns() const override { return columns_; }
  bool resident() const override { return rows_->resident(); }
  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>& buffer) const override {
    const matrix_view<const Scalar> all = rows_->read(first, count, buffer);
    return {all.data(), all.rows(), columns_, all.row_stride()};
  }

 private:
  const row_source<Scalar>* rows_;
  std::size_t columns_;
};

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
answer answer_of(const data_options& options, const file_description& file, const data_set<Scalar>& data,
                 const std::vector<column_statistics>& statistics, scalar scalar) {
  const std::size_t rows = data.rows().rows();
  const std::size_t columns = data.rows().columns();
  const std::size_t shown = statistics.size();
  const std::vector<std::string>& label_names = data.features.label_names;
  std::vector<std::string> names = data.features.column_names;
  if (names.size() > shown) names.resize(shown);
  const std::vector<std::string> titles = column_titles(names, shown);
  json values = json::array();
  std::vector<std::vector<std::string>> cells(1, {"column", "least", "mean", "greatest", "deviation", "not finite"});
  for (std::size_t j = 0; j < shown; ++j) {
    values.push_back(column_value(titles[j], statistics[j]));
    cells.push_back(column_cells(titles[j], statistics[j]));
  }
  const std::string labels = label_names.empty()
                                 ? std::string()
                                 : fmt::format("{}: {}: {}", options.label_column, counted(label_names.size(), "value"),
                                               enumeration(label_names, 10));
  const std::string more = shown == columns ? std::string()
                                            : fmt::format("{} more; choose with --columns, or raise --most-columns",
                                                          counted(columns - shown, "column"));
  return {.values = joined({format_values(file),
                            data_values(options, rows, columns, names),
                            shown == columns ? named_values() : named_values{{"columns_left_out", columns - shown}},
                            {{"scalar", word_for(scalar_choices(), scalar)}},
                            label_names.empty() ? named_values() : named_values{{"label_values", label_names}},
                            {{"statistics", values}}}),
          .paragraphs = {lines({{"format", format_text(file)},
                                {"shape", fmt::format("{} of {}", counted(rows, "row"), counted(columns, "column"))},
                                {"labels", labels}}),
                         table(cells), lines({{"left out", more}})}};
}

void run(const info_command& command) {
  const file_description file = command.data.file().describe_start();
  const scalar scalar = command.data.chosen_scalar();
  with_scalar(scalar, [&]<class Scalar>(Scalar) {
    const data_set<Scalar> data = open_data<Scalar>(command.data, command.run);
    const leading_columns<Scalar> shown(data.rows(), std::min(data.rows().columns(), command.most_columns));
    const auto statistics = column_statistics_of(shown, data.weights(), command.run, interruptions().token());
    give(answer_of(command.data, file, data, statistics, scalar), command.run);
  });
}

}  // namespace

void add_data_info(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<info_command>();
  CLI::App& app =
      *add_verb(noun, "info", "Say what a file holds", info_examples, selected, [command] { run(*command); });
  add_data_options(app, command->data);
  add_count(app, "--most-columns", command->most_columns, "N", "Describe the first N columns at most", 1);
  add_run_options(app, command->run);
}

}  // namespace shoal::app
