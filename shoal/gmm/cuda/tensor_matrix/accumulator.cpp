#include <shoal/gmm/cuda/tensor_matrix/tensor_matrix.hpp>

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor_matrix/frame_layout.hpp>
#include <shoal/gmm/cuda/tensor_matrix/kernels.hpp>
#include <shoal/gmm/cuda/tensor_matrix/one_pass_layout.hpp>
#include <shoal/gmm/cuda/tensor_matrix/problem.hpp>
#include <shoal/gmm/cuda/tensor_matrix/tuning.hpp>
#include <shoal/gmm/cuda/tuning.hpp>

namespace shoal::gmm::tensor_matrix {
namespace {

std::size_t ceiling(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

moments_plan plan_of(const statistics_layout& layout) {
  const int groups = compiled_groups(layout.columns());
  const int components = static_cast<int>(layout.components());
  return team_warps(groups) == 1 ? plan_moments_warp(groups, components) : plan_moments_team(groups, components);
}

class matrix_accumulator final : public accumulator<float> {
 public:
  explicit matrix_accumulator(const accumulator_shape& shape)
      : layout_(shape.layout),
        problem_(sizes_of(shape.layout, shape.precision == precision::float32 ? 3 : 1, shape.share_rows)),
        expectation_(problem_) {
    problem_.parts = expectation_parts(problem_);
    const std::size_t components = layout_.components();
    const auto sums = static_cast<std::size_t>(sums_size(problem_.groups));
    // As many lanes as fill the processors once, but for small shares and large statistics, and sections that leave
    // each lane as many rows.
    const moments_plan plan = plan_of(layout_);
    const std::size_t groups_of_components = ceiling(components, static_cast<std::size_t>(plan.block_components));
    const std::size_t blocks = shape.multiprocessors * static_cast<std::size_t>(plan.blocks);
    const std::size_t wanted = std::max<std::size_t>(1, blocks / groups_of_components);
    const std::size_t by_memory = std::max<std::size_t>(1, most_lane_bytes / (2 * components * sums * sizeof(double)));
    std::size_t least_cost = 0;
    for (int rows = most_section_rows; rows >= least_section_rows; rows /= 2) {
      const std::size_t sections = std::max<std::size_t>(1, ceiling(shape.share_rows, static_cast<std::size_t>(rows)));
      const std::size_t lanes = std::min({wanted, sections, by_memory});
      const std::size_t cost = ceiling(sections, lanes) * (static_cast<std::size_t>(rows) + section_cost);
      if (least_cost != 0 && cost >= least_cost) continue;
      least_cost = cost;
      problem_.section_rows = rows;
      problem_.lanes = static_cast<int>(lanes);
    }
    sums_.grow(2 * static_cast<std::size_t>(problem_.lanes) * components * sums);
    problem_.sums = sums_.data();
    set_up_one_pass(shape);
    if (problem_.one_pass.warps == 0) set_up_frame(shape);
    likelihood_.grow(static_cast<std::size_t>(likelihood_lanes) * likelihood_sums);
    problem_.likelihood = likelihood_.data();
  }

  void clear(const prepared_parameters<float>& parameters, cudaStream_t stream) override {
    const problem mixture = with(problem_, parameters);
    tensor::cleared_memory cleared;
    expectation_.name(cleared);
    cleared.add(sums_);
    cleared.add(likelihood_);
    if (problem_.frame_lanes > 0) cleared.add(frame_sums_);
    if (problem_.one_pass.warps > 0) cleared.add(one_pass_sums_);
    tensor::clear(cleared, parameters.stopped, stream);
    pack_mixture(mixture, stream);
  }

  void add(const cuda::device_piece<float>& piece, const prepared_parameters<float>& parameters,
           cudaStream_t stream) override {
    check_piece(piece);
    const problem mixture = with(problem_, parameters);
    for_each_chunk(piece, layout_.columns(), problem_.chunk_rows, [&](const chunk& rows, std::size_t /*first*/) {
      if (problem_.one_pass.warps > 0) one_pass(mixture, rows, stream);
      expectation(mixture, rows, stream);
      // Which of two works depends on the mixture.
      if (problem_.frame_lanes > 0) moments_frame(mixture, rows, stream);
      if (team_warps(problem_.groups) == 1) {
        moments_warp(mixture, rows, stream);
      } else {
        moments_team(mixture, rows, stream);
      }
      far_responsibilities(mixture, rows, stream);
      far_moments(mixture, rows, stream);
      add_likelihood(mixture, rows, stream);
    });
  }

  void merge(double* statistics, const prepared_parameters<float>& parameters, cudaStream_t stream) override {
    merged_layout to;
    to.header = layout_.component(0);
    to.component_size = layout_.component(1) - layout_.component(0);
    to.shared = layout_.shared();
    if (problem_.frame_lanes > 0) fold_frame_lanes(with(problem_, parameters), stream);
    if (problem_.one_pass.warps > 0) fold_one_pass(with(problem_, parameters), stream);
    merge_lanes(with(problem_, parameters), to, statistics, stream);
  }

 private:
  // The memory of sums of one pass, where there is such a kernel.
  void set_up_one_pass(const accumulator_shape& shape) {
    if (problem_.products != 1 || shape.share_rows < least_one_pass_rows) return;
    const one_pass_plan plan = plan_one_pass(problem_.groups, problem_.components);
    if (plan.warps == 0 || plan.shared_bytes > shape.shared_bytes) return;
    problem_.one_pass = plan;
    const std::size_t size =
        problem_.components * static_cast<std::size_t>(plan.parts * one_pass_sums_size(problem_.groups));
    const std::size_t by_memory = std::max<std::size_t>(1, most_lane_bytes / (size * sizeof(double)));
    const std::size_t wanted = std::min(shape.multiprocessors * static_cast<std::size_t>(plan.blocks), by_memory);
    problem_.one_pass_section_rows =
        static_cast<int>(section_rows_for(wanted, shape.share_rows, least_one_pass_section, most_one_pass_section));
    const std::size_t sections = ceiling(shape.share_rows, static_cast<std::size_t>(problem_.one_pass_section_rows));
    problem_.one_pass_blocks = static_cast<int>(std::min(wanted, std::max<std::size_t>(1, sections)));
    problem_.one_pass_sums = take(one_pass_sums_, static_cast<std::size_t>(problem_.one_pass_blocks) * size);
    problem_.one_pass_total = take(one_pass_total_, size / static_cast<std::size_t>(plan.parts));
  }

  // The memory of sums about the centre that all components share.
  void set_up_frame(const accumulator_shape& shape) {
    if (problem_.components < least_moments_components(problem_.products) || !has_products()) return;
    const int roles = frame_roles(problem_.columns, problem_.components, problem_.products);
    const std::size_t size = frame_sums_size(problem_.columns, problem_.components);
    const auto rows = static_cast<int>(problem_.chunk_rows);
    const int by_memory = std::max(1, static_cast<int>(most_lane_bytes / (size * sizeof(double))));
    // As many lanes as fill the processors once.
    problem_.frame_lanes = std::min(
        {std::max(1, static_cast<int>(shape.multiprocessors) / roles), rows / least_frame_section_rows, by_memory});
    problem_.frame_section_rows =
        static_cast<int>(section_rows_for(static_cast<std::size_t>(problem_.frame_lanes), problem_.chunk_rows,
                                          least_frame_section_rows, most_frame_section_rows));
    const std::size_t terms = problem_.products == 3 ? 2 : 1;
    problem_.placed_rows =
        take(placed_rows_, problem_.chunk_rows * terms * static_cast<std::size_t>(placed_columns(problem_.columns)));
    problem_.placed_responsibilities =
        take(placed_responsibilities_,
             problem_.chunk_rows * terms * static_cast<std::size_t>(padded_components(problem_.components)));
    problem_.section_exponents =
        take(section_exponents_, problem_.chunk_rows / static_cast<std::size_t>(problem_.frame_section_rows));
    problem_.frame_sums = take(frame_sums_, static_cast<std::size_t>(problem_.frame_lanes) * size);
    problem_.frame_total = take(frame_total_, size);
  }

  statistics_layout layout_;
  problem problem_;
  expectation_buffers expectation_;
  cuda::device_buffer<double> sums_, likelihood_, frame_sums_, frame_total_, one_pass_sums_, one_pass_total_;
  cuda::device_buffer<std::uint16_t> placed_rows_, placed_responsibilities_;
  cuda::device_buffer<int> section_exponents_;
};

}  // namespace

bool suits(const accumulator_shape& shape) {
  return shape.layout.has_matrices() && shape.layout.columns() <= most_columns &&
         shape.shared_bytes >= plan_of(shape.layout).shared_bytes;
}

std::unique_ptr<accumulator<float>> make_accumulator(const accumulator_shape& shape) {
  if (!suits(shape)) {
    throw bad_argument(fmt::format(
        "the kernels for many columns take full and tied covariances of 1 to {} columns on a GPU with enough shared "
        "memory for a block; this mixture has {} columns, and a block may have {} bytes",
        most_columns, shape.layout.columns(), shape.shared_bytes));
  }
  return std::make_unique<matrix_accumulator>(shape);
}

}  // namespace shoal::gmm::tensor_matrix
