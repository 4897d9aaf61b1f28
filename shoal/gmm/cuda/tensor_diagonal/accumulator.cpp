#include <shoal/gmm/cuda/tensor_diagonal/tensor_diagonal.hpp>

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/kernels.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/problem.hpp>

namespace shoal::gmm::tensor_diagonal {
namespace {

constexpr std::size_t least_section_rows = 512;
// Of the kernel for rows that are summed one by one: mostly there is nothing to do, and many blocks cost more than a
// few.
constexpr std::size_t most_own_blocks = 2048;
// Of a block of the kernel for rows that many components hold, and components of its tile; fewer components than
// least_dense_components hold no row in such numbers.
constexpr int least_dense_threads = 32;
constexpr int most_dense_threads = 256;
constexpr int most_dense_components = 256;
constexpr std::size_t least_dense_components = 16;

class diagonal_accumulator final : public accumulator<float> {
 public:
  explicit diagonal_accumulator(const accumulator_shape& shape)
      : layout_(shape.layout),
        problem_(sizes_of(shape.layout, shape.precision == precision::float32 ? 3 : 1, shape.share_rows)),
        has_products_(has_products()),
        expectation_(problem_) {
    // As many lanes as fill the processors once.
    const auto features = static_cast<std::size_t>(problem_.features);
    const auto at_once = static_cast<std::size_t>(moment_features(problem_.products, problem_.spherical));
    const std::size_t parts = static_cast<std::size_t>(problem_.tiles) * features / at_once;
    const std::size_t padded = static_cast<std::size_t>(problem_.tiles) * tile_components;
    const auto sums = static_cast<std::size_t>(sums_size(problem_.features, problem_.width));
    const std::size_t lane_bytes = padded * sums * sizeof(double);
    const std::size_t lanes =
        std::min({std::max<std::size_t>(1, shape.multiprocessors / parts), problem_.chunk_rows / least_section_rows,
                  std::max<std::size_t>(1, most_lane_bytes / lane_bytes)});
    const std::size_t own_lanes = std::min(lanes, std::max<std::size_t>(1, most_own_blocks / layout_.components()));
    problem_.lanes = static_cast<int>(lanes);
    problem_.section_rows =
        static_cast<int>(section_rows_for(lanes, problem_.chunk_rows, least_section_rows, cuda::piece_unit));
    problem_.own_lanes = static_cast<int>(own_lanes);
    problem_.own_section_rows =
        static_cast<int>(section_rows_for(own_lanes, problem_.chunk_rows, least_section_rows, cuda::piece_unit));

    if (layout_.components() >= least_dense_components) make_room_for_dense_moments(shape.multiprocessors);

    problem_.left_out = take(left_out_, padded);
    problem_.densities = take(densities_, problem_.chunk_rows);
    const auto terms = static_cast<std::size_t>(split_terms(problem_.products));
    problem_.columns_by_rows =
        take(columns_by_rows_, features * terms * problem_.chunk_rows * static_cast<std::size_t>(problem_.width));
    problem_.sums = take(sums_, lanes * padded * sums);
    problem_.own_sums = take(own_sums_, own_lanes * layout_.components() * (1 + 2 * layout_.columns()));
    problem_.likelihood = take(likelihood_, static_cast<std::size_t>(likelihood_lanes * likelihood_sums));
  }

  void clear(const prepared_parameters<float>& parameters, cudaStream_t stream) override {
    tensor::cleared_memory cleared;
    expectation_.name(cleared);
    cleared.add(sums_);
    cleared.add(own_sums_);
    cleared.add(likelihood_);
    tensor::clear(cleared, parameters.stopped, stream);
    begins_ = true;
    pack_cleared_mixture(with(problem_, parameters), stream);
  }

  void add(const cuda::device_piece<float>& piece, const prepared_parameters<float>& parameters,
           cudaStream_t stream) override {
    check_piece(piece);
    const problem mixture = with(problem_, parameters);
    for_each_chunk(piece, layout_.columns(), problem_.chunk_rows, [&](const chunk& rows, std::size_t /*first*/) {
      // Which of them work depends on the mixture.
      if (has_products_) {
        expectation(mixture, rows, stream);
        refine(mixture, rows, stream);
        moments(mixture, rows, stream);
      }
      expectation_apart(mixture, rows, stream);
      far_responsibilities(mixture, rows, stream);
      if (mixture.dense != nullptr) dense_moments(mixture, rows, begins_, stream);
      begins_ = false;
      far_moments(mixture, rows, stream);
      add_likelihood(mixture, rows, stream);
    });
  }

  void merge(double* statistics, const prepared_parameters<float>& parameters, cudaStream_t stream) override {
    merge_lanes(with(problem_, parameters), layout_.component(0), statistics, stream);
  }

 private:
  // As many lanes as fill the processors.
  void make_room_for_dense_moments(std::size_t multiprocessors) {
    const int across = dense_columns(problem_.columns);
    const int wanted = std::min(most_dense_components, problem_.components);
    while (problem_.dense_threads * across < least_dense_threads ||
           (problem_.dense_threads * across < most_dense_threads && dense_components(problem_) < wanted)) {
      problem_.dense_threads *= 2;
    }
    const auto blocks =
        multiprocessors * static_cast<std::size_t>(2 * most_dense_threads / (problem_.dense_threads * across));
    const auto tiles = static_cast<std::size_t>(dense_tiles(problem_)), rows = static_cast<std::size_t>(dense_rows);
    const std::size_t sums = layout_.components() * (1 + 2 * layout_.columns());
    const std::size_t lanes = std::min({std::max<std::size_t>(1, blocks / tiles), problem_.chunk_rows / rows,
                                        std::max<std::size_t>(1, most_lane_bytes / (sums * sizeof(double)))});
    problem_.dense_lanes = static_cast<int>(lanes);
    problem_.dense_section_rows =
        static_cast<int>(section_rows_for(lanes, problem_.chunk_rows, rows, cuda::piece_unit));
    problem_.dense = take(dense_, problem_.chunk_rows / rows * tiles);
    problem_.dense_sums = take(dense_sums_, lanes * sums);
  }

  statistics_layout layout_;
  problem problem_;
  bool has_products_;
  expectation_buffers expectation_;
  cuda::device_buffer<std::uint16_t> columns_by_rows_;
  cuda::device_buffer<double> sums_, own_sums_, dense_sums_, likelihood_;
  cuda::device_buffer<unsigned char> dense_, left_out_;
  cuda::device_buffer<float> densities_;
  bool begins_ = true;  // no chunk of this pass has come yet
};

}  // namespace

bool suits(const accumulator_shape& shape) {
  problem widest;
  widest.steps = most_columns / step_size;
  return !shape.layout.has_matrices() && shape.layout.columns() <= most_columns &&
         (!has_products() || shape.shared_bytes >= expectation_bytes(widest));
}

std::unique_ptr<accumulator<float>> make_accumulator(const accumulator_shape& shape) {
  if (!suits(shape)) {
    throw bad_argument(fmt::format(
        "these kernels for many columns take diagonal and spherical covariances of at most {} columns on a GPU with "
        "enough shared memory for a block; this mixture has {} columns, and a block may have {} bytes",
        most_columns, shape.layout.columns(), shape.shared_bytes));
  }
  return std::make_unique<diagonal_accumulator>(shape);
}

}  // namespace shoal::gmm::tensor_diagonal
