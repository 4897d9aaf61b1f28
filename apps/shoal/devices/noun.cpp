// shoal devices
#include <charconv>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/utsname.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/default_threads.hpp>
#include <shoal/execution/devices.hpp>
#include <shoal/nearest/nearest.hpp>

#include "common/answer.hpp"
#include "devices/noun.hpp"

namespace shoal::app {
namespace {

constexpr const char* devices_examples = R"(Examples:
  shoal devices
  shoal devices --json)";

// The value of the first line "key : value" of a file of the system.
std::string system_value(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

std::string processor_name() {
  std::string name = system_value("/proc/cpuinfo", "model name");
  if (name.empty()) name = system_value("/proc/cpuinfo", "CPU part");
  utsname system{};
  if (name.empty() && uname(&system) == 0) name = system.machine;
  return name;
}

// "16384 kB" in bytes.
double memory_bytes(std::string_view key) {
  const std::string text = system_value("/proc/meminfo", key);
  std::uint64_t kilobytes = 0;
  std::from_chars(text.data(), text.data() + text.size(), kilobytes);
  return static_cast<double>(kilobytes) * 1024;
}

// What this build knows of CUDA devices; `message` says why there are none.
struct cuda_report {
  bool built = true;
  std::vector<device> devices;
  std::string message;
};

cuda_report ask_cuda() {
  cuda_report report;
  try {
    report.devices = cuda_devices();
    if (report.devices.empty()) report.message = "no device";
  } catch (const not_built& failure) {
    report.built = false;
    report.message = failure.what();
  } catch (const error& failure) {
    report.message = failure.what();
  }
  return report;
}

struct host_report {
  std::string name = processor_name();
  std::size_t threads = default_threads();
  std::string target = simd_target();
  double memory = memory_bytes("MemTotal");
  double available = memory_bytes("MemAvailable");
};

json value_of(const host_report& host) {
  return object_of({{"name", "cpu"},
                    {"model", host.name},
                    {"threads", host.threads},
                    {"simd_target", host.target},
                    {"memory_bytes", static_cast<std::uint64_t>(host.memory)},
                    {"available_memory_bytes", static_cast<std::uint64_t>(host.available)}});
}

json value_of(const cuda_report& cuda) {
  json devices = json::array();
  for (const device& found : cuda.devices) {
    devices.push_back(object_of({{"index", found.index},
                                 {"name", found.name},
                                 {"memory_bytes", found.memory_bytes},
                                 {"compute_capability", found.compute_capability},
                                 {"multiprocessors", found.multiprocessors}}));
  }
  return object_of({{"built", cuda.built}, {"message", cuda.message}, {"devices", devices}});
}

std::string lines_of(const cuda_report& cuda) {
  if (cuda.devices.empty()) return lines({{"cuda", cuda.message}});
  std::string text;
  for (const device& found : cuda.devices) {
    text += lines({{fmt::format("cuda:{}", found.index),
                    fmt::format("{}, compute capability {}.{}, {}", found.name, found.compute_capability / 10,
                                found.compute_capability % 10, bytes_text(static_cast<double>(found.memory_bytes)))}});
  }
  return text;
}

answer answer_of(const host_report& host, const cuda_report& cuda) {
  return {
      .values = {{"devices", json::array({value_of(host)})}, {"cuda", value_of(cuda)}, {"version", SHOAL_VERSION}},
      .paragraphs = {
          lines({{"cpu", host.name},
                 {"  threads", std::to_string(host.threads)},
                 {"  instructions", host.target},
                 {"  memory", fmt::format("{}, {} available", bytes_text(host.memory), bytes_text(host.available))}}) +
          lines_of(cuda)}};
}

void declare(CLI::App& program, verb& selected) {
  const auto options = std::make_shared<run_options>();
  CLI::App& app = *add_verb(program, "devices", "List what can compute here", devices_examples, selected,
                            [options] { give(answer_of({}, ask_cuda()), *options); });
  add_flag(app, "--json", options->json, "Print one JSON object on standard output");
}

}  // namespace

noun devices_noun() { return {.name = "devices", .title = {}, .example = {}, .verbs = {}, .alone = declare}; }

}  // namespace shoal::app
