// Making and printing answers.
#include "common/answer.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include <shoal/io/printable.hpp>

#include "common/output.hpp"

namespace shoal::app {
namespace {

// Columns on a screen of a UTF-8 text without wide characters.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// The most memory that this program has held resident since it started, in bytes, mapped files included; 0 where the
// system does not say. Linux's getrusage() counts what the calling program held before it started this one.
std::size_t peak_resident_bytes() {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  if (status == nullptr) return 0;
  std::size_t kibibytes = 0;
  char line[256];
  while (std::fgets(line, sizeof line, status) != nullptr) {
    if (std::sscanf(line, "VmHWM: %zu", &kibibytes) == 1) break;
  }
  std::fclose(status);
  return kibibytes * 1024;
}

}  // namespace

named_values joined(std::initializer_list<named_values> lists) {
  named_values all;
  for (const named_values& list : lists) {
    for (const auto& value : list) {
      const bool said =
          std::any_of(all.begin(), all.end(), [&](const auto& other) { return other.first == value.first; });
      if (!said) all.push_back(value);
    }
  }
  return all;
}

named_values given_values(std::initializer_list<std::pair<std::string, std::string>> texts) {
  named_values values;
  for (const auto& [name, text] : texts) {
    if (!text.empty()) values.emplace_back(name, text);
  }
  return values;
}

json object_of(const named_values& values) {
  json object = json::object();
  for (const auto& [name, value] : values) object[name] = value;
  return object;
}

std::string json_text(const json& object) { return object.dump(-1, ' ', false, json::error_handler_t::replace); }

void give(const answer& answer, const run_options& run) {
  if (run.json) {
    const named_values program{{"program", "shoal " SHOAL_VERSION}};
    print(printable_json(json_text(object_of(joined({answer.values, program})))) + "\n");
  } else if (!run.quiet) {
    std::string text;
    for (const std::string& paragraph : answer.paragraphs) {
      if (!text.empty() && !paragraph.empty()) text += "\n";
      text += paragraph;
    }
    print(printable_lines(text));
  }
}

std::string lines(std::initializer_list<std::pair<std::string_view, std::string>> facts) {
  std::string all;
  for (const auto& [name, text] : facts) {
    if (!text.empty()) all += fmt::format("{:<15} {}\n", name, text);
  }
  return all;
}

std::string table(const std::vector<std::vector<std::string>>& given) {
  std::vector<std::vector<std::string>> rows = given;
  std::size_t columns = 0;
  for (const auto& row : rows) columns = std::max(columns, row.size());
  for (std::size_t j = 1; j < columns; ++j) {
    std::vector<std::string> column;
    for (const auto& row : rows) column.push_back(j < row.size() ? row[j] : std::string());
    const std::vector<std::size_t> blanks = report::behind_points(column);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (j < rows[i].size()) rows[i][j].append(blanks[i], ' ');
    }
  }
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    if (widths.size() < row.size()) widths.resize(row.size());
    for (std::size_t j = 0; j < row.size(); ++j) widths[j] = std::max(widths[j], width(row[j]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const std::string blank(widths[j] - width(row[j]), ' ');
      line += j == 0 ? row[j] + blank : "  " + blank + row[j];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string enumeration(const std::vector<std::string>& words, std::size_t most) {
  if (words.size() <= most) return fmt::format("{}", fmt::join(words, ", "));
  return fmt::format("{} and {} more",
                     fmt::join(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(most), ", "),
                     words.size() - most);
}

std::vector<std::string> column_titles(const std::vector<std::string>& names, std::size_t columns) {
  if (!names.empty()) return names;
  std::vector<std::string> titles;
  for (std::size_t j = 0; j < columns; ++j) titles.push_back(fmt::format("column {}", j));
  return titles;
}

named_values data_values(const data_options& data, std::size_t rows, std::size_t columns,
                         const std::vector<std::string>& names) {
  named_values values = {{"data", data.path}, {"rows", rows}, {"columns", columns}};
  if (!names.empty()) values.emplace_back("column_names", names);
  if (!data.columns.empty()) values.emplace_back("chosen_columns", data.columns);
  return joined({values, given_values({{"label_column", data.label_column}, {"weights_file", data.weights}})});
}

named_values place_values(const run_options& run, std::size_t threads) {
  named_values values = {{"device", device_name(run.device)}};
  if (!run.device.on_host()) values.emplace_back("precision", precision_name(run.device.precision));
  values.emplace_back("threads", threads);
  return values;
}

named_values machine_values(const run_options& run, std::size_t threads, shoal::scalar scalar,
                            const std::string& hardware) {
  named_values values = place_values(run, threads);
  values.emplace_back("scalar", word_for(scalar_choices(), scalar));
  if (!hardware.empty()) values.emplace_back("hardware", hardware);
  if (const std::size_t peak = peak_resident_bytes(); peak != 0) values.emplace_back("peak_resident_bytes", peak);
  values.emplace_back("version", SHOAL_VERSION);
  return values;
}

}  // namespace shoal::app
