#include "sources.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace structure {
namespace {

namespace fs = std::filesystem;

const fs::path root = SHOAL_SOURCE_DIR;

// An empty ending is that of files without one.
bool ends_with_one_of(const path& file, const std::vector<std::string>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) {
    return ending.empty() ? fs::path(file).extension().empty() : file.ends_with(ending);
  });
}

std::vector<path> files_below(const std::vector<path>& folders, const std::vector<std::string>& endings) {
  std::vector<path> found;
  for (const path& folder : folders) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      const path file = fs::relative(entry.path(), root).generic_string();
      if (entry.is_regular_file() && ends_with_one_of(file, endings)) found.push_back(file);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

const std::vector<std::string> code_endings = {".cpp", ".hpp", ".cu", ".cuh"};

// Depth first (Tarjan 1972): a group is whole when its first node has been left.
struct circle_search {
  const std::map<std::string, std::set<std::string>>& graph;
  std::map<std::string, std::size_t> number, lowest;
  std::vector<std::string> open;
  std::vector<std::vector<std::string>> found;

  void visit(const std::string& node) {
    number[node] = lowest[node] = number.size();
    open.push_back(node);
    if (const auto edges = graph.find(node); edges != graph.end()) {
      for (const std::string& next : edges->second) {
        if (!number.contains(next)) {
          visit(next);
          lowest[node] = std::min(lowest[node], lowest[next]);
        } else if (std::find(open.begin(), open.end(), next) != open.end()) {
          lowest[node] = std::min(lowest[node], number[next]);
        }
      }
    }
    if (lowest[node] != number[node]) return;
    const auto first = std::find(open.begin(), open.end(), node);
    if (open.end() - first > 1 || (graph.contains(node) && graph.at(node).contains(node))) {
      found.emplace_back(first, open.end());
    }
    open.erase(first, open.end());
  }
};

}  // namespace

std::string contents(const path& file) {
  std::ifstream in(root / file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<path> sources(const std::vector<path>& folders) { return files_below(folders, code_endings); }

std::vector<path> code(const std::vector<path>& folders) {
  std::vector<std::string> endings = code_endings;
  endings.insert(endings.end(), {".py", ".txt", ".cmake", ".in", ".sh", ".toml", ""});
  std::vector<path> found = files_below(folders, endings);
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    const path file = entry.path().filename().string();
    if (entry.is_regular_file() && ends_with_one_of(file, endings)) found.push_back(file);
  }
  return found;
}

std::vector<std::string> listed_in(const path& file, const std::string& pattern) {
  const std::string text = contents(file);
  std::smatch list;
  if (!std::regex_search(text, list, std::regex(pattern))) {
    throw std::runtime_error("no list in " + file + " looks like " + pattern);
  }
  std::istringstream words(list[1]);
  return {std::istream_iterator<std::string>(words), {}};
}

std::vector<path> folders(const std::vector<path>& above) {
  std::vector<path> found;
  for (const path& folder : above) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_directory() && entry.path().filename() != "__pycache__") {
        found.push_back(fs::relative(entry.path(), root).generic_string());
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool exists(const path& file_or_folder) { return fs::exists(root / file_or_folder); }

std::vector<std::string> families() { return listed_in("cmake/families.cmake", R"(set\(SHOAL_FAMILIES ([^)]*)\))"); }

std::vector<std::string> floors() {
  std::vector<std::string> rooms = listed_in("shoal/CMakeLists.txt", R"(foreach\(room ([^)]*)\))");
  const auto place = std::find(rooms.begin(), rooms.end(), "${SHOAL_FAMILIES}");
  if (place == rooms.end()) throw std::runtime_error("the rooms of shoal/CMakeLists.txt lack the families");
  const std::vector<std::string> of_families = families();
  rooms.insert(rooms.erase(place), of_families.begin(), of_families.end());
  return rooms;
}

include_graph includes(const std::vector<path>& files) {
  const std::set<path> known(files.begin(), files.end());
  const std::regex include(R"re((?:^|\n)#include [<"]([^>"]+)[>"])re");
  // Where quoted includes are looked for after the folder of the file that has them, and those in brackets first of
  // all.
  const std::vector<path> roots = {"", "apps/shoal/", "apps/report/", "apps/", "tests/", "python/binding/", "bench/"};
  include_graph graph;
  for (const path& file : files) {
    const std::string text = contents(file);
    std::set<path>& direct = graph[file];
    const fs::path folder = fs::path(file).parent_path();
    for (std::sregex_iterator match(text.begin(), text.end(), include), end; match != end; ++match) {
      const path name = (*match)[1];
      std::vector<path> places = {(folder / name).lexically_normal().generic_string()};
      for (const path& place : roots) places.push_back(place + name);
      const auto place = std::find_if(places.begin(), places.end(), [&](const path& p) { return known.contains(p); });
      if (place != places.end()) direct.insert(*place);
    }
  }
  return graph;
}

std::set<path> seen_from(const include_graph& graph, const path& file) {
  std::set<path> seen;
  std::vector<path> todo = {file};
  while (!todo.empty()) {
    const path next = todo.back();
    todo.pop_back();
    const auto direct = graph.find(next);
    if (direct == graph.end()) continue;
    for (const path& included : direct->second) {
      if (seen.insert(included).second) todo.push_back(included);
    }
  }
  return seen;
}

std::vector<std::vector<std::string>> circles(const std::map<std::string, std::set<std::string>>& graph) {
  circle_search search{graph, {}, {}, {}, {}};
  for (const auto& [node, edges] : graph) {
    if (!search.number.contains(node)) search.visit(node);
  }
  return search.found;
}

}  // namespace structure
