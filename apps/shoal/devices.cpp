// shoal devices
#include <fstream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <sys/utsname.h>

#include <shoal/execution/executor.hpp>
#include <shoal/kmeans/kmeans.hpp>

#include "output.hpp"
#include "verbs.hpp"

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

// The smallest fit there is says what computes fits.
std::string simd_target() {
  const double row[] = {0, 1};
  kmeans::options options;
  options.clusters = 1;
  options.threads = 1;
  return kmeans::fit(matrix_view<const double>(row, 2, 1), options).simd_target;
}

void run(bool as_json) {
  const std::string name = processor_name();
  const std::size_t threads = make_threads(0)->threads();
  const std::string target = simd_target();
  const double total = memory_bytes("MemTotal");
  const double available = memory_bytes("MemAvailable");
  const char* const no_cuda = "CUDA support was not built; configure with -DSHOAL_CUDA=ON";
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
    object["cuda"] = {{"built", false}, {"message", no_cuda}};
    object["version"] = SHOAL_VERSION;
    print_json(object);
    return;
  }
  print(printable_lines(fact("cpu", name) + fact("  threads", std::to_string(threads)) +
                        fact("  instructions", target) +
                        fact("  memory", fmt::format("{}, {} available", bytes_text(total), bytes_text(available))) +
                        fact("cuda", no_cuda)));
}

}  // namespace

void add_devices(CLI::App& program, verb& selected) {
  const auto as_json = std::make_shared<bool>(false);
  CLI::App& app =
      *add_verb(program, "devices", "List what can compute here", examples, selected, [as_json] { run(*as_json); });
  add_flag(app, "--json", *as_json, "Print one JSON object on standard output");
}

}  // namespace shoal::app
