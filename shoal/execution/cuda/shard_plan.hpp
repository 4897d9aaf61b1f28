// How rows are cut into shards, which GPUs own whole: the cut that sums on GPUs follow.
#pragma once

#include <algorithm>
#include <cstddef>

namespace shoal::cuda {

/// Every cut between shards and pieces falls on a multiple of so many rows, and kernels sum tiles of rows that divide
/// it: no cut changes which rows are summed together.
inline constexpr std::size_t piece_unit = 4096;

/// Most shards of any rows.
inline constexpr std::size_t most_shards = 16;

/// From when on rows are cut. A shard's sums cost a GPU 10 to 30 µs beside its rows: small shards would show on one
/// GPU, and few on many.
struct shard_rule {
  std::size_t least_bytes = std::size_t{256} << 20;  ///< of a shard
  std::size_t least_rows = std::size_t{1} << 20;     ///< of a shard of fewer than ample_bytes
  std::size_t ample_bytes = std::size_t{2} << 30;
  std::size_t most = 8;     ///< one for each GPU of the usual large machine
  std::size_t exactly = 0;  ///< for tests: so many, as far as there are units of rows; 0: by the rest of the rule
};

/// The cut of rows into shards of equal size, of which only the last may be smaller. It depends on the shape of the
/// rows alone: a power of two, 1 for all but large data.
class shard_plan {
 public:
  shard_plan(std::size_t rows, std::size_t row_bytes, const shard_rule& rule = {});

  /// At least 1.
  std::size_t count() const { return count_; }
  /// Rows of every shard but the last, which may have fewer.
  std::size_t shard_rows() const { return shard_rows_; }
  std::size_t first_row(std::size_t shard) const { return shard * shard_rows_; }
  std::size_t rows_of(std::size_t shard) const { return shard + 1 == count_ ? rows_ - first_row(shard) : shard_rows_; }
  std::size_t shard_of(std::size_t row) const { return row / shard_rows_; }

  /// GPU g of `gpus` owns the shards [first_shard(g, gpus), first_shard(g + 1, gpus)). The first ones own one more
  /// where they cannot be dealt evenly, and GPUs beyond the number of shards own none.
  std::size_t first_shard(std::size_t gpu, std::size_t gpus) const {
    const std::size_t owners = std::min(gpus, count_);
    return gpu >= owners ? count_ : (gpu * count_ + owners - 1) / owners;
  }

 private:
  std::size_t rows_;
  std::size_t shard_rows_;
  std::size_t count_;
};

}  // namespace shoal::cuda
