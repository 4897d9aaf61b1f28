#include <shoal/gmm/cuda/sample/sample.hpp>

#include <algorithm>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/gmm/cuda/sample/sample_rows.hpp>
#include <shoal/gmm/sample_factors.hpp>
#include <shoal/random/categorical.hpp>
#include <shoal/random/ziggurat_table.hpp>

namespace shoal::gmm {
namespace {

// The normals of a piece take about so many bytes.
constexpr std::size_t piece_bytes = std::size_t{32} << 20;

// One GPU with what it draws by and where it draws to.
template <class Scalar>
class sampler {
 public:
  sampler(const cuda::gpu& on, const model& model, const sample_factors& factors, const random::categorical& component,
          std::size_t piece_rows)
      : stream_(&on.compute) {
    const std::vector<unsigned> guide(component.guide().begin(), component.guide().end());
    means_.upload(model.means, *stream_);
    factors_.upload(factors.values(), *stream_);
    cumulative_.upload(component.cumulative(), *stream_);
    guide_.upload(guide, *stream_);
    edges_.upload(random::ziggurat.edge, *stream_);
    heights_.upload(random::ziggurat.height, *stream_);
    stream_->synchronize();  // `guide` dies here
    normals_.grow(piece_rows * model.columns);
    rows_.grow(piece_rows * model.columns);
    labels_.grow(piece_rows);
    source_ = {model.components,
               model.columns,
               factors.triangular(),
               factors.stride(),
               means_.data(),
               factors_.data(),
               cumulative_.data(),
               guide_.data(),
               static_cast<unsigned>(component.last()),
               edges_.data(),
               heights_.data(),
               0,
               random::normal_method::ziggurat};
  }

  void draw(std::uint64_t key, random::normal_method method, std::size_t first, matrix_view<Scalar> to,
            std::int32_t* labels) {
    source_.key = key;
    source_.method = method;
    sample_rows(source_, first, to.rows(), normals_.data(), rows_.data(), labels_.data(), *stream_);
    const std::size_t row_bytes = to.columns() * sizeof(Scalar);
    cuda::check(cudaMemcpy2DAsync(to.data(), to.row_stride() * sizeof(Scalar), rows_.data(), row_bytes, row_bytes,
                                  to.rows(), cudaMemcpyDefault, *stream_),
                "copy rows from the device");
    if (labels == nullptr) return;
    cuda::check(cudaMemcpyAsync(labels, labels_.data(), to.rows() * sizeof(std::int32_t), cudaMemcpyDefault, *stream_),
                "copy labels from the device");
  }

 private:
  const cuda::stream* stream_;
  cuda::device_buffer<double> means_, factors_, cumulative_, edges_, heights_, normals_;
  cuda::device_buffer<unsigned> guide_;
  cuda::device_buffer<Scalar> rows_;
  cuda::device_buffer<std::int32_t> labels_;
  sample_source source_;
};

}  // namespace

template <class Scalar>
void sample_on_devices(const model& model, std::uint64_t seed, std::size_t first, matrix_view<Scalar> rows,
                       std::int32_t* labels, random::normal_method method, const device_choice& device) {
  check_sample_sizes(model, rows.columns());
  const random::categorical component(model.weights);
  const sample_factors factors(model);
  if (rows.rows() == 0) return;
  cuda::check_named_once(device.cuda);
  cuda::device_group group(device.cuda);
  const std::size_t wanted = std::max<std::size_t>(1, piece_bytes / (model.columns * sizeof(double)));
  const std::size_t piece = std::min(wanted, rows.rows());
  std::vector<sampler<Scalar>> samplers;
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    samplers.emplace_back(group[g], model, factors, component, piece);
  }
  const std::uint64_t key = random::mix(seed, sampling_stream);
  std::size_t turn = 0;
  for (std::size_t begin = 0; begin < rows.rows(); begin += piece, ++turn) {
    const std::size_t g = turn % group.size();
    const cuda::device_scope scope(group[g].device);
    samplers[g].draw(key, method, first + begin, rows.middle_rows(begin, std::min(piece, rows.rows() - begin)),
                     labels == nullptr ? nullptr : labels + begin);
  }
  group.synchronize();
}

template void sample_on_devices(const model&, std::uint64_t, std::size_t, matrix_view<float>, std::int32_t*,
                                random::normal_method, const device_choice&);
template void sample_on_devices(const model&, std::uint64_t, std::size_t, matrix_view<double>, std::int32_t*,
                                random::normal_method, const device_choice&);

}  // namespace shoal::gmm
