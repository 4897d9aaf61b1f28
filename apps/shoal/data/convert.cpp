// shoal data convert
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/answer.hpp"
#include "common/interruption.hpp"
#include "common/labels_output.hpp"
#include "common/progress_line.hpp"
#include "common/rows.hpp"
#include "data/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* convert_examples = R"(Examples:
  shoal data convert rows.csv.gz rows.npy
  shoal data convert rows.npy rows.csv --columns 0..3
  shoal data convert shuttle.csv.gz shuttle.npy --label-column class --labels classes.npy --scalar float32

The name says the format to write: .npy or .csv. Numbers in a .csv read back as the same bits.)";

struct convert_command {
  data_options data;
  run_options run;
  std::string output;
  std::string labels;
};

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Rows that are written as they are read: shows how far that is, and stops on request.
template <class Scalar>
class watched_source final : public row_source<Scalar> {
 public:
  watched_source(const row_source<Scalar>& rows, progress_line& line, std::stop_token stop)
      : rows_(&rows), line_(&line), stop_(std::move(stop)) {}
  std::size_t rows() const override { return rows_->rows(); }
  std::size_t columns() const override { return rows_->columns(); }
  bool resident() const override { return rows_->resident(); }
  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>& buffer) const override {
    if (stop_.stop_requested()) throw interrupted("stopped on request");
    (*line_)({"converting", first, rows(), std::numeric_limits<double>::quiet_NaN()});
    return rows_->read(first, count, buffer);
  }

 private:
  const row_source<Scalar>* rows_;
  progress_line* line_;
  std::stop_token stop_;
};

// Rows of a float64 file as float32. What float32 cannot hold is refused, as it is of text: a fit would find infinite
// values, but a file keeps them.
class narrowed_source final : public row_source<float> {
 public:
  explicit narrowed_source(const row_source<double>& rows) : rows_(&rows) {}
  std::size_t rows() const override { return rows_->rows(); }
  std::size_t columns() const override { return rows_->columns(); }
  bool resident() const override { return false; }
  matrix_view<const float> read(std::size_t first, std::size_t count, aligned_buffer<float>& buffer) const override {
    aligned_buffer<double> wide_rows;
    const matrix_view<const double> wide = rows_->read(first, count, wide_rows);
    buffer.grow(count * columns());
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < columns(); ++j) {
        const double value = wide(i, j);
        const auto narrow = static_cast<float>(value);
        if (std::isinf(narrow) && std::isfinite(value)) {
          throw bad_data(fmt::format("row {}, column {} (counting from 0): {} is too large for float32; write float64",
                                     first + i, j, value));
        }
        buffer.data()[i * columns() + j] = narrow;
      }
    }
    return {buffer.data(), count, columns()};
  }

 private:
  const row_source<double>* rows_;
};

template <class Scalar>
answer answer_of(const convert_command& command, const data_set<Scalar>& data, scalar scalar, double seconds) {
  const std::size_t rows = data.rows().rows();
  const std::size_t columns = data.rows().columns();
  named_values labels;
  if (!data.features.label_names.empty()) labels.emplace_back("label_values", data.features.label_names);
  return {.values = joined({data_values(command.data, rows, columns, data.features.column_names),
                            labels,
                            given_values({{"output", command.output}, {"labels", command.labels}}),
                            {{"scalar", word_for(scalar_choices(), scalar)}, {"seconds", seconds}}}),
          .paragraphs = {
              lines({{"written", fmt::format("{}: {} of {}, {}", command.output, counted(rows, "row"),
                                             counted(columns, "column"), word_for(scalar_choices(), scalar))}})}};
}

template <class Scalar>
void write(const convert_command& command, const row_source<Scalar>& given, const std::vector<std::string>& names,
           progress_line& line) {
  const watched_source<Scalar> rows(given, line, interruptions().token());
  if (ends_with(command.output, ".npy")) {
    write_npy(command.output, rows);
  } else {
    write_csv(command.output, rows, names);
  }
}

// Reads the file as Read, and writes `scalar`.
template <class Read>
void run(const convert_command& command, scalar scalar) {
  const auto begin = std::chrono::steady_clock::now();
  const data_set<Read> data = open_data<Read>(command.data, command.run);
  progress_line line(!command.run.quiet);
  labels_output labels(command.labels, data.rows().rows(), false);
  if (labels.wanted()) std::copy(data.features.labels.begin(), data.features.labels.end(), labels.data());
  const std::vector<std::string>& names = data.features.column_names;
  if constexpr (std::is_same_v<Read, double>) {
    if (scalar == shoal::scalar::float32) {
      naming_data(command.data, {}, [&] { write<float>(command, narrowed_source(data.rows()), names, line); });
    }
  }
  if (std::is_same_v<Read, float> || scalar == shoal::scalar::float64) write(command, data.rows(), names, line);
  labels.commit();
  line.wipe();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  give(answer_of(command, data, scalar, seconds.count()), command.run);
}

void run(const convert_command& command) {
  if (!ends_with(command.output, ".npy") && !ends_with(command.output, ".csv")) {
    throw bad_argument(fmt::format("OUT: '{}' must end in .npy or .csv, which says the format", command.output));
  }
  if (!command.labels.empty() && command.data.label_column.empty()) {
    throw bad_argument("--labels writes the column that --label-column names; add --label-column");
  }
  check_outputs({{"OUT", command.output}, {"--labels", command.labels}});
  // OUT may take the place of DATA: a file is rewritten as a whole.
  check_outputs({{"--labels", command.labels}}, files_of(command.data));
  const scalar scalar = command.data.chosen_scalar();
  // Text has the digits for float32, and is read as that; other elements fit in.
  const bool narrowed = scalar == shoal::scalar::float32 && command.data.file().describe_start().element == "float64";
  with_scalar(narrowed ? shoal::scalar::float64 : scalar, [&]<class Read>(Read) { run<Read>(command, scalar); });
}

}  // namespace

void add_data_convert(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<convert_command>();
  CLI::App& app = *add_verb(noun, "convert", "Rewrite a file as .npy or .csv", convert_examples, selected,
                            [command] { run(*command); });
  add_data_options(app, command->data, false);
  add_file(app, "OUT", command->output, "", "File to write: .npy or .csv", presence::required);
  add_output(app, "--labels", command->labels, "OUT.npy",
             "Write the label column as int32 numbers, in order of first appearance");
  add_run_options(app, command->run);
}

}  // namespace shoal::app
