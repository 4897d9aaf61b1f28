#include <shoal/gmm/cuda/moments_about.hpp>

#include <algorithm>
#include <memory>
#include <vector>

#include <shoal/gmm/cuda/first_model/given_moments.hpp>
#include <shoal/gmm/cuda/predictor.hpp>

namespace shoal::gmm {
namespace {

// Bytes of responsibilities that wait on a GPU to be summed.
constexpr std::size_t most_bytes = std::size_t{64} << 20;

// Rows at a time.
template <class Scalar>
std::size_t step_rows(std::size_t components) {
  const std::size_t units = most_bytes / (components * sizeof(Scalar)) / cuda::piece_unit;
  return std::max<std::size_t>(1, units) * cuda::piece_unit;
}
static_assert(cuda::piece_unit % predictor<float>::unit == 0);

template <class Scalar>
struct responsibilities {
  responsibilities(const statistics_layout& layout, std::size_t rows, const cuda::gpu& on)
      : predictor(make_predictor<Scalar>({layout, rows, on.multiprocessors, on.shared_bytes}, on.compute)),
        values(rows * layout.components()) {}
  std::unique_ptr<gmm::predictor<Scalar>> predictor;
  cuda::device_buffer<Scalar> values;
};

}  // namespace

template <class Scalar>
statistics moments_about(cuda::device_rows<Scalar>& rows, const device_parts<Scalar>& parts,
                         std::span<const double> centres) {
  const statistics_layout& layout = parts.layout();
  cuda::device_group& group = rows.group();
  const std::size_t step = step_rows<Scalar>(layout.components());
  std::vector<responsibilities<Scalar>> places;
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    const std::size_t most = std::min({step, rows.most_piece_rows(), std::max<std::size_t>(1, rows.share_rows(g))});
    places.emplace_back(layout, most, group[g]);
    places[g].predictor->prepare(parts.parameters(g), group[g].compute);
  }
  given_moments<Scalar> moments(rows, layout, centres);
  rows.for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
    rows.for_each_shard_of(piece, [&](std::size_t, const cuda::device_piece<Scalar>& part) {
      for (std::size_t begin = 0; begin < part.count; begin += step) {
        const cuda::device_piece<Scalar> some{
            part.rows + begin * rows.columns(), part.weights == nullptr ? nullptr : part.weights + begin,
            part.first + begin, part.share_first + begin, std::min(step, part.count - begin)};
        Scalar* const values = places[g].values.data();
        places[g].predictor->add(some, {nullptr, values, nullptr}, group[g].compute);
        moments.add(some, static_cast<const Scalar*>(values));
      }
    });
  });
  return moments.total();
}
template statistics moments_about(cuda::device_rows<float>&, const device_parts<float>&, std::span<const double>);
template statistics moments_about(cuda::device_rows<double>&, const device_parts<double>&, std::span<const double>);

}  // namespace shoal::gmm
