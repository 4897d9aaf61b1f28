// How well a codebook stands for rows, by one fold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include <shoal/execution/fold.hpp>
#include <shoal/som/accumulate.hpp>
#include <shoal/som/lattice_geometry.hpp>
#include <shoal/som/quality.hpp>

namespace shoal::som {

/// In units of the stored weights.
struct quality_statistics {
  std::vector<double> hits;  ///< [units] Σ w
  double error = 0;          ///< Σ w·(distance to the best-matching unit)
  double torn = 0;           ///< Σ w of the rows whose two best-matching units are not neighbours
};

/// The commutative monoid (group, but for rounding) of them.
struct quality_monoid {
  using value_type = quality_statistics;
  static constexpr algebra::operation_laws laws = algebra::rounded_sums;
  static auto parts(auto& value) { return std::tie(value.hits, value.error, value.torn); }
  std::size_t units = 0;

  quality_statistics identity() const { return {std::vector<double>(units), 0, 0}; }
  void reset(quality_statistics& value) const {
    std::fill(value.hits.begin(), value.hits.end(), 0.0);
    value.error = 0;
    value.torn = 0;
  }
  void combine_into(quality_statistics& into, const quality_statistics& from) const {
    for (std::size_t u = 0; u < into.hits.size(); ++u) into.hits[u] += from.hits[u];
    into.error += from.error;
    into.torn += from.torn;
  }
  std::size_t bytes() const { return (units + 2) * sizeof(double); }
};

template <class Scalar>
struct quality_body {
  using scratch = piece_search<Scalar>;

  const codebook_index<Scalar>* index = nullptr;
  lattice_shape shape;
  std::int32_t* units = nullptr;  ///< [all rows] written when not null
  bool torn = true;               ///< also look for second-best units

  void operator()(const row_block<Scalar>& piece, const team_member& member, scratch& memory,
                  quality_statistics& into) const;
};
extern template struct quality_body<float>;
extern template struct quality_body<double>;

/// In the caller's weights.
quality quality_of(const quality_statistics& folded, double total_weight, double weight_scale);

}  // namespace shoal::som
