// Small rows in as many shards as a test asks for, on one GPU, on many that share a device, or on several devices.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <shoal/estimation/cuda/device_data.hpp>
#include <shoal/execution/memory_communicator.hpp>
#include <shoal/io/row_source.hpp>

#include "cuda_devices.hpp"

namespace sharded_rows {

/// Where the shards are: devices may be named several times. `memory` is device_choice::memory.
struct placing {
  std::vector<int> devices = {0};
  std::size_t memory = 0;
};

inline std::string name(const placing& where) {
  return fmt::format("devices {}, {}", fmt::join(where.devices, ","), where.memory == 0 ? "resident" : "streamed");
}

/// All the ways in which rows of so many bytes, weight and all, are placed that must give the bits of one GPU: 1 to 8
/// GPUs on one device, and as many devices as the machine has of 2 and 4; resident, and streamed by pieces of a unit
/// (but for shares of two units or less).
inline std::vector<placing> placings(std::size_t row_bytes) {
  std::vector<std::vector<int>> groups{{0}, {0, 0}, {0, 0, 0}, std::vector<int>(8, 0)};
  for (const std::size_t count : {2, 4}) {
    if (cuda_devices::missing(count).empty()) groups.push_back(cuda_devices::first(count));
  }
  std::vector<placing> all;
  for (const std::vector<int>& devices : groups) {
    for (const std::size_t memory : {std::size_t{0}, 2 * shoal::cuda::piece_unit * row_bytes}) {
      all.push_back({devices, memory});
    }
  }
  return all;
}

/// Numbers of shards to test with: fewer than GPUs, as many, more, and not a multiple of them. Rows of 16 units can be
/// cut into all of them.
inline constexpr std::size_t counts[] = {2, 3, 8};

/// Rows, with weights unless they are empty, in the memory of the host.
template <class Scalar>
class held_rows {
 public:
  held_rows(shoal::matrix_view<const Scalar> rows, std::vector<Scalar> weights = {})
      : rows_(rows), weights_(std::move(weights)), weight_rows_({weights_.data(), weights_.size(), 1}) {}

  std::size_t row_bytes() const { return (rows_.columns() + 1) * sizeof(Scalar); }
  const shoal::row_source<Scalar>& rows() const { return rows_; }
  const shoal::row_source<Scalar>* weights() const { return weights_.empty() ? nullptr : &weight_rows_; }

  /// In `shards` shards.
  std::shared_ptr<shoal::device_data<Scalar>> on(const placing& where, std::size_t shards) const {
    return on(where, shards, {workers_.get(), 0, {}});
  }
  std::shared_ptr<shoal::device_data<Scalar>> on(const placing& where, std::size_t shards,
                                                 const shoal::fold_context& context) const {
    shoal::cuda::shard_rule rule;
    rule.exactly = shards;
    shoal::device_choice device;
    device.cuda = where.devices;
    device.memory = where.memory;
    auto made = std::make_shared<shoal::device_data<Scalar>>(context, device, rows(), weights(), true, &rule);
    EXPECT_EQ(made->rows().shards().count(), shards);
    EXPECT_EQ(made->rows().group().size(), std::min(where.devices.size(), shards));
    EXPECT_TRUE(where.memory != 0 || made->rows().resident());
    return made;
  }

 private:
  std::unique_ptr<shoal::executor> workers_ = shoal::make_threads(2);
  shoal::view_source<Scalar> rows_;
  std::vector<Scalar> weights_;
  shoal::view_source<Scalar> weight_rows_;
};

/// Ranks that share the first device, with their shards: fewer than shards, more, and all with the same one.
struct rank_counts {
  std::size_t ranks;
  std::size_t shards;
};
inline constexpr rank_counts on_ranks[] = {{2, 8}, {3, 8}, {2, 2}, {3, 2}, {2, 1}};

/// Calls work(data, control) on so many ranks, with rows that are resident on some of them and streamed on others.
template <class Scalar, class Work>
void run_on_ranks(const held_rows<Scalar>& held, const rank_counts& counts, const Work& work) {
  shoal::run_ranks(counts.ranks, [&](shoal::communicator& own) {
    const auto workers = shoal::make_threads(2);
    placing where;
    if (own.rank() % 2 == 1) where.memory = 2 * shoal::cuda::piece_unit * held.row_bytes();
    shoal::control control;
    control.ranks = &own;
    work(held.on(where, counts.shards, shoal::context_of(*workers, 0, control)), control);
  });
}

/// Weights of different sizes, some of them zero.
template <class Scalar>
std::vector<Scalar> uneven_weights(std::size_t rows) {
  std::vector<Scalar> weights(rows);
  for (std::size_t i = 0; i < rows; ++i) weights[i] = static_cast<Scalar>(i % 5 == 0 ? 0.0 : 0.25 + i % 7);
  return weights;
}

}  // namespace sharded_rows
