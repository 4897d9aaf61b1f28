// How well two labellings of the same rows agree, from the table of their pairs alone.
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

/// Counts further rows, so that labellings can be read piece by piece.
void add(contingency_table& table, std::span<const std::int32_t> first, std::span<const std::int32_t> second);

/// Agreement of two labellings whatever the labels are called: 1 when they cut the rows alike, 0 as expected by chance,
/// at least −0.5. Two labellings that are both a single group, or both all different, agree fully, as does an empty
/// table. (Hubert & Arabie 1985, equation 5.)
double adjusted_rand_index(const contingency_table& table);

/// The share of pairs of rows on which both agree: together in both, or apart in both; 1 for fewer than two rows. (Rand
/// 1971.)
double rand_index(const contingency_table& table);

/// Σ p(a, b)·ln(p(a, b) / (p(a)·p(b))), in nats.
double mutual_information(const contingency_table& table);

/// How entropies of the two labellings are brought to one number.
enum class mean_entropy { minimum, geometric, arithmetic, maximum };

/// Mutual information over the mean of the entropies, 0…1; 1 when both labellings are a single group.
double normalized_mutual_information(const contingency_table& table, mean_entropy mean = mean_entropy::arithmetic);

/// The same less what chance lets expect (hypergeometric; Vinh, Epps & Bailey 2010): 1 for equal cuts, 0 as by chance.
double adjusted_mutual_information(const contingency_table& table, mean_entropy mean = mean_entropy::arithmetic);

/// Rosenberg & Hirschberg 2007. The first labelling is the true one.
struct v_measure {
  double homogeneity = 1;   ///< each found group holds rows of one true group
  double completeness = 1;  ///< each true group lies in one found group
  double v = 1;             ///< their harmonic mean; `beta` > 1 weighs completeness more
};
v_measure v_measure_of(const contingency_table& table, double beta = 1);

/// The geometric mean of precision and recall over pairs of rows; 0 when no pair is together in both. (Fowlkes &
/// Mallows 1983.)
double fowlkes_mallows_index(const contingency_table& table);

/// The best one-to-one match of found groups to true ones.
struct matched_labels {
  double accuracy = 1;             ///< the share of rows whose groups are matched; 1 without rows
  std::vector<std::size_t> match;  ///< [A] index into `second`, or −1 (as size_t) for none
};

/// By exact linear assignment of the counts.
matched_labels match_labels(const contingency_table& table);

}  // namespace shoal::metrics
