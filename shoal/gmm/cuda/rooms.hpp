// The rooms of kernels, and the choice among them.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include <shoal/gmm/cuda/room_name.hpp>

namespace shoal::gmm {

/// What a room of kernels offers for a shape. A new room is one line in the tables of choose_accumulator.cpp and
/// choose_predictor.cpp, and a name, in whose order they stand.
template <class Shape, class Make>
struct kernel_room {
  room_name name;
  bool (*suits)(const Shape&);  ///< whether the room's kernels can do the shape
  Make* make;
};

/// What is known of a room for a shape.
struct room_candidate {
  bool suits = false;
  bool usual = false;                  ///< whether thresholds name it (usual_room.hpp)
  std::optional<double> milliseconds;  ///< expected; nothing where the like has not been timed
};

/// Differences below this are none: estimates err by more, and equal rooms should not take turns as shapes grow.
inline constexpr double least_gain = 1.03;
/// How many times as fast a room is to be that takes the place of the usual one, which was measured for the like: none
/// of the timed cells is then slower by more than an eighth than in its usual room; with least_gain some are by a
/// quarter.
inline constexpr double least_usual_gain = 1.2;

/// The place of the room to take, of candidates in the order of room_name, the last of which suits all. That is the
/// first usual one unless times are known of it and of all rooms before it that suit: then it is the cheapest one that
/// times are known of, if that is so much faster.
std::size_t choose_room(std::span<const room_candidate> rooms);

/// Makes what the chosen room offers; candidate(name) says what is known of a room that suits.
template <class Rooms, class Shape, class Candidate, class... More>
auto make_in_cheapest_room(const Rooms& rooms, const Shape& shape, const Candidate& candidate, More... more) {
  std::vector<room_candidate> candidates;
  for (const auto& room : rooms) candidates.push_back(room.suits(shape) ? candidate(room.name) : room_candidate{});
  return std::data(rooms)[choose_room(candidates)].make(shape, more...);
}

}  // namespace shoal::gmm
