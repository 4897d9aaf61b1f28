// Holds the house to its floor plan: who may include whom. CONTRIBUTING.md says why.
#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sources.hpp"

using namespace structure;

namespace {

// "shoal/gmm/cuda/fit.cpp" lies in the room "gmm".
std::string room_of(const path& file) {
  const std::size_t first = file.find('/') + 1;
  return file.substr(first, file.find('/', first) - first);
}

// A header and the source that defines what it declares are one unit, as "shoal/gmm/fit" is.
std::string unit_of(const path& file) {
  std::string unit = file.substr(0, file.rfind('.'));
  if (unit.ends_with("-inl")) unit.resize(unit.size() - 4);
  return unit;
}

path door_of(const std::string& room) { return "shoal/" + room + "/" + room + ".hpp"; }

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += "\n  " + name;
  return text;
}

const std::vector<path>& library() {
  static const std::vector<path> files = sources({"shoal"});
  return files;
}

}  // namespace

TEST(Floors, EveryFolderIsListed) {
  const std::vector<std::string> rooms = floors();
  for (const path& file : library()) {
    EXPECT_NE(std::find(rooms.begin(), rooms.end(), room_of(file)), rooms.end())
        << file << " is in no room that shoal/CMakeLists.txt lists";
  }
}

TEST(Floors, NothingIncludesWhatStandsAbove) {
  const std::vector<std::string> rooms = floors();
  const auto floor_of = [&](const path& file) {
    return std::find(rooms.begin(), rooms.end(), room_of(file)) - rooms.begin();
  };
  for (const auto& [file, included] : includes(library())) {
    for (const path& other : included) {
      EXPECT_GE(floor_of(file), floor_of(other)) << file << " includes " << other << ", which stands above it";
    }
  }
}

TEST(Floors, FamiliesAndSolversDoNotKnowEachOther) {
  const std::set<std::string> solvers = {"assignment", "reaction_diffusion", "geometry"};
  const std::set<std::string> below = {"core", "algebra", "random", "io", "execution"};
  for (const auto& [file, included] : includes(library())) {
    if (!solvers.contains(room_of(file))) continue;
    for (const path& other : included) {
      EXPECT_TRUE(room_of(other) == room_of(file) || below.contains(room_of(other)))
          << file << " is of a solver and includes " << other;
    }
  }
}

TEST(Circles, NoUnitLeadsBackToItself) {
  std::map<std::string, std::set<std::string>> units;
  for (const auto& [file, included] : includes(library())) {
    for (const path& other : included) {
      if (unit_of(other) != unit_of(file)) units[unit_of(file)].insert(unit_of(other));
    }
  }
  for (const std::vector<std::string>& circle : circles(units)) ADD_FAILURE() << "a circle of units:" << listed(circle);
}

TEST(Circles, AreFound) {
  EXPECT_TRUE(circles({{"a", {"b"}}, {"b", {"c"}}}).empty());
  EXPECT_EQ(circles({{"a", {"b"}}, {"b", {"c", "d"}}, {"c", {"a"}}, {"d", {}}}).size(), 1u);
  EXPECT_EQ(circles({{"a", {"b"}}, {"b", {"a"}}, {"c", {"d", "a"}}, {"d", {"c"}}}).size(), 2u);
}

// Types lie on the ground and the door is the roof: only the source of the door's own name may include it.
TEST(Doors, NothingInsideIncludesTheDoor) {
  for (const auto& [file, included] : includes(library())) {
    const path door = door_of(room_of(file));
    if (unit_of(file) == unit_of(door) || room_of(file) == "nearest") continue;
    EXPECT_FALSE(included.contains(door)) << file << " includes the door of its own room";
  }
}

// A line changed in the door of a family is quick to try.
TEST(Doors, ALineChangedRebuildsFewObjects) {
  constexpr std::size_t most = 20;
  const std::vector<path> files = sources({"shoal", "apps", "python", "tests", "bench", "examples"});
  const include_graph graph = includes(files);
  std::map<path, std::vector<std::string>> rebuilt;
  for (const path& file : files) {
    if (file.ends_with(".hpp") || file.ends_with(".cuh")) continue;
    for (const path& seen : seen_from(graph, file)) rebuilt[seen].push_back(file);
  }
  for (const std::string& family : families()) {
    const std::vector<std::string>& objects = rebuilt[door_of(family)];
    EXPECT_LE(objects.size(), most) << door_of(family) << " is seen by " << objects.size()
                                    << " objects:" << listed(objects);
    EXPECT_GT(objects.size(), 0u);
  }
}
