#include <shoal/gmm/cuda/tensor_matrix/problem.hpp>

#include <shoal/gmm/cuda/tensor/chunks.hpp>

namespace shoal::gmm::tensor_matrix {
namespace {

// Elements of a chunk are counted in 32 bits.
constexpr std::size_t most_chunk_rows = std::size_t{1} << 22;

}  // namespace

problem sizes_of(const statistics_layout& layout, int products, std::size_t most_rows) {
  problem sizes;
  sizes.columns = static_cast<int>(layout.columns());
  sizes.components = static_cast<int>(layout.components());
  sizes.groups = compiled_groups(layout.columns());
  sizes.width = vector_width(sizes.groups, layout.columns());
  sizes.products = products;
  sizes.tied = layout.type() == covariance_type::tied;
  sizes.chunk_rows = chunk_rows_for(layout.components(), most_rows, most_chunk_rows);
  return sizes;
}

expectation_buffers::expectation_buffers(problem& mixture) {
  const auto components = static_cast<std::size_t>(mixture.components);
  const std::size_t words = mixture.chunk_rows / word_rows;
  mixture.deviations = take(deviations_, components * static_cast<std::size_t>(mixture.columns));
  mixture.exponents = take(exponents_, components * static_cast<std::size_t>(mixture.columns));
  mixture.peaks = take(peaks_, components);
  mixture.frame = take(frame_, static_cast<std::size_t>(16 * steps_of(mixture.groups)));
  mixture.apart = take(apart_, 1);
  mixture.moments_apart = take(moments_apart_, 1);
  mixture.records =
      take(records_, components * static_cast<std::size_t>(record_size(mixture.groups, mixture.products)));
  // Records are copied whole, with the padding that packing never writes.
  records_.fill_with_zeros();
  mixture.moment_scales = take(moment_scales_, components * static_cast<std::size_t>(group_columns * mixture.groups));
  mixture.coarse = take(coarse_, 1);
  mixture.terms = take(terms_, components * mixture.chunk_rows);
  mixture.shifts = take(shifts_, mixture.chunk_rows);
  mixture.far_masks = take(far_masks_, words);
  mixture.word_sums = take(word_sums_, words);
  mixture.scratch = take(scratch_, static_cast<std::size_t>(far_warps) * components);
  mixture.any_far = take(any_far_, 2);
  mixture.far_found = mixture.any_far + 1;
}

}  // namespace shoal::gmm::tensor_matrix
