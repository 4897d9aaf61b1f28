// Float32 rows in a frame by products of float16 terms: which shape of the kernels for which mixture.
#include <type_traits>

#include <shoal/gmm/cuda/tensor_float64/half_densities.cuh>
#include <shoal/gmm/cuda/tensor_float64/half_kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/half_moments.cuh>

namespace shoal::gmm::tensor_float64 {
namespace {

// Calls use(whether spherical, number of products).
template <class Use>
void with_kind(const kernel_layout& layout, const component_frame& frame, const Use& use) {
  const auto with_products = [&](auto spherical) {
    if (frame.products == 3) return use(spherical, std::integral_constant<int, 3>());
    use(spherical, std::integral_constant<int, 1>());
  };
  if (layout.type == covariance_type::spherical) return with_products(std::true_type());
  with_products(std::false_type());
}

}  // namespace

void half_responsibilities(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                           const prepared_parameters<float>& parameters, const row_terms& terms, cudaStream_t stream) {
  with_kind(layout, frame, [&](auto spherical, auto products) {
    const auto launch = [&]() {
      switch (tile_components(layout.components)) {
        case 32:
          return launch_half_densities<half_density_shape<spherical(), 32, products()>>;
        case 64:
          return launch_half_densities<half_density_shape<spherical(), 64, products()>>;
        default:
          return launch_half_densities<half_density_shape<spherical(), 128, products()>>;
      }
    }();
    launch(layout, chunk, frame, parameters, terms, stream);
  });
}

void half_moments(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                  const prepared_parameters<float>& parameters, const lane_plan& plan, cudaStream_t stream) {
  with_kind(layout, frame, [&](auto spherical, auto products) {
    const auto launch = half_block_components(layout.components) == 32
                            ? launch_half_moments<half_moment_shape<spherical(), 32, products()>>
                            : launch_half_moments<half_moment_shape<spherical(), 64, products()>>;
    launch(layout, chunk, frame, parameters, plan, stream);
  });
}

}  // namespace shoal::gmm::tensor_float64
