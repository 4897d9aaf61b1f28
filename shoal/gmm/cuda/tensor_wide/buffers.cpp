#include <shoal/gmm/cuda/tensor_wide/buffers.hpp>

#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor_wide/tuning.hpp>

namespace shoal::gmm::tensor_wide {
namespace {

// A component is a block's second index, of which a grid has at most so many.
constexpr std::size_t most_components = 65535;
// Of a block: three stages of products.
constexpr std::size_t least_shared_bytes = std::size_t{227} << 10;

}  // namespace

bool takes(const statistics_layout& layout, std::size_t shared_bytes) {
  return layout.has_matrices() && layout.columns() > tensor::most_columns && layout.components() <= most_components &&
         shared_bytes >= least_shared_bytes && tensor::has_products();
}

bool frames_densities(const statistics_layout& layout, int products, std::size_t share_rows) {
  return products == 1 && layout.type() == covariance_type::full && layout.columns() <= most_framed_columns &&
         layout.components() >= least_framed_components && layout.components() <= most_framed_components &&
         share_rows >= least_framed_rows;
}

bool frames_moments(const statistics_layout& layout, std::size_t share_rows) {
  return layout.type() == covariance_type::full && share_rows >= least_share_rows;
}

density_buffers::density_buffers(const statistics_layout& layout, int products, std::size_t chunk_rows,
                                 std::size_t processors, bool densities_framed, bool moments_framed) {
  using tensor::take;
  problem_.layout = kernel_layout(layout);
  problem_.products = products;
  problem_.processors = static_cast<unsigned>(processors);
  const unsigned d = problem_.layout.columns;
  const std::size_t factors = problem_.tied() ? 1 : layout.components();
  problem_.factor_size =
      stages_before(d, tiles_of(d)) * static_cast<std::size_t>(problem_.terms()) * stage_depth * width_of(d);
  problem_.exponents = take(exponents_, factors * d);
  problem_.norms = take(norms_, factors * d);
  problem_.coupled = take(coupled_, factors);
  problem_.scales = take(scales_, layout.components() * stages_of(d) * stage_depth);
  problem_.offsets = take(offsets_, layout.components() * padded_columns(d));
  problem_.corrections = take(corrections_, factors);
  problem_.factors = take(factors_, factors * problem_.factor_size);
  problem_.far_tiles = take(far_tiles_, (chunk_rows + tile - 1) / tile);
  problem_.any_far = take(any_far_, 1);
  any_far_.fill_with_zeros();
  if (moments_framed) problem_.frame.near = take(near_, layout.components() + 1);
  if (!densities_framed && !moments_framed) return;
  problem_.frame.exponents = take(frame_exponents_, d);
  problem_.frame.origin = take(origin_, d);
  problem_.frame.scales = take(frame_scales_, stages_of(d) * stage_depth);
  if (!densities_framed) return;
  problem_.frame.apart = take(apart_, 1);
  problem_.frame.offsets = take(frame_offsets_, layout.components() * padded_columns(d));
}

}  // namespace shoal::gmm::tensor_wide
