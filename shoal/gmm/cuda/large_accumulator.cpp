#include <shoal/gmm/cuda/large_accumulator.hpp>

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/large_kernels.hpp>
#include <shoal/gmm/cuda/large_tuning.hpp>

namespace shoal::gmm {
namespace {

// Elements of a chunk are counted in 32 bits.
constexpr std::size_t most_chunk_rows = std::size_t{1} << 22;

constexpr std::size_t up_to(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

large::moments_plan plan_of(const statistics_layout& layout) {
  const int groups = large::compiled_groups(layout.columns());
  const int components = static_cast<int>(layout.components());
  return large::team_warps(groups) == 1 ? large::plan_moments_warp(groups, components)
                                        : large::plan_moments_team(groups, components);
}

class large_accumulator final : public device_accumulator<float> {
 public:
  explicit large_accumulator(const accumulator_shape& shape) : layout_(shape.layout) {
    const std::size_t components = layout_.components();
    problem_.columns = static_cast<int>(layout_.columns());
    problem_.components = static_cast<int>(components);
    problem_.groups = large::compiled_groups(layout_.columns());
    problem_.width = large::vector_width(problem_.groups, layout_.columns());
    problem_.products = shape.precision == precision::float32 ? 3 : 1;
    problem_.tied = layout_.type() == covariance_type::tied;
    const int groups = problem_.groups;
    const auto sums = static_cast<std::size_t>(large::sums_size(groups));

    const std::size_t share = up_to(std::max<std::size_t>(shape.share_rows, 1), cuda::piece_unit);
    problem_.chunk_rows = std::min(
        {share, std::max(large::chunk_terms / components / cuda::piece_unit, std::size_t{1}) * cuda::piece_unit,
         most_chunk_rows});
    // As many lanes as fill the processors once, but for small shares and large statistics.
    const large::moments_plan plan = plan_of(layout_);
    const std::size_t groups_of_components = (components + static_cast<std::size_t>(plan.block_components) - 1) /
                                             static_cast<std::size_t>(plan.block_components);
    const std::size_t blocks = shape.multiprocessors * static_cast<std::size_t>(plan.blocks);
    const std::size_t sections = share / large::section_rows;
    const std::size_t by_memory =
        std::max<std::size_t>(1, large::most_lane_bytes / (2 * components * sums * sizeof(double)));
    problem_.lanes =
        static_cast<int>(std::min({std::max<std::size_t>(1, blocks / groups_of_components), sections, by_memory}));

    const std::size_t places = components * static_cast<std::size_t>(large::group_columns * groups);
    const std::size_t words = problem_.chunk_rows / large::word_rows;
    const auto take = [](auto& buffer, std::size_t size) {
      buffer.grow(size);
      return buffer.data();
    };
    problem_.exponents = take(exponents_, components * layout_.columns());
    problem_.peaks = take(peaks_, components);
    problem_.frame = take(frame_, static_cast<std::size_t>(16 * large::steps_of(groups)));
    problem_.apart = take(apart_, 1);
    problem_.records = take(records_, components * static_cast<std::size_t>(large::record_size(groups)));
    // Records are copied whole, with the padding that packing never writes.
    records_.fill_with_zeros();
    problem_.moment_scales = take(moment_scales_, places);
    problem_.coarse = take(coarse_, 1);
    problem_.terms = take(terms_, components * problem_.chunk_rows);
    problem_.shifts = take(shifts_, problem_.chunk_rows);
    problem_.far_masks = take(far_masks_, words);
    problem_.word_sums = take(word_sums_, words);
    problem_.scratch = take(scratch_, static_cast<std::size_t>(large::far_warps) * components);
    problem_.sums = take(sums_, 2 * static_cast<std::size_t>(problem_.lanes) * components * sums);
    problem_.any_far = take(any_far_, 1);
    problem_.likelihood = take(likelihood_, static_cast<std::size_t>(large::likelihood_lanes) * large::likelihood_sums);
  }

  void clear(const device_parameters<float>& parameters, cudaStream_t stream) override {
    sums_.fill_with_zeros(stream);
    likelihood_.fill_with_zeros(stream);
    any_far_.fill_with_zeros(stream);
    large::pack_mixture(with(parameters), stream);
  }

  void add(const cuda::device_piece<float>& piece, const device_parameters<float>& parameters,
           cudaStream_t stream) override {
    if (piece.share_first % cuda::piece_unit != 0 || reinterpret_cast<std::uintptr_t>(piece.rows) % 16 != 0) {
      throw bad_argument(
          fmt::format("a piece begins at row {} of its share, which is not a multiple of {}, or is not "
                      "aligned to 16 bytes",
                      piece.share_first, cuda::piece_unit));
    }
    const large::problem mixture = with(parameters);
    for (std::size_t first = 0; first < piece.count; first += problem_.chunk_rows) {
      large::chunk rows;
      rows.rows = piece.rows + first * layout_.columns();
      rows.weights = piece.weights == nullptr ? nullptr : piece.weights + first;
      rows.share_first = piece.share_first + first;
      rows.count = static_cast<int>(std::min(problem_.chunk_rows, piece.count - first));
      large::expectation(mixture, rows, stream);
      if (large::team_warps(problem_.groups) == 1) {
        large::moments_warp(mixture, rows, stream);
      } else {
        large::moments_team(mixture, rows, stream);
      }
      large::far_rows(mixture, rows, stream);
      large::add_likelihood(mixture, rows, stream);
    }
  }

  void merge(double* statistics, const device_parameters<float>& parameters, cudaStream_t stream) override {
    large::merged_layout to;
    to.header = layout_.component(0);
    to.component_size = layout_.component(1) - layout_.component(0);
    to.shared = layout_.shared();
    large::merge_lanes(with(parameters), to, statistics, stream);
  }

 private:
  large::problem with(const device_parameters<float>& parameters) const {
    large::problem result = problem_;
    result.centres = parameters.packed.centres;
    result.offsets = parameters.packed.offsets;
    result.factors = parameters.packed.factors;
    result.log_constants = parameters.packed.log_constants;
    result.log_shift = parameters.packed.log_shift;
    result.double_centres = parameters.in_double.centres;
    result.double_offsets = parameters.in_double.offsets;
    result.double_factors = parameters.in_double.factors;
    result.double_log_constants = parameters.in_double.log_constants;
    result.double_log_shift = parameters.in_double.log_shift;
    result.stopped = parameters.stopped;
    return result;
  }

  statistics_layout layout_;
  large::problem problem_;
  cuda::device_buffer<int> exponents_, peaks_, apart_;
  cuda::device_buffer<float2> frame_;
  cuda::device_buffer<uint4> records_;
  cuda::device_buffer<float2> moment_scales_;
  cuda::device_buffer<int> coarse_;
  cuda::device_buffer<float> terms_;
  cuda::device_buffer<float2> shifts_;
  cuda::device_buffer<unsigned> far_masks_;
  cuda::device_buffer<double2> word_sums_;
  cuda::device_buffer<double> scratch_;
  cuda::device_buffer<double> sums_;
  cuda::device_buffer<double> likelihood_;
  cuda::device_buffer<int> any_far_;
};

}  // namespace

bool takes_large_accumulator(const accumulator_shape& shape) {
  return shape.layout.has_matrices() && shape.layout.columns() > 8 && shape.layout.columns() <= large::most_columns &&
         shape.shared_bytes >= plan_of(shape.layout).shared_bytes;
}

std::unique_ptr<device_accumulator<float>> make_large_accumulator(const accumulator_shape& shape) {
  if (!takes_large_accumulator(shape)) {
    throw bad_argument(fmt::format(
        "the kernels for many columns take full and tied covariances of 9 to {} columns on a GPU with enough shared "
        "memory for a block; this mixture has {} columns, and a block may have {} bytes",
        large::most_columns, shape.layout.columns(), shape.shared_bytes));
  }
  return std::make_unique<large_accumulator>(shape);
}

}  // namespace shoal::gmm
