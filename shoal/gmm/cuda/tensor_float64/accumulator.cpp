// Chunk by chunk: densities of all components, responsibilities, moments.
#include <algorithm>

#include <shoal/gmm/cuda/tensor_float64/chunks.hpp>
#include <shoal/gmm/cuda/tensor_float64/half_kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/mixture_frame.hpp>
#include <shoal/gmm/cuda/tensor_float64/short_sections_tuning.hpp>
#include <shoal/gmm/cuda/tensor_float64/tensor_float64.hpp>
#include <shoal/gmm/cuda/tensor_float64/tied_frame.hpp>
#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>

namespace shoal::gmm::tensor_float64 {
namespace {

std::size_t ceiling(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

// Of float16 terms for one of float32 rows.
template <class Scalar>
int half_products(const accumulator_shape& shape) {
  if (sizeof(Scalar) == 8) return 0;
  return shape.precision == precision::float32 ? 3 : 1;
}

template <class Scalar>
class tensor_accumulator final : public accumulator<Scalar> {
 public:
  explicit tensor_accumulator(const accumulator_shape& shape)
      : layout_(shape.layout),
        plan_(plan_lanes<Scalar>(shape, layout_)),
        multiprocessors_(static_cast<unsigned>(shape.multiprocessors)),
        lanes_(plan_.lanes * plan_.size),
        workspace_(
            layout_.components, shape.share_rows, cuda::piece_unit,
            half_products<Scalar>(shape) != 0 && has_frame(layout_) && is_one_pass(layout_) && tensor::has_products()
                ? one_pass_workspace_bytes
                : workspace_bytes),
        frame_(layout_, workspace_.rows(), half_products<Scalar>(shape), shape.multiprocessors, shape.share_rows),
        tied_(shape) {
    plan_.sums = lanes_.data();
  }

  void clear(const prepared_parameters<Scalar>& parameters, cudaStream_t stream) override {
    frame_.pack(parameters, stream);
    if (frame_.get().kept_blocks != 0) {
      clear_kept_lanes(layout_, frame_.get(), plan_, parameters.stopped, stream);
    } else {
      clear_lanes(plan_, parameters.stopped, stream);
    }
    tied_.pack(parameters, stream);
  }

  void add(const cuda::device_piece<Scalar>& piece, const prepared_parameters<Scalar>& parameters,
           cudaStream_t stream) override {
    const row_terms terms = workspace_.terms();
    workspace_.for_each_chunk(piece, layout_.columns, [&](const row_chunk<Scalar>& chunk, std::size_t) {
      // Which of them work depends on the mixture.
      const prepared_parameters<Scalar> apart = tied_.apart(frame_.apart(parameters));
      const bool finishes = tied_.finishes(chunk) || (frame_.used() && layout_.components <= most_block_components);
      const auto at_most = [&](unsigned resident) { return frame_.used() ? multiprocessors_ * resident : any_blocks; };
      tied_.densities(chunk, parameters, terms, stream);
      if (frame_.used() && finishes) {
        responsibilities_in_frame(layout_, chunk, frame_.get(), parameters, terms, plan_, stream);
      } else if (frame_.used()) {
        densities_in_frame(layout_, chunk, frame_.get(), parameters, terms, stream);
      }
      if (!at_once(chunk, apart, terms, stream)) {
        launch_densities(layout_, chunk, apart, terms, stream, at_most(resident_densities));
        if (frame_.get().near != nullptr && !finishes) {
          far_responsibilities(layout_, chunk, frame_.get(), parameters, terms, stream);
        } else {
          launch_responsibilities(layout_, chunk, finishes ? apart : parameters, terms, stream,
                                  finishes ? at_most(resident_responsibilities) : any_blocks);
        }
      }
      if (frame_.used()) moments_in_frame(layout_, chunk, frame_.get(), parameters, terms, plan_, stream);
      tied_.moments(chunk, parameters, terms, plan_, stream);
      launch_moments(layout_, chunk, apart, terms, plan_, stream);
    });
  }

  void merge(double* statistics, const prepared_parameters<Scalar>& parameters, cudaStream_t stream) override {
    if (frame_.get().kept_blocks != 0) {
      merge_kept_lanes(layout_, frame_.get(), plan_, statistics, parameters.stopped, stream);
    } else {
      merge_lanes(plan_, statistics, parameters.stopped, stream);
    }
    if (frame_.used()) {
      leave_frame(layout_, parameters.in_double, frame_.get(), statistics, parameters.stopped, stream);
    }
    tied_.leave(statistics, parameters, stream);
  }

 private:
  bool at_once(const row_chunk<Scalar>& chunk, const prepared_parameters<Scalar>& parameters, const row_terms& terms,
               cudaStream_t stream) const {
    if constexpr (sizeof(Scalar) == 8) return launch_row_responsibilities(layout_, chunk, parameters, terms, stream);
    return false;
  }

  kernel_layout layout_;
  lane_plan plan_;
  unsigned multiprocessors_;
  cuda::device_buffer<double> lanes_;
  chunk_workspace workspace_;
  mixture_frame frame_;
  tied_mixture_frame<Scalar> tied_;
};

}  // namespace

lane_plan plan_lanes(const accumulator_shape& shape, std::size_t blocks, std::size_t turns) {
  lane_plan plan;
  plan.size = shape.layout.size();
  const std::size_t wanted = ceiling(turns * shape.multiprocessors, blocks);
  const std::size_t affordable = std::max<std::size_t>(1, most_lane_bytes / (plan.size * sizeof(double)));
  // Sections as long as leave every lane some.
  plan.section_rows = most_section_rows;
  while (plan.section_rows > least_section_rows &&
         ceiling(shape.share_rows, plan.section_rows) < sections_of_lane * wanted) {
    plan.section_rows /= 2;
  }
  const std::size_t sections = std::max<std::size_t>(1, ceiling(shape.share_rows, plan.section_rows));
  plan.lanes = static_cast<unsigned>(std::min({wanted, affordable, sections, most_lanes}));
  return plan;
}

namespace {

// So many places for blocks to a lane, which takes its part of one chunk of rows after the other. A section costs a
// block as much as section_cost rows beside its own.
lane_plan plan_resident_lanes(const accumulator_shape& shape, std::size_t places, std::size_t blocks,
                              std::size_t section_cost, std::size_t rows_at_once) {
  lane_plan plan;
  plan.size = shape.layout.size();
  const std::size_t affordable = std::max<std::size_t>(1, most_lane_bytes / (plan.size * sizeof(double)));
  const std::size_t wanted = std::min({std::max<std::size_t>(1, places / blocks), affordable, most_lanes});
  std::size_t least_cost = 0;
  for (std::size_t rows = most_section_rows; rows >= least_section_rows; rows /= 2) {
    const std::size_t sections = std::max<std::size_t>(1, ceiling(shape.share_rows, rows));
    const std::size_t lanes = std::min(wanted, sections);
    const std::size_t of_chunk = ceiling(rows_at_once, rows);
    const std::size_t of_last = ceiling(shape.share_rows % rows_at_once, rows);
    const std::size_t turns = shape.share_rows / rows_at_once * ceiling(of_chunk, lanes) + ceiling(of_last, lanes);
    const std::size_t cost = std::max<std::size_t>(1, turns) * (rows + section_cost);
    if (least_cost != 0 && cost >= least_cost) continue;
    least_cost = cost;
    plan.section_rows = rows;
    plan.lanes = static_cast<unsigned>(lanes);
  }
  return plan;
}

}  // namespace

template <class Scalar>
lane_plan plan_lanes(const accumulator_shape& shape, const kernel_layout& layout) {
  if (sizeof(Scalar) == 4 && takes_halves(layout) && tensor::has_products()) {
    if (!is_one_pass(layout)) {
      return plan_resident_lanes(shape, shape.multiprocessors, half_moment_blocks(layout, half_products<Scalar>(shape)),
                                 half_section_cost, shape.share_rows + 1);
    }
    const unsigned groups = one_pass_groups(layout.type == covariance_type::spherical,
                                            one_pass_components(layout.components), one_pass_width(layout.columns));
    lane_plan plan =
        plan_resident_lanes(shape, shape.multiprocessors * groups, 1, half_section_cost, shape.share_rows + 1);
    plan.many = true;
    return plan;
  }
  // As many blocks as are resident: with twice as many diag (10⁶, 33, 10) takes 0.365 ms and 0.345 so, (10⁶, 17, 33)
  // 0.620 and 0.574.
  if (sizeof(Scalar) == 8 && has_frame(layout)) {
    return plan_resident_lanes(shape, shape.multiprocessors * frame_moment_places<Scalar>(layout),
                               frame_moment_blocks<Scalar>(layout), framed_section_cost,
                               chunk_rows(layout.components, shape.share_rows, cuda::piece_unit, workspace_bytes));
  }
  const std::size_t blocks = has_frame(layout) ? frame_moment_blocks<Scalar>(layout) : moment_blocks<Scalar>(layout);
  lane_plan plan = plan_lanes(shape, blocks, turns_of_blocks);
  // Few rows of matrices are cut into shorter sections still, as long as most multiprocessors would have none.
  while (!has_frame(layout) && layout.columns > narrow_columns && plan.section_rows > least_short_section_rows) {
    const std::size_t more = 2 * ceiling(shape.share_rows, plan.section_rows);
    if (2 * blocks * more > shape.multiprocessors) break;
    plan.section_rows /= 2;
    plan.lanes = static_cast<unsigned>(ceiling(shape.share_rows, plan.section_rows));
  }
  return plan;
}

bool suits(const accumulator_shape& shape) { return shape.layout.components() <= most_components; }

bool reads_rows_once(const accumulator_shape& shape) {
  return !shape.layout.has_matrices() && shape.layout.columns() >= least_one_pass_columns &&
         is_one_pass(kernel_layout(shape.layout));
}

template <class Scalar>
std::unique_ptr<accumulator<Scalar>> make_accumulator(const accumulator_shape& shape) {
  return std::make_unique<tensor_accumulator<Scalar>>(shape);
}
template std::unique_ptr<accumulator<float>> make_accumulator(const accumulator_shape&);
template std::unique_ptr<accumulator<double>> make_accumulator(const accumulator_shape&);

}  // namespace shoal::gmm::tensor_float64
