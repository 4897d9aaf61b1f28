// How well two labellings of the same rows agree. The door to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shoal::metrics {

/// How many rows carry each pair of labels.
struct contingency_table {
  std::vector<std::int32_t> first;    ///< [A] distinct labels of the first labelling, ascending
  std::vector<std::int32_t> second;   ///< [B] distinct labels of the second labelling, ascending
  std::vector<std::uint64_t> counts;  ///< [A][B] rows with first[a] and second[b]
  std::uint64_t rows = 0;             ///< Σ counts

  std::uint64_t operator()(std::size_t a, std::size_t b) const { return counts[a * second.size() + b]; }
};

/// Counts the pairs of labels. Labels are any integers, and need not be dense. Throws bad_argument when the two are not
/// of one length.
contingency_table contingency(std::span<const std::int32_t> first, std::span<const std::int32_t> second);

/// Agreement of two labellings whatever the labels are called: 1 when they cut the rows alike, 0 as expected by chance,
/// at least −0.5. Two labellings that are both a single group, or both all different, agree fully, as does an empty
/// table. (Hubert & Arabie 1985, equation 5.)
double adjusted_rand_index(const contingency_table& table);

}  // namespace shoal::metrics
