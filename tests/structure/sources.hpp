// The sources of the project as text, and which of them include which.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace structure {

/// A file by its path from the root of the project, with forward slashes.
using path = std::string;

/// What is in a file of the project.
std::string contents(const path& file);

/// Every C++ and CUDA source and header below these folders of the project.
std::vector<path> sources(const std::vector<path>& folders);

/// Every file of code, build or test below these folders, and those that lie in the root. A file without an ending is a
/// script.
std::vector<path> code(const std::vector<path>& folders);

/// Every folder below these, without what Python leaves behind.
std::vector<path> folders(const std::vector<path>& above);

bool exists(const path& file_or_folder);

/// The words of a list in a file; `pattern` holds one group, the list.
std::vector<std::string> listed_in(const path& file, const std::string& pattern);

/// The families that cmake/families.cmake lists, lowest floor first.
std::vector<std::string> families();

/// The rooms that shoal/CMakeLists.txt lists, lowest floor first.
std::vector<std::string> floors();

/// For each file those files of the project that it includes by itself.
using include_graph = std::map<path, std::set<path>>;
include_graph includes(const std::vector<path>& files);

/// All that a file sees, through other files too.
std::set<path> seen_from(const include_graph& graph, const path& file);

/// The groups of two or more nodes each of which leads to all others of its group.
std::vector<std::vector<std::string>> circles(const std::map<std::string, std::set<std::string>>& graph);

}  // namespace structure
