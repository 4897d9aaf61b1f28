#include <shoal/gmm/cuda/large_diagonal_accumulator.hpp>

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/large_diagonal_kernels.hpp>
#include <shoal/gmm/cuda/large_tuning.hpp>

namespace shoal::gmm {
namespace {

using namespace large_diagonal;

// Elements of a chunk are counted in 32 bits.
constexpr std::size_t most_chunk_rows = std::size_t{1} << 20;
constexpr std::size_t least_section_rows = 512;

constexpr std::size_t up_to(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

// Whether the current GPU multiplies by four warps at a time; on others no frame is used.
bool has_products() {
  int device = 0, major = 0;
  cuda::check(cudaGetDevice(&device), "name the device");
  cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "describe the device");
  return major == 9;
}

class large_diagonal_accumulator final : public device_accumulator<float> {
 public:
  explicit large_diagonal_accumulator(const accumulator_shape& shape)
      : layout_(shape.layout), has_products_(has_products()) {
    const std::size_t columns = layout_.columns();
    const std::size_t tiles = up_to(layout_.components(), tile_components) / tile_components;
    const std::size_t padded = tiles * tile_components;
    problem_.columns = static_cast<int>(columns);
    problem_.components = static_cast<int>(layout_.components());
    problem_.tiles = static_cast<int>(tiles);
    problem_.steps = compiled_steps(problem_.columns);
    problem_.width = padded_width(problem_.columns);
    problem_.products = shape.precision == precision::float32 ? 3 : 1;
    problem_.spherical = layout_.type() == covariance_type::spherical;
    problem_.features = problem_.spherical ? 1 : 2;

    const std::size_t share = up_to(std::max<std::size_t>(shape.share_rows, 1), cuda::piece_unit);
    problem_.chunk_rows =
        std::min({share, std::max(large::chunk_terms / padded / cuda::piece_unit, std::size_t{1}) * cuda::piece_unit,
                  most_chunk_rows});
    // As many lanes as fill the processors once, and sections as long as leave each lane some of a chunk.
    const std::size_t parts = tiles * static_cast<std::size_t>(problem_.features);
    const auto sums = static_cast<std::size_t>(sums_size(problem_.features, problem_.width));
    const std::size_t lane_bytes = padded * sums * sizeof(double);
    const std::size_t lanes =
        std::min({std::max<std::size_t>(1, shape.multiprocessors / parts), problem_.chunk_rows / least_section_rows,
                  std::max<std::size_t>(1, large::most_lane_bytes / lane_bytes)});
    std::size_t section = cuda::piece_unit;
    while (section > least_section_rows && problem_.chunk_rows / section < lanes) section /= 2;
    problem_.lanes = static_cast<int>(lanes);
    problem_.section_rows = static_cast<int>(section);

    const auto take = [](auto& buffer, std::size_t size) {
      buffer.grow(size);
      return buffer.data();
    };
    const auto terms = static_cast<std::size_t>(split_terms(problem_.products));
    const auto features = static_cast<std::size_t>(problem_.features);
    const auto steps = static_cast<std::size_t>(problem_.steps);
    problem_.frame = take(frame_, steps * step_size);
    problem_.mean_curve = take(mean_curve_, steps * step_size);
    problem_.arrangement = take(arrangement_, 1);
    problem_.operands = take(operands_, tiles * features * terms * steps * operand_size);
    problem_.constants = take(constants_, padded);
    problem_.own_constants = take(own_constants_, padded);
    problem_.norm_factors = take(norm_factors_, problem_.spherical ? padded : 1);
    problem_.terms = take(terms_, padded * problem_.chunk_rows);
    problem_.shifts = take(shifts_, problem_.chunk_rows);
    problem_.norms = take(norms_, problem_.spherical ? problem_.chunk_rows : 1);
    problem_.exponents = take(exponents_, problem_.chunk_rows / tile_rows);
    problem_.columns_by_rows =
        take(columns_by_rows_, features * terms * problem_.chunk_rows * static_cast<std::size_t>(problem_.width));
    problem_.far_masks = take(far_masks_, problem_.chunk_rows / 32);
    problem_.tile_sums = take(tile_sums_, problem_.chunk_rows / tile_rows);
    problem_.scratch = take(scratch_, far_warps * layout_.components());
    problem_.sums = take(sums_, lanes * padded * sums);
    problem_.own_sums = take(own_sums_, lanes * layout_.components() * (1 + 2 * columns));
    problem_.any_far = take(any_far_, 1);
    problem_.likelihood = take(likelihood_, static_cast<std::size_t>(likelihood_lanes * likelihood_sums));
  }

  void clear(const device_parameters<float>& parameters, cudaStream_t stream) override {
    sums_.fill_with_zeros(stream);
    own_sums_.fill_with_zeros(stream);
    likelihood_.fill_with_zeros(stream);
    any_far_.fill_with_zeros(stream);
    pack_mixture(with(parameters), stream);
  }

  void add(const cuda::device_piece<float>& piece, const device_parameters<float>& parameters,
           cudaStream_t stream) override {
    if (piece.share_first % cuda::piece_unit != 0 || reinterpret_cast<std::uintptr_t>(piece.rows) % 16 != 0) {
      throw bad_argument(
          fmt::format("a piece begins at row {} of its share, which is not a multiple of {}, or is not "
                      "aligned to 16 bytes",
                      piece.share_first, cuda::piece_unit));
    }
    const problem mixture = with(parameters);
    for (std::size_t first = 0; first < piece.count; first += problem_.chunk_rows) {
      chunk rows;
      rows.rows = piece.rows + first * layout_.columns();
      rows.weights = piece.weights == nullptr ? nullptr : piece.weights + first;
      rows.share_first = piece.share_first + first;
      rows.count = static_cast<int>(std::min(problem_.chunk_rows, piece.count - first));
      // Which of them work depends on the mixture.
      if (has_products_) {
        expectation(mixture, rows, stream);
        refine(mixture, rows, stream);
        moments(mixture, rows, stream);
      }
      expectation_apart(mixture, rows, stream);
      far_rows(mixture, rows, stream);
      add_likelihood(mixture, rows, stream);
    }
  }

  void merge(double* statistics, const device_parameters<float>& parameters, cudaStream_t stream) override {
    merge_lanes(with(parameters), layout_.component(0), statistics, stream);
  }

 private:
  problem with(const device_parameters<float>& parameters) const {
    problem result = problem_;
    result.centres = parameters.packed.centres;
    result.offsets = parameters.packed.offsets;
    result.factors = parameters.packed.factors;
    result.log_constants = parameters.packed.log_constants;
    result.log_shift = parameters.packed.log_shift;
    result.double_centres = parameters.in_double.centres;
    result.double_offsets = parameters.in_double.offsets;
    result.double_factors = parameters.in_double.factors;
    result.double_log_constants = parameters.in_double.log_constants;
    result.stopped = parameters.stopped;
    return result;
  }

  statistics_layout layout_;
  problem problem_;
  bool has_products_;
  cuda::device_buffer<float2> frame_;
  cuda::device_buffer<float> mean_curve_, terms_, shifts_, norms_;
  cuda::device_buffer<int> arrangement_, exponents_, any_far_;
  cuda::device_buffer<std::uint16_t> operands_, columns_by_rows_;
  cuda::device_buffer<float> constants_, own_constants_, norm_factors_;
  cuda::device_buffer<unsigned> far_masks_;
  cuda::device_buffer<double2> tile_sums_;
  cuda::device_buffer<double> scratch_, sums_, own_sums_, likelihood_;
};

}  // namespace

bool takes_large_diagonal_accumulator(const accumulator_shape& shape) {
  problem widest;
  widest.steps = most_columns / step_size;
  return !shape.layout.has_matrices() && shape.layout.columns() <= most_columns &&
         (!has_products() || shape.shared_bytes >= expectation_bytes(widest));
}

std::unique_ptr<device_accumulator<float>> make_large_diagonal_accumulator(const accumulator_shape& shape) {
  if (!takes_large_diagonal_accumulator(shape)) {
    throw bad_argument(fmt::format(
        "these kernels for many columns take diagonal and spherical covariances of at most {} columns on a GPU with "
        "enough shared memory for a block; this mixture has {} columns, and a block may have {} bytes",
        most_columns, shape.layout.columns(), shape.shared_bytes));
  }
  return std::make_unique<large_diagonal_accumulator>(shape);
}

}  // namespace shoal::gmm
