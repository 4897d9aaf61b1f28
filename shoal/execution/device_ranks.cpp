#include <shoal/execution/device_ranks.hpp>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/shard_plan.hpp>

namespace shoal {

void check_ranks(const device_choice& choice, const communicator* ranks) {
  if (choice.on_host() || alone(ranks)) return;
  if (ranks->led()) {
    throw bad_argument(
        fmt::format("a rank that only leads the others steps on its host, and they are to compute on {}, whose steps "
                    "have other bits: choose the device cpu",
                    device_name(choice)));
  }
  if (choice.cuda.size() == 1) return;
  throw bad_argument(fmt::format(
      "each of several ranks computes on one GPU; got {} ranks on {}: choose the device cuda:local, or start one "
      "process with all GPUs of its machine (cuda:all)",
      ranks->size(), device_name(choice)));
}

void check_rank_devices(communicator& ranks, const rank_device& own, bool may_share) {
  const std::string text = own.name + '\n' + own.uuid + '\n';
  const std::vector<char> all = gathered(&ranks, std::vector<char>(text.begin(), text.end()));
  std::vector<rank_device> devices(ranks.size());
  auto at = all.begin();
  for (rank_device& each : devices) {
    for (std::string* part : {&each.name, &each.uuid}) {
      const auto end = std::find(at, all.end(), '\n');
      part->assign(at, end);
      at = end == all.end() ? end : end + 1;
    }
  }
  for (std::size_t rank = 1; rank < devices.size(); ++rank) {
    if (devices[rank].name != devices[0].name) {
      throw bad_argument(
          fmt::format("ranks compute on GPUs of one kind, since bits depend on it; rank 0 has '{}' and rank {} '{}'",
                      devices[0].name, rank, devices[rank].name));
    }
    for (std::size_t other = 0; other < rank && !may_share; ++other) {
      if (devices[other].uuid != devices[rank].uuid) continue;
      throw bad_argument(fmt::format(
          "ranks {} and {} have chosen the same GPU ({}, {}): start as many ranks on a host as it has GPUs, and choose "
          "the device cuda:local",
          other, rank, devices[rank].name, devices[rank].uuid));
    }
  }
}

row_range device_rows_of_rank(const communicator* ranks, std::size_t rows, std::size_t row_bytes) {
  if (alone(ranks)) return {0, rows};
  const cuda::shard_plan shards(rows, row_bytes);
  const auto row = [&](std::size_t rank) {
    return std::min(rows, shards.first_row(shards.first_shard(rank, ranks->size())));
  };
  return {row(ranks->rank()), row(ranks->rank() + 1)};
}

}  // namespace shoal
