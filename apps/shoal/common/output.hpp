// What a verb prints: one JSON object for machines, or lines and tables for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <shoal/execution/automatic_device.hpp>

#include "common/options.hpp"

namespace shoal::app {

using json = nlohmann::ordered_json;

/// Writes to standard output. Throws io_error when it is closed or full.
void print(std::string_view text);

/// Writes one object and a newline. Numbers that are not finite become null; text that is not UTF-8 is escaped.
void print_json(const json& object);

/// Writes a line on standard error, unless the run is quiet or answers in JSON.
void say(const run_options& run, std::string_view text);

/// Writes "shoal: warning: …" on standard error, unless the run is quiet.
void warn(const run_options& run, std::string_view text);

/// Rows of cells with their columns aligned: the first to the left, the others to the right.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// A name and its value, as one line of a summary.
std::string fact(std::string_view name, std::string_view value);

/// The line of a summary that says how long it took, and on what; from the keys of add_timing() and add_machine().
/// `step` is what the family calls an iteration, with its article.
std::string time_fact(const json& object, std::string_view step = "an iteration");

/// "a, b, c and 4 more".
std::string enumeration(const std::vector<std::string>& words, std::size_t most);

/// Names of columns, or their numbers where they have none.
std::vector<std::string> column_titles(const std::vector<std::string>& names, std::size_t columns);

/// What the program was asked to run on, with the number of threads that it means.
std::size_t resolved_threads(const run_options& run);

/// The keys that say which rows were used.
void describe_data(json& object, const data_options& data, std::size_t rows, std::size_t columns,
                   const std::vector<std::string>& names);

/// The keys that say how a fit went in time; `history` has the figure of each iteration.
void add_timing(json& object, const std::vector<double>& history, double seconds, double loop_seconds,
                std::size_t loop_iterations);

/// The files that were written; empty names are left out.
void add_files(json& object, const std::vector<std::pair<std::string, std::string>>& files);

/// Decides where to run when that was left to us (`--device auto`), and says so on standard error.
void settle_device(run_options& run, const estimated_work& work, std::size_t threads);

/// The keys that every answer of a computation ends with.
void add_machine(json& object, const run_options& run, std::size_t threads, shoal::scalar scalar,
                 const std::string& hardware);

}  // namespace shoal::app
