// How a block goes through the rows that components hold, where float16 terms are enough for them.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/gmm/cuda/tensor_wide/held_rows.hpp>
#include <shoal/gmm/cuda/tensor_wide/moments.hpp>

namespace shoal::gmm::tensor_wide {

/// Stage after stage of a block: its lane's sections, of each the components, of each `Rows` rows at a time. What is
/// known of a list is asked for one list ahead.
template <unsigned Rows>
struct moment_work {
  const held_sections& held;
  unsigned sections, lanes, first_component, past_component;
  unsigned section = 0, k = 0, count = 0, begin = 0;
  int exponent = 0;

  __device__ moment_work(const held_sections& lists, const row_chunk& chunk, const moment_plan& plan,
                         const block_share& share)
      : held(lists),
        sections(static_cast<unsigned>((chunk.count + held.section_rows - 1) / held.section_rows)),
        lanes(plan.lanes.lanes),
        first_component(share.first),
        past_component(share.past) {
    const auto before = static_cast<unsigned>(chunk.share_first / held.section_rows % lanes);
    next_section_ = (blockIdx.z + lanes - before) % lanes;
    next_k_ = first_component;
    ask();
    find();
  }
  __device__ bool valid() const { return section < sections; }
  __device__ bool ends_list() const { return begin + Rows >= count; }
  __device__ void next() {
    begin += Rows;
    if (begin >= count) find();
  }
  __device__ const held_row* rows() const {
    return held.rows + k * held.row_stride + std::size_t{section} * held.section_rows;
  }

 private:
  unsigned next_section_, next_k_, next_count_ = 0;
  int next_exponent_ = 0, next_halves_ = 0;

  __device__ void ask() {
    if (next_section_ >= sections) return;
    const section_facts& facts = held.of(next_k_, next_section_);
    next_count_ = facts.count;
    next_exponent_ = facts.exponent;
    next_halves_ = facts.halves;
  }
  __device__ void find() {
    begin = 0;
    do {
      section = next_section_;
      k = next_k_;
      if (!valid()) return;
      count = next_halves_ != 0 ? next_count_ : 0;
      exponent = next_exponent_;
      if (++next_k_ == past_component) {
        next_k_ = first_component;
        next_section_ += lanes;
      }
      ask();
    } while (count == 0);
  }
};

}  // namespace shoal::gmm::tensor_wide
