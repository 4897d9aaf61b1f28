// Products of float64 rows of few columns while components lie near each other, and another room's kernels where they
// do not.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/few_columns/float64_products.hpp>
#include <shoal/gmm/cuda/few_columns/float64_products_tuning.hpp>
#include <shoal/gmm/cuda/few_columns/lanes.hpp>

namespace shoal::gmm::few_columns {
namespace {

// How a shape is worked on. All of it depends on the shape alone, for the bits do.
struct float64_plan {
  const void* function = nullptr;
  float64_sizes sizes{};
  unsigned parts = 1, cluster = 1;
  std::size_t shared_bytes = 0;
  group_plan groups;
  std::size_t lanes = 0;
};

// Kernels know full covariances, tied ones among them, and vectors.
covariance_type kernel_type(const statistics_layout& layout) {
  return layout.has_matrices() ? covariance_type::full : covariance_type::diag;
}

const void* find_kernel(const statistics_layout& layout, unsigned tiles) {
  if (layout.columns() < 1) return nullptr;
  return layout.has_matrices() ? find_full_float64_kernel(layout.columns(), tiles)
                               : find_diagonal_float64_kernel(layout.columns(), tiles);
}

// Blocks, or clusters of blocks, that a GPU runs at once.
std::size_t places_of(const accumulator_shape& shape, unsigned cluster) {
  const double share = cluster > 2 ? share_of_clusters : 1;
  return std::max<std::size_t>(1,
                               static_cast<std::size_t>(share * static_cast<double>(shape.multiprocessors)) / cluster);
}

bool has_clusters() {
  int device = 0, clusters = 0;
  cuda::check(cudaGetDevice(&device), "name the current device");
  cuda::check(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device), "say whether it has clusters");
  return clusters != 0;
}

// So many tiles for each warp that the fewest are empty, with as few warps that share rows, and blocks where one has
// not warps enough.
float64_plan cut_components(const accumulator_shape& shape) {
  const statistics_layout& layout = shape.layout;
  const std::size_t wanted = ceiling(layout.components(), float64_tile);
  float64_plan best;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned tiles = 1; tiles <= most_float64_tiles; ++tiles) {
    float64_plan plan;
    plan.function = find_kernel(layout, tiles);
    if (plan.function == nullptr) continue;
    const covariance_type type = kernel_type(layout);
    plan.sizes = {type, padded_float64_columns(type, static_cast<unsigned>(layout.columns())), tiles};
    const unsigned warps = plan.sizes.warps();
    while (std::size_t{plan.parts} * plan.cluster * tiles < wanted) {
      (warps % (2 * plan.parts) == 0 ? plan.parts : plan.cluster) *= 2;
    }
    if (plan.cluster > 1 && (plan.parts != warps || plan.cluster > most_float64_cluster || !has_clusters())) continue;
    plan.shared_bytes = float64_places(plan.sizes, plan.parts, plan.cluster).size * sizeof(double);
    if (plan.shared_bytes > shape.shared_bytes) continue;
    const double taken = plan.parts * (tiles + float64_tile_cost) * static_cast<double>(shape.multiprocessors) /
                         static_cast<double>(places_of(shape, plan.cluster));
    if (taken >= least) continue;
    least = taken;
    best = plan;
  }
  return best;
}

std::optional<float64_plan> make_plan(const accumulator_shape& shape) {
  float64_plan plan = cut_components(shape);
  if (plan.function == nullptr) return std::nullopt;
  const std::size_t places = places_of(shape, plan.cluster);
  const std::size_t turn = float64_stage_rows * (plan.sizes.warps() / plan.parts);
  plan.groups = plan_groups(
      shape, [](std::size_t) { return std::size_t{1}; },  // float64 sums need no end
      [&](std::size_t rows, std::size_t all) {
        return static_cast<double>(ceiling(all, places)) *
               (static_cast<double>(ceiling(rows, turn) * turn) + float64_group_cost_rows);
      });
  plan.lanes = std::min(places, std::max<std::size_t>(1, plan.groups.groups));
  return plan;
}

block_launch launch_of(const float64_plan& plan, const accumulator_shape& shape) {
  const std::size_t kept = std::size_t{plan.sizes.kept()} * plan.sizes.threads() * plan.cluster;
  return {.function = plan.function,
          .threads = plan.sizes.threads(),
          .lanes = plan.lanes,
          .shared_bytes = plan.shared_bytes,
          .states = ceiling(kept, shape.layout.size()),
          .cluster = plan.cluster};
}

// With a kernel that packs the mixture for all blocks, and lanes beside the others'.
class float64_product_accumulator final : public accumulator<double> {
 public:
  float64_product_accumulator(const accumulator_shape& shape, const float64_plan& plan,
                              std::unique_ptr<accumulator<double>> other)
      : other_(std::move(other)),
        type_(shape.layout.type()),
        columns_(static_cast<unsigned>(shape.layout.columns())),
        components_(static_cast<unsigned>(shape.layout.components())),
        tiles_(plan.parts * plan.cluster * plan.sizes.tiles),
        coefficients_(std::size_t{tiles_} * plan.sizes.quads() * 64),
        constants_(std::size_t{tiles_} * float64_tile),
        frame_(2 * most_columns),
        apart_(tiles_ * float64_tile / float64_pack_components),
        stopped_(2),
        own_(shape, launch_of(plan, shape), plan.groups, arguments_of(plan)) {
    // Where no rows were added both write zeros.
    stopped_.fill_with_zeros();
  }

  bool keeps_shards_apart() const override { return other_->keeps_shards_apart(); }

  void clear(const prepared_parameters<double>& parameters, cudaStream_t stream) override {
    const unsigned stride = type_ == covariance_type::full ? columns_ * columns_ : 0;
    pack_float64(parameters, type_, columns_, components_, stride, tiles_, mixture(), stream);
    own_.clear(parameters, stream);
    other_->clear(unless(1, parameters), stream);
  }

  void add(const cuda::device_piece<double>& piece, const prepared_parameters<double>& parameters,
           cudaStream_t stream) override {
    own_.add(piece, parameters, stream);
    other_->add(piece, unless(1, parameters), stream);
  }

  void merge(double* statistics, const prepared_parameters<double>& parameters, cudaStream_t stream) override {
    own_.merge(statistics, unless(0, parameters), stream);
    other_->merge(statistics, unless(1, parameters), stream);
  }

 private:
  float64_mixture mixture() {
    return {coefficients_.data(), constants_.data(), frame_.data(),      frame_.data() + most_columns,
            apart_.data(),        stopped_.data(),   stopped_.data() + 1};
  }
  prepared_parameters<double> unless(int which, prepared_parameters<double> parameters) const {
    parameters.stopped = stopped_.data() + which;
    return parameters;
  }
  float64_product_arguments arguments_of(const float64_plan& plan) {
    float64_product_arguments arguments;
    arguments.columns = columns_;
    arguments.parts = plan.parts;
    arguments.cluster = plan.cluster;
    arguments.pack_blocks = tiles_ * float64_tile / float64_pack_components;
    arguments.mixture = mixture();
    return arguments;
  }

  std::unique_ptr<accumulator<double>> other_;
  covariance_type type_;
  unsigned columns_;
  unsigned components_;
  unsigned tiles_;
  cuda::device_buffer<double> coefficients_;
  cuda::device_buffer<double> constants_;
  cuda::device_buffer<double> frame_;
  cuda::device_buffer<int> apart_;
  cuda::device_buffer<int> stopped_;
  lanes_accumulator<double, float64_product_arguments> own_;
};

// A block packs the mixture by itself and fills the others' lanes, so that a step has no further launch but theirs.
class small_float64_accumulator final : public accumulator<double> {
 public:
  small_float64_accumulator(const accumulator_shape& shape, float64_plan plan,
                            std::unique_ptr<lanes_owner<double>> others)
      : others_(std::move(others)), others_stopped_(1), own_(make_own(shape, plan)) {
    others_stopped_.fill_with_zeros();
  }

  bool keeps_shards_apart() const override { return others_->keeps_shards_apart(); }

  void clear(const prepared_parameters<double>& parameters, cudaStream_t stream) override {
    own_.clear(parameters, stream);
    others_->clear(parameters, stream);
  }

  void add(const cuda::device_piece<double>& piece, const prepared_parameters<double>& parameters,
           cudaStream_t stream) override {
    own_.add(piece, parameters, stream);
    prepared_parameters<double> what_is_left = parameters;
    what_is_left.stopped = others_stopped_.data();
    others_->add(piece, what_is_left, stream);
  }

  void merge(double* statistics, const prepared_parameters<double>& parameters, cudaStream_t stream) override {
    others_->merge(statistics, parameters, stream);
  }

  lane_array lanes() const override { return others_->lanes(); }

 private:
  using own_accumulator = lanes_accumulator<double, float64_product_arguments>;

  own_accumulator make_own(const accumulator_shape& shape, float64_plan plan) {
    plan.lanes = std::min(plan.lanes, others_->lane_count());
    float64_product_arguments arguments;
    arguments.columns = static_cast<unsigned>(shape.layout.columns());
    arguments.parts = plan.parts;
    arguments.mixture.other_stopped = others_stopped_.data();
    return own_accumulator(shape, launch_of(plan, shape), plan.groups, arguments, others_.get());
  }

  std::unique_ptr<lanes_owner<double>> others_;
  cuda::device_buffer<int> others_stopped_;
  own_accumulator own_;
};

}  // namespace

bool suits_float64_products(const accumulator_shape& shape) { return make_plan(shape).has_value(); }

bool takes_float64_products(const accumulator_shape& shape) {
  const statistics_layout& layout = shape.layout;
  return are_float64_products_faster(layout.type(), shape.share_rows, layout.columns(), layout.components()) &&
         suits_float64_products(shape);
}

bool takes_small_float64_products(const accumulator_shape& shape) {
  return shape.layout.components() <= most_small_float64_components && takes_float64_products(shape) &&
         suits<double>(shape);
}

std::unique_ptr<accumulator<double>> make_small_float64_accumulator(const accumulator_shape& shape) {
  std::unique_ptr<lanes_owner<double>> others = make_blocks<double>(shape);
  if (const std::optional<float64_plan> plan = make_plan(shape)) {
    return std::make_unique<small_float64_accumulator>(shape, *plan, std::move(others));
  }
  throw bad_argument(fmt::format("products of few float64 rows do not take {} columns and {} components",
                                 shape.layout.columns(), shape.layout.components()));
}

std::unique_ptr<accumulator<double>> make_float64_product_accumulator(const accumulator_shape& shape,
                                                                      std::unique_ptr<accumulator<double>> other) {
  if (const std::optional<float64_plan> plan = make_plan(shape)) {
    return std::make_unique<float64_product_accumulator>(shape, *plan, std::move(other));
  }
  throw bad_argument(
      fmt::format("products of float64 rows take full and tied covariances of 1 to {} columns, diagonal and spherical "
                  "ones of 1 to {}, "
                  "and as many components as a block's warps have registers for, not {} columns and {} components",
                  most_float64_full_columns, most_columns, shape.layout.columns(), shape.layout.components()));
}

}  // namespace shoal::gmm::few_columns
