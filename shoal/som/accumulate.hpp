// Rows into statistics: each row is added to its best-matching unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/som/search.hpp>
#include <shoal/som/statistics.hpp>

namespace shoal::som {

/// Best-matching units of the rows of one piece, found by all members of the team.
template <class Scalar>
struct piece_search {
  aligned_buffer<std::int32_t> best;
  aligned_buffer<std::int32_t> second;
  aligned_buffer<double> distances;
  std::vector<search_scratch<Scalar>> members;

  /// Every member of the team calls it; the results are whole when it returns.
  void operator()(const codebook_index<Scalar>& index, const row_block<Scalar>& piece, const team_member& member,
                  bool with_second);
};
extern template struct piece_search<float>;
extern template struct piece_search<double>;

/// The body of the fold of an epoch of batch training (see folder).
template <class Scalar>
struct accumulate_body {
  using scratch = piece_search<Scalar>;

  const codebook_index<Scalar>* index = nullptr;
  const double* centre = nullptr;  ///< [columns] what the sums are about
  std::int32_t* units = nullptr;   ///< [all rows] written when not null

  void operator()(const row_block<Scalar>& piece, const team_member& member, scratch& memory, statistics& into) const;
};
extern template struct accumulate_body<float>;
extern template struct accumulate_body<double>;

}  // namespace shoal::som
