// The rows that components hold in part, section by section, and which of those sections float16 terms are enough for.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/tensor_wide/layout.hpp>

namespace shoal::gmm::tensor_wide {

/// A row that a component holds.
struct held_row {
  unsigned row;  ///< of the chunk
  float root;    ///< √(w r) / 2^exponent
};

/// What is known of the rows that a component holds of a section.
struct section_facts {
  double weight;   ///< Σ w r
  double squares;  ///< Σ (w r)²; tied: Σ w², of component 0 alone
  double spread;   ///< Σ w r ‖z‖² of a few rows, z in units of a column's deviation given the others
  double sampled;  ///< Σ w r of those rows
  unsigned count;  ///< of rows
  int exponent;    ///< of the roots
  int halves;      ///< not zero: products of float16 terms are enough
};

/// The lists of a chunk. Sections are numbered from the chunk's first.
struct held_sections {
  held_row* rows = nullptr;        ///< [K][row_stride], a section's from its first row on
  section_facts* facts = nullptr;  ///< [K][section_stride]; null: there are no lists, all is float64
  double2* before = nullptr;       ///< [K, 1 for tied] weight and squares of the share's sections so far
  std::size_t row_stride = 0;
  unsigned section_stride = 0;
  unsigned section_rows = 0;
  unsigned first_row = 0;  ///< rows of the chunk are numbered from this one on

  __host__ __device__ const section_facts& of(unsigned k, unsigned section) const {
    return facts[std::size_t{k} * section_stride + section];
  }
  /// Those of a part of the chunk that begins with this row, the first of a section.
  held_sections from(std::size_t row) const {
    held_sections part = *this;
    part.rows += row;
    part.facts += row / section_rows;
    part.first_row += static_cast<unsigned>(row);
    return part;
  }
};

/// Such lists on one GPU; empty where a share has too few rows for float16 terms.
class section_buffers {
 public:
  section_buffers(const problem& mixture, std::size_t share_rows, std::size_t section_rows, std::size_t chunk_rows);

  const held_sections& get() const { return held_; }
  /// Before the first chunk.
  void clear(cudaStream_t stream);

 private:
  held_sections held_;
  cuda::device_buffer<held_row> rows_;
  cuda::device_buffer<section_facts> facts_;
  cuda::device_buffer<double2> before_;
};

/// Lists the rows of a chunk after their responsibilities, and decides.
void list_rows(const problem& mixture, const row_chunk& chunk, const row_terms& terms, const held_sections& held,
               cudaStream_t stream);

}  // namespace shoal::gmm::tensor_wide
