// The choice among the rooms of mixture kernels: the model of cost against the times that it was fitted to, and the
// thresholds where nothing was timed. It needs no GPU.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <shoal/gmm/cuda/cost.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/rooms.hpp>
#include <shoal/gmm/cuda/usual_room.hpp>

#include "../kernel_checks.hpp"

namespace {

using checks::covariance_type;
using nlohmann::json;
using shoal::precision;
using shoal::gmm::accumulator_shape;
using shoal::gmm::predictor_shape;
using shoal::gmm::room_candidate;
using shoal::gmm::room_name;
using shoal::gmm::room_names;
using shoal::gmm::statistics_layout;

// On an NVIDIA H200.
accumulator_shape shape_of(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components,
                           shoal::precision precision = precision::float32) {
  accumulator_shape shape;
  shape.layout = statistics_layout(type, components, columns);
  shape.share_rows = rows;
  shape.multiprocessors = 132;
  shape.shared_bytes = 227 << 10;
  shape.precision = precision;
  return shape;
}

std::string text(const accumulator_shape& shape) {
  return fmt::format("{} ({}, {}, {}) {}", checks::name(shape.layout.type()), shape.share_rows, shape.layout.columns(),
                     shape.layout.components(), shoal::precision_name(shape.precision));
}

struct timed_cell {
  accumulator_shape shape;
  bool float64;
  json milliseconds;
  json estimates;
};

// Programs that were packed for another machine find the project's files where SHOAL_SOURCE says.
std::vector<timed_cell> timed_cells() {
  const char* const named = std::getenv("SHOAL_SOURCE");
  const std::string root = named != nullptr ? named : SHOAL_SOURCE_DIR;
  std::ifstream file(root + "/bench/results/room-times-nvidia-h200-2026-11-23.json");
  const json all = json::parse(file);
  std::vector<timed_cell> cells;
  for (const json& cell : all.at("cells")) {
    const auto number = [&](const char* name) { return cell.at(name).get<std::size_t>(); };
    for (const covariance_type type : checks::all_types) {
      if (cell.at("type") != checks::name(type)) continue;
      for (const shoal::precision precision : {precision::float32, precision::tf32, precision::bf16}) {
        if (cell.at("precision") != std::string(shoal::precision_name(precision))) continue;
        cells.push_back({shape_of(type, number("rows"), number("columns"), number("components"), precision),
                         cell.at("scalar") == "float64", cell.at("milliseconds"), cell.at("estimates")});
      }
    }
  }
  return cells;
}

std::optional<double> expected_milliseconds(room_name room, const accumulator_shape& shape, bool float64 = false) {
  return float64 ? shoal::gmm::expected_milliseconds<double>(room, shape)
                 : shoal::gmm::expected_milliseconds<float>(room, shape);
}

bool is_usual(room_name room, const accumulator_shape& shape, bool float64 = false) {
  return float64 ? shoal::gmm::is_usual<double>(room, shape) : shoal::gmm::is_usual<float>(room, shape);
}

// The choice among the rooms of which suits(place) says whether they take the shape.
template <class Suits>
std::size_t choose(const accumulator_shape& shape, const Suits& suits, bool float64 = false) {
  std::vector<room_candidate> rooms;
  for (std::size_t place = 0; place < room_names.size(); ++place) {
    const auto name = static_cast<room_name>(place);
    rooms.push_back({suits(place), is_usual(name, shape, float64), expected_milliseconds(name, shape, float64)});
  }
  return shoal::gmm::choose_room(rooms);
}

// Which rooms can do it, as their doors say on an NVIDIA H200.
bool suits(room_name room, const accumulator_shape& shape) {
  const bool matrices = shape.layout.has_matrices(), narrow = shape.layout.columns() <= 128;
  if (room == room_name::few_columns_teams) return shoal::gmm::few_columns::suits_teams(shape);
  if (room == room_name::few_columns) return shoal::gmm::few_columns::suits<float>(shape);
  if (room == room_name::tensor_matrix) return matrices && narrow;
  if (room == room_name::tensor_diagonal) return !matrices && narrow;
  if (room == room_name::tensor_wide) return matrices;
  return true;
}

room_name room_for(const accumulator_shape& shape) {
  return static_cast<room_name>(
      choose(shape, [&](std::size_t place) { return suits(static_cast<room_name>(place), shape); }));
}

// Whether the model knows what a room that suits takes.
bool is_known(room_name room, const accumulator_shape& shape) {
  return suits(room, shape) && expected_milliseconds(room, shape).has_value();
}

TEST(RoomCost, IsWhatWasFittedToTheTimes) {
  const std::vector<timed_cell> cells = timed_cells();
  ASSERT_GE(cells.size(), 690U);
  for (const timed_cell& cell : cells) {
    for (std::size_t place = 0; place < room_names.size(); ++place) {
      const std::string name(room_names[place]);
      if (!cell.milliseconds.contains(name)) continue;
      const std::optional<double> found =
          expected_milliseconds(static_cast<room_name>(place), cell.shape, cell.float64);
      ASSERT_EQ(found.has_value(), cell.estimates.contains(name)) << name << " for " << text(cell.shape);
      if (!found) continue;
      const double fitted = cell.estimates.at(name).get<double>();
      EXPECT_NEAR(*found, fitted, 1e-6 * fitted) << name << " for " << text(cell.shape);
    }
  }
}

TEST(RoomCost, IsUnknownBeyondWhatWasTimed) {
  EXPECT_TRUE(is_known(room_name::tensor_matrix, shape_of(covariance_type::full, 1'000'000, 128, 16)));
  EXPECT_FALSE(is_known(room_name::tensor_wide, shape_of(covariance_type::full, 1'000'000, 129, 16)));
  EXPECT_FALSE(is_known(room_name::tensor_float64, shape_of(covariance_type::diag, 1'000'000, 129, 16)));
  EXPECT_FALSE(is_known(room_name::tensor_diagonal, shape_of(covariance_type::diag, 20'000, 64, 16)));
  // Of so many components, and of matrices, it was found to be slow, and nothing more.
  EXPECT_FALSE(is_known(room_name::plain, shape_of(covariance_type::diag, 1'000'000, 20, 200)));
  EXPECT_FALSE(is_known(room_name::plain, shape_of(covariance_type::full, 1'000'000, 20, 3)));
}

TEST(RoomChoice, IsNearTheFastestRoomThatWasTimed) {
  const std::vector<timed_cell> cells = timed_cells();
  ASSERT_GE(cells.size(), 690U);
  for (const timed_cell& cell : cells) {
    const auto takes = [&](std::size_t place) { return cell.milliseconds.contains(std::string(room_names[place])); };
    const std::string chosen(room_names[choose(cell.shape, takes, cell.float64)]);
    std::size_t usual = 0;
    while (!takes(usual) || !is_usual(static_cast<room_name>(usual), cell.shape, cell.float64)) ++usual;
    const std::string before(room_names[usual]);
    EXPECT_LE(cell.milliseconds.at(chosen).get<double>(), 1.125 * cell.milliseconds.at(before).get<double>())
        << chosen << " is chosen for " << text(cell.shape) << ", not the usual " << before;
    for (const auto& [room, milliseconds] : cell.milliseconds.items()) {
      EXPECT_LE(cell.milliseconds.at(chosen).get<double>(), 1.75 * milliseconds.get<double>())
          << chosen << " is chosen for " << text(cell.shape) << ", not " << room;
    }
  }
}

// Both sides of the thresholds that choose for few rows.
TEST(RoomChoice, OfFewRowsIsWhatWasTimed) {
  for (const covariance_type type : {covariance_type::full, covariance_type::tied}) {
    for (const std::size_t rows : {1000, 10'000, 99'999}) {
      EXPECT_FALSE(is_usual(room_name::few_columns, shape_of(type, rows, 13, 5), true));
      EXPECT_TRUE(is_usual(room_name::few_columns, shape_of(type, rows, 13, 4), true));
      EXPECT_TRUE(is_usual(room_name::few_columns, shape_of(type, rows, 12, 5), true));
    }
  }
  EXPECT_EQ(room_for(shape_of(covariance_type::full, 1000, 16, 1)), room_name::few_columns_teams);
  EXPECT_EQ(room_for(shape_of(covariance_type::full, 1000, 16, 2)), room_name::few_columns);
  EXPECT_EQ(room_for(shape_of(covariance_type::full, 1000, 15, 1)), room_name::few_columns);
}

struct chosen_room {
  accumulator_shape shape;
  room_name room;
  std::vector<std::optional<double>> times;  // by room; of those that suit
};

chosen_room choose_with_times(const accumulator_shape& shape) {
  chosen_room chosen{shape, room_for(shape), {}};
  for (std::size_t place = 0; place < room_names.size(); ++place) {
    const auto name = static_cast<room_name>(place);
    chosen.times.push_back(suits(name, shape) ? expected_milliseconds(name, shape) : std::nullopt);
  }
  return chosen;
}

// A room that is left as a shape grows, and returned to, would have been about as fast in between: padding moves rooms
// of equal cost past each other, and nothing else does where all three shapes are known in both rooms. A usual room is
// left for one that is least_usual_gain times as fast.
void check_line(const std::vector<chosen_room>& line) {
  for (std::size_t first = 0; first < line.size(); ++first) {
    for (std::size_t last = first + 2; last < line.size(); ++last) {
      if (line[first].room != line[last].room) continue;
      for (std::size_t between = first + 1; between < last; ++between) {
        const auto left = static_cast<std::size_t>(line[first].room),
                   room = static_cast<std::size_t>(line[between].room);
        const bool known = std::all_of(&line[first], &line[last] + 1, [&](const chosen_room& chosen) {
          return chosen.times[left].has_value() && chosen.times[room].has_value();
        });
        if (!known) continue;
        EXPECT_LE(*line[between].times[left], 1.2 * shoal::gmm::least_usual_gain * *line[between].times[room])
            << room_names[left] << " is left for " << text(line[between].shape) << " and taken again";
      }
    }
  }
}

TEST(RoomChoice, DoesNotGoBackAndForth) {
  const std::vector<std::size_t> columns = {1, 2, 3, 5, 8, 13, 16, 17, 24, 32, 33, 48, 64, 65, 96, 128};
  const std::vector<std::size_t> components = {1, 2, 3, 5, 10, 24, 33, 64, 100, 129, 150, 256, 1000};
  for (const covariance_type type : checks::all_types) {
    for (const shoal::precision precision : {precision::float32, precision::tf32}) {
      for (const std::size_t rows : {100'000, 300'000, 1'000'000}) {
        std::vector<std::vector<chosen_room>> by_components(components.size());
        for (const std::size_t d : columns) {
          std::vector<chosen_room> line;
          for (const std::size_t K : components) {
            line.push_back(choose_with_times(shape_of(type, rows, d, K, precision)));
            by_components[line.size() - 1].push_back(line.back());
          }
          check_line(line);
        }
        for (const std::vector<chosen_room>& line : by_components) check_line(line);
      }
    }
  }
}

TEST(RoomChoice, GivesFewComponentsOfFewColumnsToTeams) {
  for (const covariance_type type : {covariance_type::full, covariance_type::tied}) {
    for (const std::size_t rows : {300'000, 1'000'000}) {
      for (const std::size_t columns : {9, 10, 13, 14, 16}) {
        for (const std::size_t components : {1, 2, 3, 4, 5}) {
          const accumulator_shape shape = shape_of(type, rows, columns, components);
          EXPECT_EQ(room_for(shape), room_name::few_columns_teams) << text(shape);
        }
      }
    }
  }
  // So few rows were not timed: thresholds still choose for them.
  EXPECT_EQ(room_for(shape_of(covariance_type::full, 10'000, 10, 2)), room_name::few_columns);
}

TEST(RoomChoice, LeavesComponentsOfManyColumnsToTheKernelThatReadsRowsOnce) {
  for (const covariance_type type : {covariance_type::diag, covariance_type::spherical}) {
    for (const shoal::precision precision : {precision::float32, precision::tf32, precision::bf16}) {
      for (const std::size_t rows : {1'000, 30'000, 10'000'000}) {
        for (const std::size_t columns : {17, 33, 64, 65, 96, 128}) {
          for (const std::size_t components : {1, 10, 16, 17, 40, 64}) {
            const accumulator_shape shape = shape_of(type, rows, columns, components, precision);
            EXPECT_EQ(room_for(shape), room_name::tensor_float64) << text(shape);
          }
        }
      }
    }
  }
  EXPECT_EQ(room_for(shape_of(covariance_type::diag, 300'000, 54, 65, precision::tf32)), room_name::tensor_diagonal);
  EXPECT_NE(room_for(shape_of(covariance_type::spherical, 1'000'000, 16, 64)), room_name::tensor_float64);
}

TEST(RoomChoice, LeavesManyComponentsOfFewColumnsToTensorCores) {
  EXPECT_EQ(room_for(shape_of(covariance_type::spherical, 1'000'000, 7, 150)), room_name::tensor_diagonal);
  EXPECT_EQ(room_for(shape_of(covariance_type::full, 1'000'000, 10, 256)), room_name::tensor_matrix);
  EXPECT_EQ(room_for(shape_of(covariance_type::diag, 1'000'000, 9, 700)), room_name::tensor_diagonal);
  EXPECT_EQ(room_for(shape_of(covariance_type::full, 1'000'000, 7, 100)), room_name::few_columns);
}

TEST(RoomChoice, LeavesFloat64SumsBeyondTheRegistersToTensorCores) {
  const auto suits_float64 = [](std::size_t place) {
    return place == static_cast<std::size_t>(room_name::few_columns) ||
           place >= static_cast<std::size_t>(room_name::tensor_float64);
  };
  const auto room_of = [&](covariance_type type, std::size_t columns, std::size_t components) {
    return static_cast<room_name>(choose(shape_of(type, 1'000'000, columns, components), suits_float64, true));
  };
  for (const std::size_t components : {2, 5, 10, 64}) {
    EXPECT_EQ(room_of(covariance_type::full, 16, components), room_name::tensor_float64) << components;
    EXPECT_EQ(room_of(covariance_type::full, 5, components), room_name::few_columns) << components;
    EXPECT_EQ(room_of(covariance_type::diag, 8, components), room_name::few_columns) << components;
  }
}

TEST(RoomChoice, DependsOnAShardAloneAndNotOnAGpusShare) {
  for (const std::size_t columns : {6, 14, 33, 128}) {
    for (const std::size_t components : {2, 7, 24, 150}) {
      for (const covariance_type type : checks::all_types) {
        accumulator_shape shape = shape_of(type, 1'000'000, columns, components);
        const room_name room = room_for(shape);
        shape.shards = 8;
        shape.data_shards = 64;
        EXPECT_EQ(room_for(shape), room) << text(shape);
      }
    }
  }
}

TEST(ChooseRoom, TakesTheFirstOfEqualsAndTheUsualOneWhereTimesAreMissing) {
  using candidates = std::vector<room_candidate>;
  const room_candidate none, slow{true, true, 2.0}, fast{true, false, 1.0}, nearly{true, false, 1.02},
      plain{true, true, 9.0};
  const room_candidate unknown{true, true, std::nullopt}, unusual{true, false, std::nullopt};
  EXPECT_EQ(shoal::gmm::choose_room(candidates{slow, fast, plain}), 1U);
  EXPECT_EQ(shoal::gmm::choose_room(candidates{slow, nearly, fast, plain}), 1U);
  EXPECT_EQ(shoal::gmm::choose_room(candidates{none, slow, none, fast, plain}), 3U);
  EXPECT_EQ(shoal::gmm::choose_room(candidates{unknown, fast, plain}), 0U);
  EXPECT_EQ(shoal::gmm::choose_room(candidates{unusual, slow, fast, plain}), 1U);
  EXPECT_EQ(shoal::gmm::choose_room(candidates{slow, unknown, fast, plain}), 2U);
  EXPECT_EQ(shoal::gmm::choose_room(candidates{none, unusual, unknown}), 2U);
}

TEST(UsualRoom, IsTwoTeamsForManyRowsOfFewColumns) {
  const auto are_usual = [](covariance_type type, std::size_t rows, std::size_t components) {
    return shoal::gmm::is_usual<float>(room_name::few_columns_teams, shape_of(type, rows, 8, components));
  };
  for (const covariance_type type : checks::all_types) EXPECT_TRUE(are_usual(type, 1 << 20, 10)) << checks::name(type);
  EXPECT_FALSE(are_usual(covariance_type::full, 1000, 10));
  EXPECT_FALSE(are_usual(covariance_type::full, 1 << 20, 4));
}

TEST(UsualRoom, IsThatForFewColumnsUpToSoManyComponents) {
  struct limit {
    std::size_t columns, components;
  };
  const auto is_usual = [](covariance_type type, const limit& shape) {
    return shoal::gmm::is_usual<float>(room_name::few_columns,
                                       shape_of(type, 300'000, shape.columns, shape.components));
  };
  for (const covariance_type type : {covariance_type::full, covariance_type::tied}) {
    for (const limit& most : {limit{1, 512}, limit{2, 512}, limit{3, 512}, limit{4, 256}, limit{5, 256}, limit{6, 256},
                              limit{7, 227}, limit{8, 182}, limit{9, 111}, limit{16, 40}}) {
      EXPECT_TRUE(is_usual(type, most)) << most.columns << " columns";
      EXPECT_FALSE(is_usual(type, {most.columns, most.components + 1})) << most.columns << " columns";
    }
  }
}

TEST(UsualRoom, IsThatForFewColumnsUpToFewerComponentsOfTiedFloat64Rows) {
  const auto is_usual = [](covariance_type type, std::size_t rows, std::size_t columns, std::size_t components) {
    return shoal::gmm::is_usual<double>(room_name::few_columns, shape_of(type, rows, columns, components));
  };
  struct limit {
    std::size_t columns, components;
  };
  for (const limit& most : {limit{3, 192}, limit{4, 192}, limit{6, 178}, limit{8, 111}, limit{10, 100}}) {
    EXPECT_TRUE(is_usual(covariance_type::tied, 1'000'000, most.columns, most.components)) << most.columns;
    EXPECT_FALSE(is_usual(covariance_type::tied, 100'000, most.columns, most.components + 1)) << most.columns;
    EXPECT_TRUE(is_usual(covariance_type::tied, 99'999, most.columns, most.components + 1)) << most.columns;
    EXPECT_TRUE(is_usual(covariance_type::full, 1'000'000, most.columns, most.components + 1)) << most.columns;
  }
  EXPECT_TRUE(is_usual(covariance_type::tied, 1'000'000, 2, 400));
}

TEST(UsualRoom, IsTensorCoresForManyRowsOfManyNumbers) {
  const auto come_first = [](covariance_type type, std::size_t rows, std::size_t columns, std::size_t components) {
    return !shoal::gmm::is_usual<float>(room_name::few_columns_teams, shape_of(type, rows, columns, components));
  };
  EXPECT_TRUE(come_first(covariance_type::full, 1 << 20, 16, 16));
  EXPECT_TRUE(come_first(covariance_type::tied, 1 << 20, 13, 32));
  EXPECT_FALSE(come_first(covariance_type::full, 1 << 20, 14, 20));
  EXPECT_FALSE(come_first(covariance_type::full, 1 << 20, 9, 100));
  EXPECT_FALSE(come_first(covariance_type::full, 200'000, 16, 24));
  EXPECT_FALSE(come_first(covariance_type::diag, 1 << 20, 16, 128));
}

TEST(UsualRoom, OfPredictionsIsPlainForFewFloat64Columns) {
  const auto is_plain = [](covariance_type type, std::size_t components, std::size_t columns) {
    predictor_shape shape;
    shape.layout = statistics_layout(type, components, columns);
    return !is_usual(room_name::tensor_float64, shape);
  };
  for (const covariance_type type : {covariance_type::full, covariance_type::tied}) {
    EXPECT_TRUE(is_plain(type, 10, 5)) << checks::name(type);
    EXPECT_FALSE(is_plain(type, 10, 6)) << checks::name(type);
  }
  for (const covariance_type type : {covariance_type::diag, covariance_type::spherical}) {
    EXPECT_TRUE(is_plain(type, 100, 4)) << checks::name(type);
    EXPECT_TRUE(is_plain(type, 29, 5)) << checks::name(type);
    EXPECT_FALSE(is_plain(type, 30, 5)) << checks::name(type);
    EXPECT_TRUE(is_plain(type, 18, 8)) << checks::name(type);
    EXPECT_FALSE(is_plain(type, 19, 8)) << checks::name(type);
    EXPECT_TRUE(is_plain(type, 9, 16)) << checks::name(type);
    EXPECT_FALSE(is_plain(type, 10, 16)) << checks::name(type);
  }
  for (const covariance_type type : checks::all_types) {
    EXPECT_TRUE(is_plain(type, 511, 2)) << checks::name(type);
    EXPECT_FALSE(is_plain(type, 512, 2)) << checks::name(type);
    EXPECT_TRUE(is_plain(type, 512, 1)) << checks::name(type);
  }
}

TEST(UsualRoom, OfPredictionsIsThatForFewColumnsUpToSoManyNumbers) {
  predictor_shape shape;
  shape.layout = statistics_layout(covariance_type::diag, 16, 16);
  EXPECT_TRUE(is_usual(room_name::few_columns, shape));
  shape.layout = statistics_layout(covariance_type::diag, 17, 16);
  EXPECT_FALSE(is_usual(room_name::few_columns, shape));
}

}  // namespace
