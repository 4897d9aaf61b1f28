// shoal devices
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/utsname.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/nearest.hpp>
#include <shoal/execution/devices.hpp>
#include <shoal/execution/executor.hpp>

#include "common/output.hpp"
#include "devices/noun.hpp"

namespace shoal::app {
namespace {

constexpr const char* examples = R"(Examples:
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
  return text.empty() ? 0 : std::stod(text) * 1024;
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

void run(bool as_json) {
  const std::string name = processor_name();
  const std::size_t threads = make_threads(0)->threads();
  const std::string target = simd_target();
  const double total = memory_bytes("MemTotal");
  const double available = memory_bytes("MemAvailable");
  const cuda_report cuda = ask_cuda();
  if (as_json) {
    json cpu;
    cpu["name"] = "cpu";
    cpu["model"] = name;
    cpu["threads"] = threads;
    cpu["simd_target"] = target;
    cpu["memory_bytes"] = static_cast<std::uint64_t>(total);
    cpu["available_memory_bytes"] = static_cast<std::uint64_t>(available);
    json object;
    object["devices"] = json::array({cpu});
    object["cuda"] = {{"built", cuda.built}, {"message", cuda.message}, {"devices", json::array()}};
    for (const device& found : cuda.devices) {
      object["cuda"]["devices"].push_back({{"index", found.index},
                                           {"name", found.name},
                                           {"memory_bytes", found.memory_bytes},
                                           {"compute_capability", found.compute_capability},
                                           {"multiprocessors", found.multiprocessors}});
    }
    object["version"] = SHOAL_VERSION;
    print_json(object);
    return;
  }
  std::string devices;
  for (const device& found : cuda.devices) {
    devices += fact(fmt::format("cuda:{}", found.index),
                    fmt::format("{}, compute capability {}.{}, {}", found.name, found.compute_capability / 10,
                                found.compute_capability % 10, bytes_text(static_cast<double>(found.memory_bytes))));
  }
  print(printable_lines(fact("cpu", name) + fact("  threads", std::to_string(threads)) +
                        fact("  instructions", target) +
                        fact("  memory", fmt::format("{}, {} available", bytes_text(total), bytes_text(available))) +
                        (devices.empty() ? fact("cuda", cuda.message) : devices)));
}

void declare(CLI::App& program, verb& selected) {
  const auto as_json = std::make_shared<bool>(false);
  CLI::App& app =
      *add_verb(program, "devices", "List what can compute here", examples, selected, [as_json] { run(*as_json); });
  add_flag(app, "--json", *as_json, "Print one JSON object on standard output");
}

}  // namespace

noun devices_noun() { return {.name = "devices", .title = {}, .example = {}, .verbs = {}, .alone = declare}; }

}  // namespace shoal::app
