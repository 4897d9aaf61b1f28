// Holds the families to one floor plan, and to few places outside their own that name them. CONTRIBUTING.md says which.
#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sources.hpp"

using namespace structure;

namespace {

const std::string guide = "CONTRIBUTING.md";

// The words that name a family in code, and those by which a path speaks of it.
struct family_words {
  std::string name;                     // "gmm"
  std::string estimator;                // "GaussianMixture"
  std::vector<std::string> path_words;  // "gmm", "mixture"
};

std::string lower(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

// The estimators of the Python package stand in the order of the families.
std::vector<family_words> known_families() {
  const std::vector<std::string> names = families();
  const std::vector<std::string> estimators = listed_in("python/shoal/__init__.py", R"(_ESTIMATORS = \(([^)]*)\))");
  EXPECT_EQ(names.size(), estimators.size()) << "each family has one estimator";
  std::vector<family_words> known;
  for (std::size_t i = 0; i < std::min(names.size(), estimators.size()); ++i) {
    const std::string estimator = estimators[i].substr(0, estimators[i].find(','));
    const auto last_word = std::find_if(estimator.rbegin(), estimator.rend(),
                                        [](unsigned char letter) { return std::isupper(letter) != 0; });
    known.push_back({names[i], estimator, {names[i], lower({last_word.base() - 1, estimator.end()})}});
  }
  return known;
}

bool speaks_of(const path& file, const family_words& family) {
  return std::any_of(family.path_words.begin(), family.path_words.end(),
                     [&](const std::string& word) { return file.find(word) != path::npos; });
}

// "gmm" is named by `gmm::fit`, and not by `gmm_fits`.
bool names(const std::string& text, const std::string& word) {
  const auto part_of_a_word = [&](std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    if (!part_of_a_word(at - 1) && !part_of_a_word(at + word.size())) return true;
  }
  return false;
}

// For each family the files that CONTRIBUTING.md says count, by the rule that it states.
std::map<std::string, std::set<path>> files_that_count() {
  const std::vector<family_words> known = known_families();
  std::map<std::string, std::set<path>> counted;
  for (const path& file : code({"apps", "cmake", "python", "script", "shoal", "tests", ".ci"})) {
    const std::string text = contents(file);
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (!names(text, known[i].name) && !names(text, known[i].estimator)) continue;
      const bool may_build_on_it = std::any_of(known.begin() + static_cast<std::ptrdiff_t>(i), known.end(),
                                               [&](const family_words& above) { return speaks_of(file, above); });
      const bool example = file.starts_with("tests/") && i + 1 < known.size();
      if (!may_build_on_it && !example) counted[known[i].name].insert(file);
    }
  }
  return counted;
}

// The lines of a section, up to the next of the same depth or a lesser one.
std::vector<std::string> section(const std::string& title) {
  std::istringstream text(contents(guide));
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("## ") || line.starts_with("### "))
      inside = line == title;
    else if (inside)
      lines.push_back(line);
  }
  EXPECT_FALSE(lines.empty()) << guide << " has no section '" << title << "'";
  return lines;
}

// What stands between backquotes.
std::vector<std::string> quoted(const std::string& text) {
  static const std::regex quotes("`([^`]*)`");
  std::vector<std::string> words;
  for (std::sregex_iterator match(text.begin(), text.end(), quotes), end; match != end; ++match) {
    words.push_back((*match)[1]);
  }
  return words;
}

// The table of those files, "| `file` | `kmeans`, `gmm` or every family | why |", turned round: for each family its
// files.
std::map<std::string, std::set<path>> files_in_the_table() {
  static const std::regex row(R"(\| `([^`]*)` \| ([^|]*) \| ([^|]*) \|)");
  std::map<std::string, std::set<path>> listed;
  for (const std::string& line : section("### Where families are named")) {
    std::smatch cells;
    if (!std::regex_match(line, cells, row)) continue;
    const std::string named = cells[2];
    for (const std::string& family : named == "every family" ? families() : quoted(named)) {
      EXPECT_TRUE(listed[family].insert(cells[1]).second) << cells[1] << " stands twice in the table";
    }
  }
  return listed;
}

// "shoal/gmm/first_model.hpp" is the unit "first_model", and the door's is "NAME".
std::set<std::string> units_of(const std::string& family) {
  std::set<std::string> units;
  const path folder = "shoal/" + family + "/";
  for (const path& file : sources({"shoal/" + family})) {
    const std::string unit = file.substr(folder.size(), file.rfind('.') - folder.size());
    if (unit.find('/') == std::string::npos) units.insert(unit == family ? "NAME" : unit);
  }
  return units;
}

// The folders of shoal/ in the list of CONTRIBUTING.md: "shoal/gmm/" at the margin, and "cuda/step/" below it, further
// in. "a/b/, c/" are neighbours, and "NAME/cuda/" is of every family.
std::set<path> folders_of_the_house() {
  std::set<path> listed;
  path room;
  for (const std::string& line : section("## How it is built")) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start != 4 && start != 6) continue;
    std::istringstream words(line.substr(start));
    path above;
    for (std::string word; words >> word && (word.ends_with('/') || word.ends_with("/,"));) {
      word.resize(word.rfind('/'));
      if (start == 4) {
        room = word;
        if (word.starts_with("shoal/")) listed.insert(word);
        continue;
      }
      if (!room.starts_with("shoal/")) continue;
      if (word == "NAME/cuda") {
        for (const std::string& family : families()) listed.insert("shoal/" + family + "/cuda");
        continue;
      }
      listed.insert(room + "/" + above + word);
      if (word.find('/') != std::string::npos) above = word.substr(0, word.rfind('/') + 1);
    }
  }
  return listed;
}

}  // namespace

TEST(Names, FewFilesNameAFamilyThatIsNotTheirs) {
  constexpr std::size_t most = 12;
  for (const auto& [family, files] : files_that_count()) {
    EXPECT_LE(files.size(), most) << family;
    EXPECT_GT(files.size(), 0u) << family << ": not even the lists name it";
  }
}

TEST(Names, EachOfThemIsListed) {
  const std::map<std::string, std::set<path>> counted = files_that_count();
  const std::map<std::string, std::set<path>> listed = files_in_the_table();
  for (const std::string& family : families()) {
    for (const path& file : counted.at(family)) {
      EXPECT_TRUE(listed.at(family).contains(file))
          << file << " names " << family << ": take the name out, or add the file to the table of " << guide;
    }
    for (const path& file : listed.at(family)) {
      EXPECT_TRUE(counted.at(family).contains(file))
          << file << " is in the table of " << guide << ", and needs no line for " << family;
    }
  }
}

TEST(Names, AreWholeWords) {
  EXPECT_TRUE(names("gmm::fit", "gmm"));
  EXPECT_TRUE(names("shoal gmm", "gmm"));
  EXPECT_FALSE(names("gmms", "gmm"));
  EXPECT_FALSE(names("gmm_fits and add_gmm", "gmm"));
  EXPECT_TRUE(names("gmms gmm", "gmm"));
}

TEST(FloorPlan, FamiliesHaveTheSameFiles) {
  std::set<std::string> recipe;
  for (const std::string& line : section("## How to add a family")) {
    for (const std::string& word : quoted(line)) {
      const bool file = word.ends_with(".hpp") || word.ends_with(".cpp");
      if (file && word.find('/') == std::string::npos) recipe.insert(word.substr(0, word.rfind('.')));
    }
  }
  std::set<std::string> common = units_of(families().front());
  for (const std::string& family : families()) {
    const std::set<std::string> units = units_of(family);
    for (const std::string& unit : recipe) EXPECT_TRUE(units.contains(unit)) << "shoal/" << family << " lacks " << unit;
    std::erase_if(common, [&](const std::string& unit) { return !units.contains(unit); });
  }
  for (const std::string& unit : common) {
    EXPECT_TRUE(recipe.contains(unit)) << "every family has " << unit << ", and the recipe of " << guide
                                       << " does not name it";
  }
}

TEST(FloorPlan, EveryFolderHasItsPurpose) {
  const std::set<path> listed = folders_of_the_house();
  for (const path& folder : folders({"shoal"}))
    EXPECT_TRUE(listed.contains(folder)) << guide << " lacks " << folder << "/";
  for (const path& folder : listed) {
    EXPECT_TRUE(exists(folder)) << guide << " lists " << folder << "/";
  }
}

// Elsewhere a folder's name tells what it is where it is the name of a room; other names are explained.
TEST(FloorPlan, OtherFoldersAreExplained) {
  const std::string text = contents(guide) + contents("tests/README.md") + contents("bench/README.md");
  for (const path& folder : folders({"apps", "python", "tests", "bench"})) {
    const std::string name = folder.substr(folder.rfind('/') + 1);
    if (folder.find("corpus/") != path::npos || folder.find("ladder/") != path::npos) continue;
    EXPECT_TRUE(text.find("`" + name + "/") != std::string::npos || text.find(" " + name + "/") != std::string::npos ||
                text.find("/" + name + "/") != std::string::npos)
        << folder << "/ is explained nowhere";
  }
}
