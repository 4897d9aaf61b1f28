// Chunk by chunk: densities of all components by products of float16 terms, responsibilities in float64, moments by
// either.
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor_float64/chunks.hpp>
#include <shoal/gmm/cuda/tensor_wide/buffers.hpp>
#include <shoal/gmm/cuda/tensor_wide/framed_sums.hpp>
#include <shoal/gmm/cuda/tensor_wide/kernels.hpp>
#include <shoal/gmm/cuda/tensor_wide/moments.hpp>
#include <shoal/gmm/cuda/tensor_wide/tensor_wide.hpp>
#include <shoal/gmm/cuda/tensor_wide/tied_sums.hpp>

namespace shoal::gmm::tensor_wide {
namespace {

int products_of(const accumulator_shape& shape) { return shape.precision == precision::float32 ? 3 : 1; }

class wide_accumulator final : public accumulator<float> {
 public:
  explicit wide_accumulator(const accumulator_shape& shape)
      : layout_(shape.layout),
        plan_(plan_moments(shape, layout_)),
        lanes_(plan_.all().lanes * plan_.lanes.size),
        workspace_(layout_.components, shape.share_rows, cuda::piece_unit),
        buffers_(shape.layout, products_of(shape), workspace_.terms().stride, shape.multiprocessors,
                 frames_densities(shape.layout, products_of(shape), shape.share_rows),
                 frames_moments(shape.layout, shape.share_rows)),
        tied_(shape, workspace_.rows()),
        // Sums about an origin need no lists, and components that are too far apart for them are rare.
        sections_(buffers_.sizes(), tied_.used() ? 0 : shape.share_rows, plan_.lanes.section_rows, workspace_.rows()),
        framed_(buffers_.sizes(), plan_, workspace_.rows()) {
    plan_.lanes.sums = lanes_.data();
  }

  void clear(const prepared_parameters<float>& parameters, cudaStream_t stream) override {
    tensor_float64::clear_lanes(plan_.all(), parameters.stopped, stream);
    pack_mixture(buffers_.with(parameters), stream);
    tied_.clear(buffers_.with(parameters), stream);
    sections_.clear(stream);
    framed_.clear(buffers_.with(parameters), stream);
  }

  void add(const cuda::device_piece<float>& piece, const prepared_parameters<float>& parameters,
           cudaStream_t stream) override {
    tensor::check_piece(piece);
    const problem mixture = buffers_.with(parameters);
    const row_terms terms = workspace_.terms();
    workspace_.for_each_chunk(piece, layout_.columns, [&](const row_chunk& chunk, std::size_t) {
      densities(mixture, chunk, terms, stream);
      tensor_float64::launch_responsibilities(layout_, chunk, parameters, terms, stream);
      const held_sections& held = sections_.get();
      if (held.facts != nullptr) {
        list_rows(mixture, chunk, terms, held, stream);
        half_moments(mixture, chunk, held, plan_, stream);
        framed_.add(mixture, chunk, held, plan_, stream);
      }
      tied_.add(mixture, chunk, terms, plan_.all(), stream);
      moments(layout_, chunk, tied_.apart(parameters), terms, held, plan_, stream);
    });
  }

  void merge(double* statistics, const prepared_parameters<float>& parameters, cudaStream_t stream) override {
    tensor_float64::merge_lanes(plan_.all(), statistics, parameters.stopped, stream);
    tied_.merge(buffers_.with(parameters), statistics, stream);
    framed_.merge(buffers_.with(parameters), plan_, statistics, stream);
  }

 private:
  kernel_layout layout_;
  moment_plan plan_;
  cuda::device_buffer<double> lanes_;
  tensor_float64::chunk_workspace workspace_;
  density_buffers buffers_;
  tied_sums tied_;
  section_buffers sections_;
  framed_accumulator framed_;
};

}  // namespace

bool suits(const accumulator_shape& shape) { return takes(shape.layout, shape.shared_bytes); }

std::unique_ptr<accumulator<float>> make_accumulator(const accumulator_shape& shape) {
  return std::make_unique<wide_accumulator>(shape);
}

}  // namespace shoal::gmm::tensor_wide
