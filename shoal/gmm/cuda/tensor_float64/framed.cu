// Diagonal and spherical mixtures in a frame: which tiles for which shape.
#include <type_traits>

#include <shoal/gmm/cuda/tensor_float64/frame_kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/framed_densities.cuh>
#include <shoal/gmm/cuda/tensor_float64/framed_moments.cuh>
#include <shoal/gmm/cuda/tensor_float64/half_kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/moment_tiles.hpp>

namespace shoal::gmm::tensor_float64 {
namespace {

// Of float64 rows, tiles that few components fill: smaller than those that the frame is filled up to, which float32
// rows share with products of float16 terms. A row's log-densities are the same bits in any.
template <bool Spherical, bool Finish>
constexpr auto filled_densities_of(const kernel_layout& layout) {
  const auto tile = [&]<int Down, int Sixteens, int Eights, int Resident>() {
    return launch_framed_densities<double, Spherical, density_tile<Down, Sixteens, Eights, Resident>, Finish>;
  };
  const unsigned components = layout.components;
  if (components <= 8) return tile.template operator()<8, 1, 1, 3>();
  if (components <= 16) return tile.template operator()<8, 1, 2, 4>();
  if (components <= 24) return tile.template operator()<8, 1, 3, 3>();
  if (components <= 32) return tile.template operator()<8, 1, 4, 2>();
  if (components <= 48) return tile.template operator()<4, 1, 3, 3>();
  if (components <= 64) return tile.template operator()<4, 1, 4, 3>();
  if (components <= 96) return tile.template operator()<4, 2, 6, 1>();
  if (components <= 128) return tile.template operator()<4, 2, 8, 1>();
  return tile.template operator()<2, 2, 8, 1>();
}

template <class Scalar, bool Spherical, bool Finish>
constexpr auto densities_of(const kernel_layout& layout) {
  if constexpr (sizeof(Scalar) == 8) return filled_densities_of<Spherical, Finish>(layout);
  switch (tile_components(layout.components)) {
    case 32:
      return launch_framed_densities<Scalar, Spherical, density_tile<8, 1, 4, 2>, Finish>;
    case 64:
      return launch_framed_densities<Scalar, Spherical, density_tile<4, 1, 4, 3>, Finish>;
    case 128:
      return launch_framed_densities<Scalar, Spherical, density_tile<4, 2, 8, 1>, Finish>;
    default:
      return launch_framed_densities<Scalar, Spherical, density_tile<2, 2, 8, 1>, Finish>;
  }
}

constexpr bool is_spherical(const kernel_layout& layout) { return layout.type == covariance_type::spherical; }

}  // namespace

template <class Scalar>
void densities_in_frame(const kernel_layout& layout, const row_chunk<Scalar>& chunk, const component_frame& frame,
                        const prepared_parameters<Scalar>& parameters, const row_terms& terms, cudaStream_t stream) {
  if constexpr (sizeof(Scalar) == 4) {
    if (frame.near != nullptr) half_responsibilities(layout, chunk, frame, parameters, terms, stream);
  }
  const auto launch =
      is_spherical(layout) ? densities_of<Scalar, true, false>(layout) : densities_of<Scalar, false, false>(layout);
  launch(layout, chunk, frame, parameters, terms, stream);
}
template void densities_in_frame(const kernel_layout&, const row_chunk<float>&, const component_frame&,
                                 const prepared_parameters<float>&, const row_terms&, cudaStream_t);
template void densities_in_frame(const kernel_layout&, const row_chunk<double>&, const component_frame&,
                                 const prepared_parameters<double>&, const row_terms&, cudaStream_t);

template <class Scalar>
void responsibilities_in_frame(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                               const component_frame& frame, const prepared_parameters<Scalar>& parameters,
                               const row_terms& terms, const lane_plan& plan, cudaStream_t stream) {
  if constexpr (sizeof(Scalar) == 4) {
    if (frame.near != nullptr && is_one_pass(layout)) {
      const auto launch = is_spherical(layout) ? one_pass_spherical : one_pass_diag;
      launch(layout, chunk, frame, parameters, terms, plan, stream);
    } else if (frame.near != nullptr) {
      half_responsibilities(layout, chunk, frame, parameters, terms, stream);
    }
  }
  const auto launch =
      is_spherical(layout) ? densities_of<Scalar, true, true>(layout) : densities_of<Scalar, false, true>(layout);
  launch(layout, chunk, frame, parameters, terms, stream);
}
template void responsibilities_in_frame(const kernel_layout&, const row_chunk<float>&, const component_frame&,
                                        const prepared_parameters<float>&, const row_terms&, const lane_plan&,
                                        cudaStream_t);
template void responsibilities_in_frame(const kernel_layout&, const row_chunk<double>&, const component_frame&,
                                        const prepared_parameters<double>&, const row_terms&, const lane_plan&,
                                        cudaStream_t);

template <class Scalar>
void moments_in_frame(const kernel_layout& layout, const row_chunk<Scalar>& chunk, const component_frame& frame,
                      const prepared_parameters<Scalar>& parameters, const row_terms& terms, const lane_plan& plan,
                      cudaStream_t stream) {
  if constexpr (sizeof(Scalar) == 4) {
    if (frame.near != nullptr && !is_one_pass(layout)) half_moments(layout, chunk, frame, parameters, plan, stream);
  }
  with_moment_tile<Scalar>(layout, [&](auto tile) {
    using tile_type = decltype(tile);
    const auto launch_for = [&]<class Term>(Term) {
      const auto launch = is_spherical(layout)
                              ? launch_framed_moments<Scalar, Term, covariance_type::spherical, tile_type>
                              : launch_framed_moments<Scalar, Term, covariance_type::diag, tile_type>;
      launch(layout, chunk, frame, parameters, terms, plan, stream);
    };
    if constexpr (tile_type::components == 64) {
      if (layout.components > most_block_components) return launch_for(double());
    }
    launch_for(Scalar());
  });
}
template void moments_in_frame(const kernel_layout&, const row_chunk<float>&, const component_frame&,
                               const prepared_parameters<float>&, const row_terms&, const lane_plan&, cudaStream_t);
template void moments_in_frame(const kernel_layout&, const row_chunk<double>&, const component_frame&,
                               const prepared_parameters<double>&, const row_terms&, const lane_plan&, cudaStream_t);

template <class Scalar>
std::size_t frame_moment_blocks(const kernel_layout& layout) {
  return with_moment_tile<Scalar>(layout, [&](auto tile) -> std::size_t {
    constexpr unsigned columns = decltype(tile)::columns, components = decltype(tile)::components;
    return std::size_t{(layout.columns + columns - 1) / columns} * ((layout.components + components - 1) / components);
  });
}
template std::size_t frame_moment_blocks<float>(const kernel_layout&);
template std::size_t frame_moment_blocks<double>(const kernel_layout&);

template <class Scalar>
std::size_t frame_moment_places(const kernel_layout& layout) {
  return with_moment_tile<Scalar>(layout, [&](auto tile) -> std::size_t { return decltype(tile)::resident; });
}
template std::size_t frame_moment_places<float>(const kernel_layout&);
template std::size_t frame_moment_places<double>(const kernel_layout&);

}  // namespace shoal::gmm::tensor_float64
