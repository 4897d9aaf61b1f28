// Opening rows and weights, and matching columns by name.
#include "common/rows.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sys/stat.h>

#include <shoal/core/error.hpp>

#include "common/ranks.hpp"

namespace shoal::app {
namespace {

std::string shown(const std::string& path) { return path == "-" ? "standard input" : path; }

bool same_pipe(const std::string& one, const std::string& other) {
  struct stat first {};
  struct stat second {};
  return stat(one.c_str(), &first) == 0 && stat(other.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino && S_ISFIFO(first.st_mode);
}

// Every rank reads rows of its own: of a pipe each would get others.
void refuse_pipe_of_ranks(const std::string& path) {
  struct stat status {};
  if (path.empty()) return;
  if (path != "-" && (stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode))) return;
  throw bad_argument(
      fmt::format("{} cannot be read by {} ranks: name a file that all of them see", shown(path), ranks()->size()));
}

// Throws bad_data on the rank that sees another file than the first.
template <class Scalar>
void compare_ranks(const row_source<Scalar>& rows, const std::string& path) {
  const std::vector<std::size_t> own = {rows.rows(), rows.columns()};
  const std::vector<std::size_t> first = shared_from(ranks(), 0, own);
  if (first == own) return;
  throw bad_data(
      fmt::format("{}: {} rows x {} columns on this rank, and {} x {} on rank 0; all ranks must read the same "
                  "file",
                  shown(path), own[0], own[1], first[0], first[1]));
}

template <class Scalar>
opened_rows<Scalar> open_features(const data_options& data, const std::vector<std::string>& columns,
                                  const run_options& run) {
  read_options options;
  options.columns = columns;
  options.label_column = data.label_column;
  options.memory_limit = run.memory_limit;
  opened_rows<Scalar> opened = data.file().read<Scalar>(options);
  compare_ranks(*opened.rows, data.path);
  return opened;
}

opened_rows<double> open_weights(const data_options& data, const run_options& run, std::size_t rows) {
  if (data.weights.empty()) return {};
  if (data.weights == "-" && data.path == "-") {
    throw bad_argument("DATA and --weights cannot both come from standard input");
  }
  if (same_pipe(data.weights, data.path)) {
    throw bad_argument(fmt::format("DATA and --weights cannot both come from the pipe {}", data.path));
  }
  read_options options;
  options.memory_limit = run.memory_limit;
  options.unpacked_limit = data.unpacked_limit;
  opened_rows<double> weights = open_rows<double>(data.weights, options);
  if (weights.rows->columns() != 1) {
    throw bad_data(fmt::format("{}: weights must be one column; got {}", shown(data.weights), weights.rows->columns()));
  }
  if (weights.rows->rows() != rows) {
    throw bad_data(fmt::format("{}: {} weights for the {} rows of {}", shown(data.weights), weights.rows->rows(), rows,
                               shown(data.path)));
  }
  return weights;
}

bool holds_all(const std::vector<std::string>& names, const std::vector<std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  });
}

}  // namespace

void refuse_pipes_of_ranks(const data_options& data) {
  if (alone(ranks())) return;
  refuse_pipe_of_ranks(data.path);
  refuse_pipe_of_ranks(data.weights);
}

template <class Scalar>
data_set<Scalar> open_data(const data_options& data, const run_options& run) {
  data_set<Scalar> set;
  set.features = open_features<Scalar>(data, data.columns, run);
  set.weight_rows = open_weights(data, run, set.rows().rows());
  return set;
}
template data_set<float> open_data<float>(const data_options&, const run_options&);
template data_set<double> open_data<double>(const data_options&, const run_options&);

template <class Scalar>
data_set<Scalar> open_data_for(const expected_columns& expected, const data_options& data, const run_options& run) {
  std::vector<std::string> columns = data.columns;
  if (columns.empty() && !expected.names.empty()) {
    const std::vector<std::string> there = data.file().describe_start().column_names;
    if (!there.empty() && there != expected.names && holds_all(there, expected.names)) columns = expected.names;
  }
  data_set<Scalar> set;
  set.features = open_features<Scalar>(data, columns, run);
  const std::vector<std::string>& names = set.features.column_names;
  if (!expected.names.empty() && !names.empty() && names != expected.names) {
    throw bad_data(fmt::format("{}: the columns are {}, but the model {} has {}; {}", shown(data.path),
                               fmt::join(names, ", "), expected.model, fmt::join(expected.names, ", "),
                               data.columns.empty() ? "the header must hold the model's names"
                                                    : "give --columns the model's names, in its order"));
  }
  if (set.rows().columns() != expected.count) {
    throw bad_data(fmt::format("{}: {} columns, but the model {} has {}; choose them with --columns", shown(data.path),
                               set.rows().columns(), expected.model, expected.count));
  }
  set.weight_rows = open_weights(data, run, set.rows().rows());
  return set;
}
template data_set<float> open_data_for<float>(const expected_columns&, const data_options&, const run_options&);
template data_set<double> open_data_for<double>(const expected_columns&, const data_options&, const run_options&);

void check_start_columns(const std::string& file, std::size_t count, const std::vector<std::string>& names,
                         std::size_t data_count, const std::vector<std::string>& data_names) {
  if (!names.empty() && !data_names.empty() && names != data_names) {
    throw bad_argument(fmt::format("--init: the model {} has the columns {}, but the data have {}", file,
                                   fmt::join(names, ", "), fmt::join(data_names, ", ")));
  }
  if (count != data_count) {
    throw bad_argument(
        fmt::format("--init: the model {} has {} columns, but the data have {}", file, count, data_count));
  }
}

void require_rows(std::size_t rows, std::size_t groups, std::string_view name) {
  if (rows < groups) {
    throw bad_data(fmt::format("{} {} need at least {} rows; the data have {}", groups, name, groups, rows));
  }
}

template <class Scalar>
double total_weight(const data_set<Scalar>& data) {
  if (data.weights() == nullptr) return static_cast<double>(data.rows().rows());
  constexpr std::size_t piece = 65536;
  aligned_buffer<double> buffer;
  double sum = 0;
  for (std::size_t first = 0; first < data.rows().rows(); first += piece) {
    const std::size_t count = std::min(piece, data.rows().rows() - first);
    const matrix_view<const double> weights = data.weights()->read(first, count, buffer);
    for (std::size_t i = 0; i < count; ++i) sum += weights(i, 0);
  }
  return sum;
}
template double total_weight<float>(const data_set<float>&);
template double total_weight<double>(const data_set<double>&);

}  // namespace shoal::app
