// Products whose operands warps make in registers, while components lie near each other, and another room's kernels
// where they do not.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/precision.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/few_columns/lanes.hpp>
#include <shoal/gmm/cuda/few_columns/products_tuning.hpp>
#include <shoal/gmm/cuda/few_columns/warp_products.hpp>

namespace shoal::gmm::few_columns {
namespace {

warp_sizes sizes_of(const accumulator_shape& shape) {
  const unsigned tiles = warp_product_tiles(static_cast<unsigned>(shape.layout.components()));
  return {warp_circle_of(shape.layout.columns()), tiles, shape.precision != shoal::precision::float32 ? 1U : 2U};
}

const void* kernel_of(const accumulator_shape& shape) {
  return find_warp_product_kernel(shape.layout.columns(), shape.layout.components(), sizes_of(shape).terms);
}

std::size_t shared_bytes_of(const accumulator_shape& shape) {
  return warp_product_shared_bytes(sizes_of(shape), shape.layout.components(), shape.layout.size());
}

bool can_take(const accumulator_shape& shape) {
  return shape.layout.type() == covariance_type::full && !shape.weighted &&
         (suits_teams(shape) || suits<float>(shape)) && kernel_of(shape) != nullptr &&
         shared_bytes_of(shape) <= shape.shared_bytes;
}

// So many groups to a unit that the blocks, of which a multiprocessor has one, are done at the same time.
group_plan cut_share(const accumulator_shape& shape, std::size_t blocks, unsigned warps) {
  const std::size_t stage_rows = warps * warp_product_rows;
  return plan_groups(
      shape, [&](std::size_t rows) { return ceiling(rows, stage_rows); },
      [&](std::size_t rows, std::size_t all) {
        return static_cast<double>(ceiling(all, blocks)) *
               (static_cast<double>(ceiling(rows, stage_rows) * stage_rows) + warp_product_group_cost_rows);
      });
}

class warp_product_accumulator final : public accumulator<float> {
 public:
  warp_product_accumulator(const accumulator_shape& shape, std::unique_ptr<lanes_owner<float>> others)
      : others_(std::move(others)), others_stopped_(1), own_(make_own(shape)) {}

  bool keeps_shards_apart() const override { return others_->keeps_shards_apart(); }

  void clear(const prepared_parameters<float>& parameters, cudaStream_t stream) override {
    own_.clear(parameters, stream);
    others_->clear(parameters, stream);
  }

  void add(const cuda::device_piece<float>& piece, const prepared_parameters<float>& parameters,
           cudaStream_t stream) override {
    own_.add(piece, parameters, stream);
    prepared_parameters<float> what_is_left = parameters;
    what_is_left.stopped = others_stopped_.data();
    others_->add(piece, what_is_left, stream);
  }

  void merge(double* statistics, const prepared_parameters<float>& parameters, cudaStream_t stream) override {
    others_->merge(statistics, parameters, stream);
  }

  lane_array lanes() const override { return others_->lanes(); }

 private:
  using own_accumulator = lanes_accumulator<float, warp_product_arguments>;

  own_accumulator make_own(const accumulator_shape& shape) {
    const std::size_t blocks = std::min(others_->lane_count(), shape.multiprocessors);
    const unsigned warps = sizes_of(shape).warps();
    warp_product_arguments arguments;
    arguments.others_stopped = others_stopped_.data();
    return own_accumulator(shape, block_launch{kernel_of(shape), 32 * warps, blocks, shared_bytes_of(shape)},
                           cut_share(shape, blocks, warps), arguments, others_.get());
  }

  std::unique_ptr<lanes_owner<float>> others_;
  cuda::device_buffer<int> others_stopped_;
  own_accumulator own_;
};

}  // namespace

bool suits_warp_products(const accumulator_shape& shape) {
  return can_take(shape) && are_warp_products_faster(shape.share_rows, shape.layout.columns(),
                                                     shape.layout.components(), sizes_of(shape).terms);
}

std::unique_ptr<accumulator<float>> make_warp_product_accumulator(const accumulator_shape& shape) {
  if (can_take(shape)) {
    return std::make_unique<warp_product_accumulator>(
        shape, suits_teams(shape) ? make_teams(shape) : make_blocks<float>(shape));
  }
  throw bad_argument(fmt::format(
      "products whose operands warps make in registers take full covariances without weights, {} to {} "
      "columns and up to {} components, of more than 12 columns {}, not {} columns and {} components",
      least_warp_product_columns, most_warp_product_columns, most_warp_product_components(least_warp_product_columns),
      most_warp_product_components(most_warp_product_columns), shape.layout.columns(), shape.layout.components()));
}

}  // namespace shoal::gmm::few_columns
