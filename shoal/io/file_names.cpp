#include <shoal/io/file_names.hpp>

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/printable.hpp>

namespace shoal {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The number at the start of a text, without the zeros before it.
std::string_view take_number(std::string_view& text) {
  const auto end = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
  std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

bool comes_before(const std::string& one, const std::string& other) {
  std::string_view a = one, b = other;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view x = take_number(a), y = take_number(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return one < other;  // part-1 and part-01
}

}  // namespace

std::vector<std::string> files_named(const std::string& word) {
  struct stat status {};
  if (word.find_first_of("*?[") == std::string::npos || ::stat(word.c_str(), &status) == 0) return {word};
  glob_t found{};
  const int problem = ::glob(word.c_str(), GLOB_ERR, nullptr, &found);
  std::vector<std::string> names(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (problem == GLOB_NOSPACE) throw out_of_memory(fmt::format("{}: out of memory", printable_path(word)));
  if (problem != 0 || names.empty()) throw io_error(fmt::format("{}: no file matches", printable_path(word)));
  std::sort(names.begin(), names.end(), comes_before);
  return names;
}

}  // namespace shoal
