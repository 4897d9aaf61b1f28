#include <shoal/gmm/cuda/large_diagonal_accumulator.hpp>

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/large_diagonal_kernels.hpp>
#include <shoal/gmm/cuda/large_diagonal_problem.hpp>
#include <shoal/gmm/cuda/large_tuning.hpp>

namespace shoal::gmm {
namespace {

using namespace large_diagonal;

constexpr std::size_t least_section_rows = 512;

class large_diagonal_accumulator final : public device_accumulator<float> {
 public:
  explicit large_diagonal_accumulator(const accumulator_shape& shape)
      : layout_(shape.layout),
        problem_(sizes_of(shape.layout, shape.precision == precision::float32 ? 3 : 1, shape.share_rows)),
        has_products_(has_products()),
        expectation_(problem_) {
    // As many lanes as fill the processors once, and sections as long as leave each lane some of a chunk.
    const auto features = static_cast<std::size_t>(problem_.features);
    const std::size_t parts = static_cast<std::size_t>(problem_.tiles) * features;
    const std::size_t padded = static_cast<std::size_t>(problem_.tiles) * tile_components;
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
    problem_.columns_by_rows =
        take(columns_by_rows_, features * terms * problem_.chunk_rows * static_cast<std::size_t>(problem_.width));
    problem_.sums = take(sums_, lanes * padded * sums);
    problem_.own_sums = take(own_sums_, lanes * layout_.components() * (1 + 2 * layout_.columns()));
    problem_.likelihood = take(likelihood_, static_cast<std::size_t>(likelihood_lanes * likelihood_sums));
  }

  void clear(const device_parameters<float>& parameters, cudaStream_t stream) override {
    sums_.fill_with_zeros(stream);
    own_sums_.fill_with_zeros(stream);
    likelihood_.fill_with_zeros(stream);
    expectation_.clear(stream);
    pack_mixture(with(problem_, parameters), stream);
  }

  void add(const cuda::device_piece<float>& piece, const device_parameters<float>& parameters,
           cudaStream_t stream) override {
    if (piece.share_first % cuda::piece_unit != 0 || reinterpret_cast<std::uintptr_t>(piece.rows) % 16 != 0) {
      throw bad_argument(
          fmt::format("a piece begins at row {} of its share, which is not a multiple of {}, or is not "
                      "aligned to 16 bytes",
                      piece.share_first, cuda::piece_unit));
    }
    const problem mixture = with(problem_, parameters);
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
      far_responsibilities(mixture, rows, stream);
      far_moments(mixture, rows, stream);
      add_likelihood(mixture, rows, stream);
    }
  }

  void merge(double* statistics, const device_parameters<float>& parameters, cudaStream_t stream) override {
    merge_lanes(with(problem_, parameters), layout_.component(0), statistics, stream);
  }

 private:
  statistics_layout layout_;
  problem problem_;
  bool has_products_;
  expectation_buffers expectation_;
  cuda::device_buffer<std::uint16_t> columns_by_rows_;
  cuda::device_buffer<double> sums_, own_sums_, likelihood_;
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
