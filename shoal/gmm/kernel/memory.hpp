// The memory that one team's kernels work in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/gmm/tuning.hpp>
#include <shoal/gmm/workspace.hpp>

namespace shoal::gmm {

/// A row's index within its block.
using row_index = std::uint16_t;

/// What each member of a team has for itself.
template <class Arithmetic>
struct member_memory {
  aligned_buffer<Arithmetic>
      centred;  ///< [d + 1][panel_stride], x − c times the root of the responsibility; or a tile of wide rows
  aligned_buffer<Arithmetic>
      responsibility;                ///< [panel_stride], the root of one component's, or of a few diagonal ones
  aligned_buffer<Arithmetic> group;  ///< [d][lanes of one group], x − c
  aligned_buffer<Arithmetic> sums;   ///< a vector for each element of a small triangle, or the tiles of wide rows
  aligned_buffer<row_index> rows;    ///< [panel_stride], the rows that a component holds
  aligned_buffer<const Arithmetic*> listed;  ///< [panel_stride], where these lie, when they are wide
                                             // Of wide rows:
  aligned_buffer<Arithmetic> origin;         ///< [d], what components that are near to it have their sums about
  aligned_buffer<unsigned char> near;        ///< [K], whether a component is
  aligned_buffer<unsigned char> touched;     ///< [K], whether `sums` holds something of a component
  aligned_buffer<double> weight;             ///< [K], the Σ r of what it holds
};

/// What a team has for one block of rows. Row vectors are [panel_stride], zero beyond the block's rows.
template <class Arithmetic>
struct block_memory {
  aligned_buffer<Arithmetic> panel;        ///< [d][panel_stride], the rows as columns, unless they are wide
  aligned_buffer<const Arithmetic*> rows;  ///< [panel_stride], where wide rows lie; blank ones beyond the block's
  aligned_buffer<Arithmetic> blank;        ///< [d] zeros: a row beyond the block's
  aligned_buffer<Arithmetic> terms;        ///< [K][panel_stride], ‖y‖², then exp(ln p − greatest)
  aligned_buffer<Arithmetic> weights;      ///< sample weights
  aligned_buffer<Arithmetic> extent;       ///< max |x|
  aligned_buffer<Arithmetic> greatest;     ///< max over components of ln πₖN(x) − log_shift
  aligned_buffer<Arithmetic> best_norm;    ///< ‖y‖² of that component
  aligned_buffer<Arithmetic> sum;          ///< Σ exp(ln p − greatest)
  aligned_buffer<Arithmetic> log_sum;      ///< its logarithm
  aligned_buffer<Arithmetic> scale;        ///< weight / sum: what makes terms into weighted responsibilities
  aligned_buffer<Arithmetic> guess;        ///< the component that a row seems to belong to, by its first columns
  std::vector<std::size_t> starts;         ///< [K + 1], rows sorted by guess
  std::vector<member_memory<Arithmetic>> members;
  const char* next_rows = nullptr;  ///< the block that comes next, when it lies in memory without gaps
  std::size_t next_bytes = 0;
};

template <class Scalar>
struct workspace<Scalar>::memory {
  block_memory<Scalar> own;
  block_memory<double> in_double;      ///< rows far from every component
  aligned_buffer<double> far_rows;     ///< [block_rows][d]
  aligned_buffer<double> far_weights;  ///< [block_rows]
  std::vector<std::size_t> far;        ///< their indices within the block
};

}  // namespace shoal::gmm
