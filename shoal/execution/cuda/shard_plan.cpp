#include <shoal/execution/cuda/shard_plan.hpp>

#include <algorithm>

namespace shoal::cuda {
namespace {

// Whether shards of so many rows are worth their sums.
bool large_enough(std::size_t rows, std::size_t row_bytes, const shard_rule& rule) {
  const std::size_t bytes = rows * row_bytes;
  return bytes >= rule.least_bytes && (rows >= rule.least_rows || bytes >= rule.ample_bytes);
}

std::size_t wanted_shards(std::size_t rows, std::size_t row_bytes, const shard_rule& rule) {
  if (rule.exactly != 0) return rule.exactly;
  std::size_t shards = 1;
  while (2 * shards <= rule.most && large_enough(rows / (2 * shards), row_bytes, rule)) shards *= 2;
  return shards;
}

}  // namespace

shard_plan::shard_plan(std::size_t rows, std::size_t row_bytes, const shard_rule& rule) : rows_(rows) {
  const std::size_t units = std::max<std::size_t>(1, (rows + piece_unit - 1) / piece_unit);
  const std::size_t wanted = std::min({wanted_shards(rows, row_bytes, rule), most_shards, units});
  const std::size_t shard_units = (units + wanted - 1) / wanted;
  shard_rows_ = shard_units * piece_unit;
  count_ = (units + shard_units - 1) / shard_units;
}

}  // namespace shoal::cuda
