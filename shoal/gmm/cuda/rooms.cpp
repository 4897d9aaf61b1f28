#include <shoal/gmm/cuda/rooms.hpp>

#include <algorithm>
#include <iterator>
#include <limits>

namespace shoal::gmm {

std::size_t choose_room(std::span<const room_candidate> rooms) {
  const auto takes = [](const room_candidate& room) { return room.suits && room.usual; };
  const auto usual = std::find_if(rooms.begin(), std::prev(rooms.end()), takes);
  const auto is_unknown = [](const room_candidate& room) { return room.suits && !room.milliseconds; };
  if (std::any_of(rooms.begin(), std::next(usual), is_unknown)) {
    return static_cast<std::size_t>(usual - rooms.begin());
  }
  double least = std::numeric_limits<double>::infinity();
  for (const room_candidate& room : rooms) {
    if (room.suits && room.milliseconds) least = std::min(least, *room.milliseconds);
  }
  if (*usual->milliseconds <= least_usual_gain * least) return static_cast<std::size_t>(usual - rooms.begin());
  const auto chosen = std::find_if(rooms.begin(), rooms.end(), [&](const room_candidate& room) {
    return room.suits && room.milliseconds && *room.milliseconds <= least_gain * least;
  });
  return static_cast<std::size_t>(chosen - rooms.begin());
}

}  // namespace shoal::gmm
