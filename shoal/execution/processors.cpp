#include <shoal/execution/processors.hpp>

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace shoal {
namespace {

namespace fs = std::filesystem;

// Where control groups that limit processor time are mounted.
struct mounted_groups {
  bool second_version;
  std::string group;   // what of the tree is mounted there
  std::string folder;  // where
};

bool among(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

// Lines of mountinfo: "36 35 98:0 ROOT FOLDER OPTIONS [TAGS…] - TYPE SOURCE OPTIONS".
std::vector<mounted_groups> mounts(const std::string& root) {
  std::vector<mounted_groups> found;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string skipped, group, folder, word, type, source, options;
    words >> skipped >> skipped >> skipped >> group >> folder;
    while (words >> word && word != "-") continue;
    if (!(words >> type >> source >> options)) continue;
    if (type == "cgroup2" || (type == "cgroup" && among(options, "cpu"))) {
      found.push_back({type == "cgroup2", group, folder});
    }
  }
  return found;
}

// The group of this process: of lines "0::GROUP" in version 2, "4:cpu,cpuacct:GROUP" in version 1.
std::string own_group(const std::string& root, bool second_version) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (second_version ? controllers.empty() : among(controllers, "cpu")) return line.substr(second + 1);
  }
  return "/";
}

// Of a file that holds one number, or in version 2 "QUOTA PERIOD", where QUOTA may be the word max.
std::optional<double> number_in(const fs::path& file, std::size_t place = 0) {
  std::ifstream in(file);
  std::string word;
  for (std::size_t i = 0; i <= place; ++i) {
    if (!(in >> word)) return std::nullopt;
  }
  std::istringstream text(word);
  text.imbue(std::locale::classic());
  double value = 0;
  return text >> value ? std::optional(value) : std::nullopt;
}

std::size_t granted_in(const fs::path& folder, bool second_version) {
  const auto quota = second_version ? number_in(folder / "cpu.max") : number_in(folder / "cpu.cfs_quota_us");
  const auto period = second_version ? number_in(folder / "cpu.max", 1) : number_in(folder / "cpu.cfs_period_us");
  if (!quota || !period || !(*quota > 0) || !(*period > 0)) return 0;
  return static_cast<std::size_t>(std::clamp(std::ceil(*quota / *period), 1.0, 1e6));
}

}  // namespace

std::size_t granted_processors(const std::string& root) {
  std::size_t least = 0;
  for (const mounted_groups& mount : mounts(root)) {
    // What of the group's path lies below the mounted part; a group outside of it is seen as the part itself.
    const fs::path below = fs::path(own_group(root, mount.second_version)).lexically_relative(mount.group);
    const fs::path top = root + mount.folder;
    fs::path folder = below.empty() || *below.begin() == ".." ? top : (top / below).lexically_normal();
    if (!folder.has_filename()) folder = folder.parent_path();
    for (;; folder = folder.parent_path()) {
      const std::size_t granted = granted_in(folder, mount.second_version);
      if (granted != 0 && (least == 0 || granted < least)) least = granted;
      if (folder == top || !folder.has_relative_path()) break;
    }
  }
  return least;
}

std::size_t usable_processors() {
  static const std::size_t granted = granted_processors();
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
  const std::size_t allowed = known ? static_cast<std::size_t>(CPU_COUNT(&set)) : std::thread::hardware_concurrency();
  return std::max<std::size_t>(1, granted == 0 ? allowed : std::min(allowed, granted));
}

}  // namespace shoal
