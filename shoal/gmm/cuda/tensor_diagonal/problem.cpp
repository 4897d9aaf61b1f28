#include <shoal/gmm/cuda/tensor_diagonal/problem.hpp>

#include <shoal/gmm/cuda/tensor/chunks.hpp>

namespace shoal::gmm::tensor_diagonal {

namespace {

// Elements of a chunk are counted in 32 bits.
constexpr std::size_t most_chunk_rows = std::size_t{1} << 20;

}  // namespace

problem sizes_of(const statistics_layout& layout, int products, std::size_t most_rows) {
  problem sizes;
  sizes.columns = static_cast<int>(layout.columns());
  sizes.components = static_cast<int>(layout.components());
  sizes.tiles = (sizes.components + tile_components - 1) / tile_components;
  sizes.steps = compiled_steps(sizes.columns);
  sizes.width = padded_width(sizes.columns);
  sizes.products = products;
  sizes.spherical = layout.type() == covariance_type::spherical;
  sizes.features = sizes.spherical ? 1 : 2;
  sizes.chunk_rows =
      chunk_rows_for(static_cast<std::size_t>(sizes.tiles * tile_components), most_rows, most_chunk_rows);
  return sizes;
}

expectation_buffers::expectation_buffers(problem& mixture) {
  const auto padded = static_cast<std::size_t>(mixture.tiles * tile_components);
  const auto columns = static_cast<std::size_t>(mixture.steps * step_size);
  const auto parts = static_cast<std::size_t>(mixture.features * split_terms(mixture.products));
  mixture.frame = take(frame_, columns);
  mixture.mean_curve = take(mean_curve_, columns);
  mixture.arrangement = take(arrangement_, arrangement_size);
  mixture.operands = take(operands_, static_cast<std::size_t>(mixture.tiles * mixture.steps) * parts * operand_size);
  mixture.constants = take(constants_, padded);
  mixture.common_constants = take(common_constants_, padded);
  mixture.own_constants = take(own_constants_, padded);
  mixture.norm_factors = take(norm_factors_, mixture.spherical ? padded : 1);
  mixture.terms = take(terms_, padded * mixture.chunk_rows);
  if (mixture.products == 1) {
    mixture.half_terms = reinterpret_cast<std::uint16_t*>(mixture.terms);
    mixture.tile_greatest = take(tile_greatest_, static_cast<std::size_t>(mixture.tiles) * mixture.chunk_rows);
  }
  mixture.shifts = take(shifts_, mixture.chunk_rows);
  mixture.norms = take(norms_, mixture.spherical ? mixture.chunk_rows : 1);
  mixture.exponents = take(exponents_, mixture.chunk_rows / tile_rows);
  mixture.far_masks = take(far_masks_, mixture.chunk_rows / 32);
  mixture.candidates = take(candidates_, mixture.chunk_rows * static_cast<std::size_t>(4 * mixture.tiles));
  mixture.crowded = take(crowded_, mixture.chunk_rows / tile_rows);
  mixture.kept = take(kept_, mixture.chunk_rows / 32 * static_cast<std::size_t>(mixture.components));
  mixture.tile_sums = take(tile_sums_, mixture.chunk_rows / tile_rows);
  mixture.scratch = take(scratch_, static_cast<std::size_t>(far_warps * mixture.components));
  mixture.any_far = take(any_far_, 1);
}

}  // namespace shoal::gmm::tensor_diagonal
