// shoal data convert
#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <stop_token>
#include <utility>

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
void run(const convert_command& command, scalar scalar) {
  const auto begin = std::chrono::steady_clock::now();
  const data_set<Scalar> data = open_data<Scalar>(command.data, command.run);
  const std::stop_token stop = interruptions().token();
  progress_line line(!command.run.quiet);
  labels_output labels(command.labels, data.rows().rows(), false);
  if (labels.wanted()) std::copy(data.features.labels.begin(), data.features.labels.end(), labels.data());
  const watched_source<Scalar> rows(data.rows(), line, stop);
  if (ends_with(command.output, ".npy")) {
    write_npy(command.output, rows);
  } else {
    write_csv(command.output, rows, data.features.column_names);
  }
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
  with_scalar(scalar, [&]<class Scalar>(Scalar) { run<Scalar>(command, scalar); });
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
