// Names of files that one word stands for.
#pragma once

#include <string>
#include <vector>

namespace shoal {

/// The files that `word` names: itself, or where no file has that very name and it holds *, ? or [, all files that
/// match it as in a shell. In the order of their names, with numbers in them compared as numbers: part-9 before
/// part-10. Throws io_error when none matches.
std::vector<std::string> files_named(const std::string& word);

}  // namespace shoal
