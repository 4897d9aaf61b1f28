#include <shoal/estimation/shared_place.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace shoal {

std::optional<checkpoint> shared_place(communicator* ranks, std::optional<checkpoint> found) {
  if (alone(ranks)) return found;
  const auto shared = [&](auto& values) { values = shared_from(ranks, 0, std::move(values)); };
  std::vector<std::uint64_t> marks;
  if (found) marks = {found->restart, found->finished, found->best.has_value(), found->best && found->best->converged};
  shared(marks);
  if (marks.empty()) return std::nullopt;
  if (!found) found.emplace();
  found->restart = marks[0];
  found->finished = marks[1] != 0;
  shared(found->objectives);
  shared(found->changes);
  shared(found->state);
  if (marks[2] == 0) return found;
  if (!found->best) found->best.emplace();
  found->best->converged = marks[3] != 0;
  std::vector<double> score{found->best->score};
  shared(score);
  found->best->score = score.at(0);
  shared(found->best->history);
  shared(found->best->state);
  return found;
}

}  // namespace shoal
