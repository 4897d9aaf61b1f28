// Rows into statistics: assigns each row to its nearest centroid and adds it up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/kmeans/prepared_centroids.hpp>
#include <shoal/kmeans/statistics.hpp>
#include <shoal/nearest/bounded_rows.hpp>
#include <shoal/nearest/bounded_search.hpp>
#include <shoal/nearest/byte_rows.hpp>
#include <shoal/nearest/nearest.hpp>

namespace shoal::kmeans {

/// What a fit remembers of its rows from one fold to the next, so that a row that is provably still nearest to the same
/// centroid need not be compared with all (Hamerly 2010). It changes no label and no bit of the statistics.
template <class Scalar>
struct row_memory {
  std::size_t rows = 0;  ///< the first so many rows are remembered
  aligned_buffer<std::int32_t> labels;
  aligned_buffer<Scalar> others;  ///< lower bounds of the distances to every centroid but the row's own
  bool known = false;             ///< false: labels and others say nothing yet
  Scalar farthest = 0;            ///< how far any centroid has moved since
  Scalar second = 0;              ///< how far any has but `runner`
  std::int32_t runner = 0;        ///< the centroid that moved farthest
};

/// The same with a bound for each centroid (Elkan 2003), for rows so wide that comparing a row with a centroid takes
/// longer than looking at their bound.
struct pair_memory {
  bounded_rows rows;
  byte_centroids centroids;
  aligned_buffer<std::int32_t> labels;
  bool labelled = false;  ///< false: labels say nothing yet, nor do bounds
};

/// The body of the fold of Lloyd's algorithm (see folder).
template <class Scalar>
struct accumulate_body {
  /// Of one member of a team.
  struct member_scratch {
    nearest_scratch<Scalar> nearest;
    aligned_buffer<Scalar> distances;
    aligned_buffer<Scalar> packed;  ///< rows without gaps between them
    aligned_buffer<Scalar> others;
    aligned_buffer<std::int32_t> labels;
    aligned_buffer<std::int32_t> doubtful;
    std::size_t hopeless = 0;  ///< slabs to go before the remembered bounds are tried again
    bounded_scratch bounded;
  };
  struct scratch {
    aligned_buffer<std::int32_t> labels;
    std::vector<double> inertia;  ///< of each block of a slab
    std::vector<member_scratch> members;
  };

  const prepared_centroids<Scalar>* centroids = nullptr;
  std::int32_t* labels = nullptr;            ///< [all rows] written when not null
  row_memory<Scalar>* remembered = nullptr;  ///< used and brought up to date when not null
  byte_rows* bytes = nullptr;                ///< the same, about the origin of the centroids
  pair_memory* pairs = nullptr;              ///< the same, instead of both

  void operator()(const row_block<Scalar>& piece, const team_member& member, scratch& memory, statistics& into) const;
};
extern template struct accumulate_body<float>;
extern template struct accumulate_body<double>;

}  // namespace shoal::kmeans
