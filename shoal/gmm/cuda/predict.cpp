#include <shoal/gmm/cuda/predict.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/predictor.hpp>
#include <shoal/gmm/cuda/step/parts.hpp>

namespace shoal::gmm {
namespace {

// Results of so many bytes wait on the GPU for their copy.
constexpr std::size_t most_result_bytes = std::size_t{64} << 20;

template <class Element>
void copy_out(const cuda::device_buffer<Element>& from, Element* to, std::size_t first, std::size_t count,
              cudaStream_t stream) {
  if (to == nullptr) return;
  cuda::check(cudaMemcpyAsync(to + first, from.data(), count * sizeof(Element), cudaMemcpyDefault, stream),
              "copy predictions from the device");
}

// One GPU's share of the work.
template <class Scalar>
class share_predictor {
 public:
  share_predictor(const statistics_layout& layout, std::size_t most_rows, const cuda::gpu& on,
                  const prediction<Scalar>& out)
      : components_(layout.components()),
        out_(out),
        stream_(on.compute),
        step_(step_rows(components_, out, most_rows)),
        predictor_(make_predictor<Scalar>({layout, step_, on.multiprocessors, on.shared_bytes}, on.compute)) {
    if (out.labels != nullptr) labels_.grow(step_);
    if (out.probabilities != nullptr) probabilities_.grow(step_ * components_);
    if (out.log_density != nullptr) log_density_.grow(step_);
  }

  void prepare(const prepared_parameters<Scalar>& parameters) { predictor_->prepare(parameters, stream_); }
  void add(const cuda::device_piece<Scalar>& piece, std::size_t columns) {
    for (std::size_t begin = 0; begin < piece.count; begin += step_) {
      const std::size_t count = std::min(step_, piece.count - begin);
      const cuda::device_piece<Scalar> part{piece.rows + begin * columns,
                                            piece.weights == nullptr ? nullptr : piece.weights + begin,
                                            piece.first + begin, piece.share_first + begin, count};
      predictor_->add(part, {labels_.data(), probabilities_.data(), log_density_.data()}, stream_);
      copy_out(labels_, out_.labels, part.first, count, stream_);
      copy_out(probabilities_, out_.probabilities, part.first * components_, count * components_, stream_);
      copy_out(log_density_, out_.log_density, part.first, count, stream_);
    }
  }
  std::vector<score_sums> totals() const { return predictor_->totals(stream_); }

 private:
  // Only what is asked for takes room: 10⁶ rows and 1000 components in steps of 8000 rows took ten times as long.
  static std::size_t step_rows(std::size_t components, const prediction<Scalar>& out, std::size_t most_rows) {
    constexpr std::size_t unit = predictor<Scalar>::unit;
    const std::size_t scalars = (out.probabilities == nullptr ? 0 : components) + (out.log_density == nullptr ? 0 : 1);
    const std::size_t row_bytes = sizeof(std::int32_t) + scalars * sizeof(Scalar);
    const std::size_t units = std::max<std::size_t>(1, most_result_bytes / row_bytes / unit);
    return std::min(units * unit, std::max<std::size_t>(1, most_rows));
  }

  std::size_t components_;
  prediction<Scalar> out_;
  cudaStream_t stream_;
  std::size_t step_;
  std::unique_ptr<predictor<Scalar>> predictor_;
  cuda::device_buffer<std::int32_t> labels_;
  cuda::device_buffer<Scalar> probabilities_;
  cuda::device_buffer<Scalar> log_density_;
};

}  // namespace

template <class Scalar>
double predict_on_device(cuda::device_rows<Scalar>& rows, const model& model, const prediction<Scalar>& wanted) {
  const prediction<Scalar> out = rows.owns_shards() ? wanted : prediction<Scalar>();
  const statistics_layout layout(model.covariance_type, model.components, model.columns);
  cuda::device_group& group = rows.group();
  device_parts<Scalar> parts(group, layout, 0);
  parts.prepare(model);
  std::vector<share_predictor<Scalar>> shares;
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    shares.emplace_back(layout, std::min(rows.most_piece_rows(), rows.share_rows(g)), group[g], out);
    shares[g].prepare(parts.parameters(g));
  }
  rows.for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
    rows.for_each_shard_of(
        piece, [&](std::size_t, const cuda::device_piece<Scalar>& part) { shares[g].add(part, rows.columns()); });
  });
  std::vector<score_sums> sums;  // of each shard
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    const std::vector<score_sums> own = shares[g].totals();
    sums.insert(sums.end(), own.begin(), own.end());
  }
  double log_likelihood = 0, weight = 0;
  for (const score_sums& sum : rows.gathered(std::move(sums))) {
    log_likelihood += sum.log_likelihood;
    weight += sum.weight;
  }
  return log_likelihood / weight;
}
template double predict_on_device(cuda::device_rows<float>&, const model&, const prediction<float>&);
template double predict_on_device(cuda::device_rows<double>&, const model&, const prediction<double>&);

}  // namespace shoal::gmm
