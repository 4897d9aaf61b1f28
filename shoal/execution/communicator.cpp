#include <shoal/execution/communicator.hpp>

#include <fmt/format.h>

namespace shoal {

void require_one_rank(const communicator* ranks, const std::string& what, const std::string& instead) {
  if (alone(ranks)) return;
  throw bad_argument(fmt::format("{} runs on one rank, because its steps are no fold of the rows; got {} ranks: {}",
                                 what, ranks->size(), instead));
}

}  // namespace shoal
