// How the kernel that reads rows once shares components out among warps, and how its sums lie; shared by host and
// device.
#pragma once

#include <cstddef>
#include <utility>

#include <shoal/gmm/cuda/tensor_matrix/layout.hpp>

namespace shoal::gmm::tensor_matrix {

/// Groups of columns that it is compiled for.
using one_pass_groups = std::integer_sequence<int, 3, 4, 5, 6, 7, 8>;
constexpr bool has_one_pass(int groups) { return groups >= 3 && groups <= 8; }

/// Registers of a thread that hold second moments: of so many components a warp.
constexpr int one_pass_sums(int groups, int each) { return 4 * each * tile_count(groups); }
/// Numbers of components of a warp that it is compiled for, as far as registers leave room for them.
using one_pass_each = std::integer_sequence<int, 1, 2, 3, 4, 6>;
constexpr bool has_each(int groups, int each) { return one_pass_sums(groups, each) <= 96; }
/// Warps that registers leave room for on a multiprocessor, and most warps of a block.
constexpr int resident_warps(int groups, int each) { return one_pass_sums(groups, each) <= 36 ? 16 : 12; }

/// A component as it reads it, in place of the record of the expectation step and no longer: tiles of the factor, then
/// b twice, so that a product begins with it ([group][t] b, b', b, b'), then the component's centre in the frame as
/// float16 ([step][t] columns 2t, 2t + 1; 2t + 8, 2t + 9), then ln πₖ….
constexpr int one_pass_offsets(int groups) { return tile_count(groups) * 16; }
constexpr int one_pass_centres(int groups) { return one_pass_offsets(groups) + 4 * groups; }
constexpr int one_pass_constant(int groups) { return one_pass_centres(groups) + 2 * steps_of(groups); }
constexpr int one_pass_size(int groups) { return one_pass_constant(groups) + 1; }
/// Where a column's centre lies among its component's float16 numbers.
constexpr int one_pass_centre_place(int column) {
  return ((column / 16 * 4 + column % 8 / 2) * 2 + column % 16 / 8) * 2 + column % 2;
}

/// One component's sums in one lane: the tiles of Σ r (z − c)(z − c)ᵀ, c the float16 centre, as tensor cores hold them
/// ([tile][register][thread]), then Σ r z [8 · groups], then Σ r. Columns are in their order.
constexpr int one_pass_firsts(int groups) { return tile_count(groups) * 128; }
constexpr int one_pass_weight(int groups) { return one_pass_firsts(groups) + group_columns * groups; }
constexpr int one_pass_sums_size(int groups) { return one_pass_weight(groups) + 8; }

/// Rows of a block's tile in float16 lie so many numbers apart: an odd number of sixteen bytes, so that eight rows hit
/// different banks.
constexpr int one_pass_stride(int groups) { return 16 * steps_of(groups) + 8; }
/// Terms of a component lie so many numbers apart, for so many warps.
constexpr int one_pass_terms(int warps) { return 32 * warps + 8; }

/// How components are shared out; none where there is no such kernel or no room.
one_pass_plan plan_one_pass(int groups, int components);

}  // namespace shoal::gmm::tensor_matrix
