// Some builds give every test the headers that most of them include, compiled once. A test that does not include one of
// them itself would not compile in other builds.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sources.hpp"

using namespace structure;

namespace {

// What each header gives of namespace std.
const std::map<std::string, std::string> names = {
    {"algorithm",
     "all_of any_of none_of binary_search clamp copy copy_if copy_n count count_if equal fill fill_n find find_if "
     "for_each generate "
     "is_sorted lexicographical_compare lower_bound max max_element min min_element minmax minmax_element mismatch "
     "next_permutation "
     "nth_element partial_sort remove_if replace reverse rotate search set_difference set_intersection shuffle sort "
     "stable_sort "
     "swap_ranges transform unique upper_bound"},
    {"cmath",
     "abs acos asin atan atan2 cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor fma fmod hypot isfinite isinf "
     "isnan ldexp lgamma "
     "llround log log10 log1p log2 lround nextafter pow remainder round signbit sin sinh sqrt tan tanh tgamma trunc"},
    {"cstdint", "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t"},
    {"filesystem", "filesystem"},
    {"fstream", "fstream ifstream ofstream"},
    {"limits", "numeric_limits"},
    {"map", "map multimap"},
    {"random",
     "mt19937 mt19937_64 random_device normal_distribution uniform_int_distribution uniform_real_distribution"},
    {"set", "set multiset"},
    {"string", "string to_string getline stod stoi"},
    {"vector", "vector"},
};

std::set<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  std::set<std::string> found;
  for (std::string word; words >> word;) found.insert(word);
  return found;
}

// The words after std::, outside of comments.
std::set<std::string> names_used(const std::string& text) {
  std::set<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.resize(std::min(line.find("//"), line.size()));
    for (std::size_t at = line.find("std::"); at != std::string::npos; at = line.find("std::", at)) {
      const std::size_t first = at += 5;
      while (at < line.size() && (std::isalnum(static_cast<unsigned char>(line[at])) != 0 || line[at] == '_')) ++at;
      found.insert(line.substr(first, at - first));
    }
  }
  return found;
}

std::set<std::string> headers_in_brackets(const std::string& text) {
  std::set<std::string> found;
  std::istringstream lines(text);
  const std::string start = "#include <";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(start)) found.insert(line.substr(start.size(), line.find('>') - start.size()));
  }
  return found;
}

}  // namespace

TEST(PrecompiledHeaders, AreIncludedByTestsThatUseThem) {
  std::map<std::string, std::set<std::string>> precompiled;
  for (const std::string& listed :
       listed_in("tests/CMakeLists.txt", R"re(target_precompile_headers\(\S+ PRIVATE ([^)]*)\))re")) {
    const std::string header = listed.substr(1, listed.size() - 2);
    if (header == "gtest/gtest.h") continue;
    ASSERT_TRUE(names.contains(header)) << header << ": say above which names it gives";
    precompiled[header] = words_of(names.at(header));
  }
  ASSERT_FALSE(precompiled.empty());
  const std::vector<path> files = sources({"tests", "shoal", "apps", "bench", "python/binding"});
  const include_graph graph = includes(files);
  std::map<path, std::set<std::string>> included;
  for (const path& file : files) included[file] = headers_in_brackets(contents(file));
  for (const path& file : files) {
    if (!file.starts_with("tests/") || !file.ends_with(".cpp")) continue;
    std::set<std::string> seen = included[file];
    for (const path& other : seen_from(graph, file)) seen.insert(included[other].begin(), included[other].end());
    const std::string text = contents(file);
    if (text.find("\nTEST") != std::string::npos) {
      EXPECT_TRUE(seen.contains("gtest/gtest.h")) << file << " lacks #include <gtest/gtest.h>";
    }
    const std::set<std::string> used = names_used(text);
    for (const auto& [header, given] : precompiled) {
      if (seen.contains(header)) continue;
      for (const std::string& name : given) {
        EXPECT_FALSE(used.contains(name)) << file << " uses std::" << name << " and lacks #include <" << header << ">";
      }
    }
  }
}
