// Float32 rows in a frame by products of float16 terms: which shape of the kernels for which mixture.
#include <type_traits>

#include <shoal/gmm/cuda/tensor_float64/half_densities.cuh>
#include <shoal/gmm/cuda/tensor_float64/half_kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/half_moments.cuh>

namespace shoal::gmm::tensor_float64 {
namespace {

// Calls use(whether spherical, number of products, whether rows are not of a multiple of four columns).
template <class Use>
void with_kind(const kernel_layout& layout, const component_frame& frame, const Use& use) {
  const auto with_products = [&](auto spherical) {
    const auto with_lines = [&](auto products) {
      if (layout.columns % 4 == 0) return use(spherical, products, std::false_type());
      use(spherical, products, std::true_type());
    };
    if (frame.products == 3) return with_lines(std::integral_constant<int, 3>());
    with_lines(std::integral_constant<int, 1>());
  };
  if (layout.type == covariance_type::spherical) return with_products(std::true_type());
  with_products(std::false_type());
}

}  // namespace

void half_responsibilities(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                           const prepared_parameters<float>& parameters, const row_terms& terms, cudaStream_t stream) {
  with_kind(layout, frame, [&](auto spherical, auto products, auto lines) {
    const auto launch = [&]() {
      switch (tile_components(layout.components)) {
        case 32:
          return launch_half_densities<half_density_shape<spherical(), 32, products(), lines()>>;
        case 64:
          return launch_half_densities<half_density_shape<spherical(), 64, products(), lines()>>;
        default:
          return launch_half_densities<half_density_shape<spherical(), 128, products(), lines()>>;
      }
    }();
    launch(layout, chunk, frame, parameters, terms, stream);
  });
}

void half_moments(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                  const prepared_parameters<float>& parameters, const lane_plan& plan, cudaStream_t stream) {
  const unsigned groups = half_moment_groups(layout, frame.products);
  with_kind(layout, frame, [&](auto spherical, auto products, auto lines) {
    const auto with_components = [&](auto components) {
      constexpr bool holds_three = products() == 1 || spherical() || components() == 32;
      constexpr bool holds_two = products() == 3 || spherical();
      if constexpr (holds_three) {
        if (groups == 3) {
          return launch_half_moments<half_moment_shape<spherical(), components(), products(), 3, lines()>>(
              layout, chunk, frame, parameters, plan, stream);
        }
      }
      if constexpr (holds_two) {
        launch_half_moments<half_moment_shape<spherical(), components(), products(), 2, lines()>>(
            layout, chunk, frame, parameters, plan, stream);
      }
    };
    if (half_block_components(layout.components) == 32) return with_components(std::integral_constant<int, 32>());
    with_components(std::integral_constant<int, 64>());
  });
}

}  // namespace shoal::gmm::tensor_float64
