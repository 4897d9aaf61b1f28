// shoal data convert
#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "common/answer.hpp"
#include "common/interruption.hpp"
#include "common/labels_output.hpp"
#include "common/progress_line.hpp"
#include "common/rows.hpp"
#include "common/text_output.hpp"
#include "data/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* examples = R"(Examples:
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

// A name as a field of a .csv file.
std::string field(const std::string& name) {
  if (name.find_first_of(",;\t\"\r\n ") == std::string::npos) return name;
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// Visits all rows in order, some thousand at a time, and never more than the memory limit holds.
template <class Scalar, class Visit>
void for_each_rows(const row_source<Scalar>& rows, const run_options& run, progress_line& line, std::stop_token stop,
                   const Visit& visit) {
  const std::size_t row_bytes = std::max<std::size_t>(1, rows.columns() * sizeof(Scalar));
  const std::size_t most = run.memory_limit == 0 ? 65536 : run.memory_limit / row_bytes;
  const std::size_t piece = std::clamp<std::size_t>(most, 1, 65536);
  const std::size_t pieces = (rows.rows() + piece - 1) / piece;
  aligned_buffer<Scalar> buffer;
  for (std::size_t p = 0; p < pieces; ++p) {
    if (stop.stop_requested()) throw interrupted("stopped on request");
    const std::size_t first = p * piece;
    visit(first, rows.read(first, std::min(piece, rows.rows() - first), buffer));
    line({"converting", p + 1, pieces, std::numeric_limits<double>::quiet_NaN()});
  }
}

template <class Scalar>
void write_npy(const convert_command& command, const row_source<Scalar>& rows, progress_line& line,
               std::stop_token stop) {
  npy_output<Scalar> out(command.output, rows.rows(), rows.columns());
  for_each_rows(rows, command.run, line, stop, [&](std::size_t first, matrix_view<const Scalar> some) {
    for (std::size_t i = 0; i < some.rows(); ++i) {
      std::copy_n(some.row(i), rows.columns(), out.data() + (first + i) * rows.columns());
    }
  });
  out.commit();
}

template <class Scalar>
void write_csv(const convert_command& command, const opened_rows<Scalar>& data, progress_line& line,
               std::stop_token stop) {
  text_output out(command.output);
  if (!data.column_names.empty()) {
    std::vector<std::string> fields;
    for (const std::string& name : data.column_names) fields.push_back(field(name));
    out.write(fmt::format("{}\n", fmt::join(fields, ",")));
  }
  std::string text;
  for_each_rows(*data.rows, command.run, line, stop, [&](std::size_t, matrix_view<const Scalar> some) {
    for (std::size_t i = 0; i < some.rows(); ++i) {
      for (std::size_t j = 0; j < some.columns(); ++j) {
        fmt::format_to(std::back_inserter(text), "{}{}", j == 0 ? "" : ",", some(i, j));
      }
      text += '\n';
      if (text.size() > 1 << 16) {
        out.write(text);
        text.clear();
      }
    }
  });
  out.write(text);
  out.commit();
}

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
  if (ends_with(command.output, ".npy")) {
    write_npy(command, data.rows(), line, stop);
  } else {
    write_csv(command, data.features, line, stop);
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
  CLI::App& app =
      *add_verb(noun, "convert", "Rewrite a file as .npy or .csv", examples, selected, [command] { run(*command); });
  add_data_options(app, command->data, false);
  add_file(app, "OUT", command->output, "", "File to write: .npy or .csv", presence::required);
  add_output(app, "--labels", command->labels, "OUT.npy",
             "Write the label column as int32 numbers, in order of first appearance");
  add_run_options(app, command->run);
}

}  // namespace shoal::app
