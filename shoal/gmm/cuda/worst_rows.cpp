#include <shoal/gmm/cuda/worst_rows.hpp>

#include <algorithm>
#include <memory>

#include <shoal/algebra/adapt.hpp>
#include <shoal/algebra/instances/top_k.hpp>
#include <shoal/gmm/cuda/predictor.hpp>

namespace shoal::gmm {
namespace {

// Rows that are measured between two looks of the host.
constexpr std::size_t rows_at_once = std::size_t{1} << 20;
static_assert(rows_at_once % predictor<float>::unit == 0);

template <class Scalar>
struct measuring {
  measuring(const statistics_layout& layout, std::size_t rows, const cuda::gpu& on)
      : predictor(make_predictor<Scalar>({layout, rows, on.multiprocessors, on.shared_bytes}, on.compute)),
        log_density(rows) {}
  std::unique_ptr<gmm::predictor<Scalar>> predictor;
  cuda::device_buffer<Scalar> log_density;
};

}  // namespace

template <class Scalar>
std::vector<std::vector<double>> worst_rows_on_devices(cuda::device_rows<Scalar>& rows, device_parts<Scalar>& parts,
                                                       const statistics_layout& layout, std::size_t count) {
  cuda::device_group& group = rows.group();
  std::vector<measuring<Scalar>> places;
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    const std::size_t most =
        std::min({rows_at_once, rows.most_piece_rows(), std::max<std::size_t>(1, rows.share_rows(g))});
    places.emplace_back(layout, most, group[g]);
    places[g].predictor->prepare(parts.parameters(g), group[g].compute);
  }
  const algebra::complete<algebra::top_k<double>> order(algebra::top_k<double>{count});
  auto worst = order.identity();
  cuda::pinned_buffer<Scalar> log_density(rows_at_once), weights(rows.weighted() ? rows_at_once : 0);
  rows.for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
    const cuda::stream& stream = group[g].compute;
    for (std::size_t begin = 0; begin < piece.count; begin += rows_at_once) {
      const std::size_t some = std::min(rows_at_once, piece.count - begin);
      const cuda::device_piece<Scalar> part{piece.rows + begin * rows.columns(),
                                            piece.weights == nullptr ? nullptr : piece.weights + begin,
                                            piece.first + begin, piece.share_first + begin, some};
      places[g].predictor->add(part, {nullptr, nullptr, places[g].log_density.data()}, stream);
      cuda::check(cudaMemcpyAsync(log_density.data(), places[g].log_density.data(), some * sizeof(Scalar),
                                  cudaMemcpyDeviceToHost, stream),
                  "copy from the device");
      if (part.weights != nullptr) {
        cuda::check(
            cudaMemcpyAsync(weights.data(), part.weights, some * sizeof(Scalar), cudaMemcpyDeviceToHost, stream),
            "copy from the device");
      }
      stream.synchronize();
      for (std::size_t i = 0; i < some; ++i) {
        if (part.weights != nullptr && !(weights[i] > 0)) continue;
        order.insert(worst, {-static_cast<double>(log_density[i]), part.first + i});
      }
    }
  });
  auto of_all = order.identity();
  for (const auto& entry : rows.gathered(std::vector(worst.begin(), worst.end()))) order.insert(of_all, entry);
  std::vector<std::vector<double>> found;
  for (const auto& entry : of_all) {
    const std::vector<Scalar> row = rows.fetched(entry.index);
    found.emplace_back(row.begin(), row.end());
  }
  return found;
}

template std::vector<std::vector<double>> worst_rows_on_devices(cuda::device_rows<float>&, device_parts<float>&,
                                                                const statistics_layout&, std::size_t);
template std::vector<std::vector<double>> worst_rows_on_devices(cuda::device_rows<double>&, device_parts<double>&,
                                                                const statistics_layout&, std::size_t);

}  // namespace shoal::gmm
