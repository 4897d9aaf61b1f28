// What a verb answers: named values for machines, and paragraphs for people. A verb computes first; one function then
// makes the answer of what came out, and give() prints it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/options.hpp"

namespace shoal::app {

using json = nlohmann::ordered_json;

/// Values in the order in which they are printed.
using named_values = std::vector<std::pair<std::string, json>>;

/// All values of the lists, one list behind the other. A name is said once, where it first stands.
named_values joined(std::initializer_list<named_values> lists);

/// Those whose text is not empty: the names of files, of which none may have been asked for.
named_values given_values(std::initializer_list<std::pair<std::string, std::string>> texts);

/// One object of all values.
json object_of(const named_values& values);

/// An object as one line. Numbers that are not finite become null; text that is not UTF-8 is escaped.
std::string json_text(const json& object);

struct answer {
  named_values values;                  ///< for machines
  std::vector<std::string> paragraphs;  ///< for people: lines and tables; empty ones are left out
};

/// Prints the answer as the run wants it: one JSON object, which says what program made it, or the paragraphs with a
/// blank line between two of them, or nothing.
void give(const answer& answer, const run_options& run);

/// Lines of a name and its text; those without a text are left out.
std::string lines(std::initializer_list<std::pair<std::string_view, std::string>> facts);

/// Rows of cells with their columns aligned: the first to the left, the others to the right, numbers by their decimal
/// points.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// "a, b, c and 4 more".
std::string enumeration(const std::vector<std::string>& words, std::size_t most);

/// Names of columns, or their numbers where they have none.
std::vector<std::string> column_titles(const std::vector<std::string>& names, std::size_t columns);

/// Which rows were used.
named_values data_values(const data_options& data, std::size_t rows, std::size_t columns,
                         const std::vector<std::string>& names);

/// Where it ran.
named_values place_values(const run_options& run, std::size_t threads);

/// What every answer of a computation ends with.
named_values machine_values(const run_options& run, std::size_t threads, shoal::scalar scalar,
                            const std::string& hardware);

}  // namespace shoal::app
