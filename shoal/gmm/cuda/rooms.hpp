// The rooms of kernels, and the choice among them.
#pragma once

#include <algorithm>
#include <iterator>

namespace shoal::gmm {

/// What a room of kernels offers for a shape. A new room is one line in the tables of choose_accumulator.cpp and
/// choose_predictor.cpp.
template <class Shape, class Make>
struct kernel_room {
  bool (*suits)(const Shape&);  ///< whether the room takes the shape, and is the fastest that does but for those before
  Make* make;
};

/// What the first room that suits makes of a shape; the last one suits all.
template <class Rooms, class Shape, class... More>
auto make_in_first_room(const Rooms& rooms, const Shape& shape, More... more) {
  const auto found =
      std::find_if(std::begin(rooms), std::prev(std::end(rooms)), [&](const auto& room) { return room.suits(shape); });
  return found->make(shape, more...);
}

}  // namespace shoal::gmm
