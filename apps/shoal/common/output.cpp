// Printing, with every failure of standard output noticed.
#include "common/output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include <shoal/execution/executor.hpp>

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

void print(std::string_view text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    throw io_error(fmt::format("standard output: cannot be written: {}", std::strerror(errno)));
  }
}

void print_json(const json& object) { print(object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"); }

void say(const run_options& run, std::string_view text) {
  if (run.quiet || run.json) return;
  const std::string line = printable_lines(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void warn(const run_options& run, std::string_view text) {
  if (run.quiet) return;
  const std::string line = "shoal: warning: " + printable_lines(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
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

std::string fact(std::string_view name, std::string_view value) { return fmt::format("{:<15} {}\n", name, value); }

std::string time_fact(const json& object, std::string_view step) {
  std::string text = duration_text(object["seconds"].get<double>());
  if (!object["seconds_per_iteration"].is_null()) {
    text += fmt::format(", {} {}", duration_text(object["seconds_per_iteration"].get<double>()), step);
  }
  const auto threads = object["threads"].get<std::size_t>();
  text += fmt::format("; {}, {}, {}", object["device"].get<std::string>(), counted(threads, "thread"),
                      object["scalar"].get<std::string>());
  if (object.contains("hardware")) text += ", " + object["hardware"].get<std::string>();
  return fact("time", text);
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

std::size_t resolved_threads(const run_options& run) {
  return run.threads != 0 ? run.threads : make_threads(0)->threads();
}

void describe_data(json& object, const data_options& data, std::size_t rows, std::size_t columns,
                   const std::vector<std::string>& names) {
  object["data"] = data.path;
  object["rows"] = rows;
  object["columns"] = columns;
  if (!names.empty()) object["column_names"] = names;
  if (!data.columns.empty()) object["chosen_columns"] = data.columns;
  if (!data.label_column.empty()) object["label_column"] = data.label_column;
  if (!data.weights.empty()) object["weights_file"] = data.weights;
}

void add_timing(json& object, const std::vector<double>& history, double seconds, double loop_seconds,
                std::size_t loop_iterations) {
  object["history"] = history;
  object["seconds"] = seconds;
  object["loop_seconds"] = loop_seconds;
  object["loop_iterations"] = loop_iterations;
  object["seconds_per_iteration"] =
      loop_iterations == 0 ? json() : json(loop_seconds / static_cast<double>(loop_iterations));
}

void add_files(json& object, const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [key, file] : files) {
    if (!file.empty()) object[key] = file;
  }
}

void settle_device(run_options& run, const estimated_work& work, std::size_t threads) {
  if (run.device_word != "auto") return;
  automatic_device chosen = choose_automatically(work, threads, run.device.memory);
  run.device.cuda = std::move(chosen.choice.cuda);
  say(run, fmt::format("device auto: {} ({})", device_name(run.device), chosen.reason));
}

void add_machine(json& object, const run_options& run, std::size_t threads, shoal::scalar scalar,
                 const std::string& hardware) {
  object["device"] = device_name(run.device);
  if (!run.device.on_host()) object["precision"] = precision_name(run.device.precision);
  object["threads"] = threads;
  object["scalar"] = word_for(scalar_choices(), scalar);
  if (!hardware.empty()) object["hardware"] = hardware;
  if (const std::size_t peak = peak_resident_bytes(); peak != 0) object["peak_resident_bytes"] = peak;
  object["version"] = SHOAL_VERSION;
}

}  // namespace shoal::app
