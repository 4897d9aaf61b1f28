#include <shoal/execution/device_ranks.hpp>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal {

void check_ranks(const device_choice& choice, const communicator* ranks) {
  if (choice.on_host() || alone(ranks)) return;
  throw bad_argument(
      fmt::format("several ranks compute on their hosts; got {} ranks on {}: choose the device cpu, or "
                  "start one process with all GPUs of its machine (cuda:all)",
                  ranks->size(), device_name(choice)));
}

}  // namespace shoal
