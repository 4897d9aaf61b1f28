// What the exact solver does with one row of costs, for many columns at once. Costs are promoted to float64 first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shoal::assignment {

/// Columns that are alike modulo this make a group, on every instruction set.
inline constexpr std::size_t column_groups = 32;

/// What a kernel may write behind the last entry that it appends.
inline constexpr std::size_t append_slack = 16;

/// minima[g] ← the least costs[j] − potentials[j] of the columns j of group g, +∞ for none. Returns whether every cost
/// is at most `most` in size, or +∞.
bool group_minima(const float* costs, const double* potentials, std::size_t columns, double most, double* minima);
bool group_minima(const double* costs, const double* potentials, std::size_t columns, double most, double* minima);
bool group_minima(const std::int32_t* costs, const double* potentials, std::size_t columns, double most,
                  double* minima);
bool group_minima(const std::int64_t* costs, const double* potentials, std::size_t columns, double most,
                  double* minima);

/// Where appended entries go: their columns, and their costs or distances.
struct entries {
  std::uint64_t* columns = nullptr;
  double* values = nullptr;
};

/// Appends the columns from `first` to `last` whose costs[j] − potentials[j] is at most `bound`, ascending, with their
/// costs, and stops at `limit`. Returns how many.
std::size_t append_within(const float* costs, const double* potentials, std::size_t first, std::size_t last,
                          double bound, std::size_t limit, entries out);
std::size_t append_within(const double* costs, const double* potentials, std::size_t first, std::size_t last,
                          double bound, std::size_t limit, entries out);
std::size_t append_within(const std::int32_t* costs, const double* potentials, std::size_t first, std::size_t last,
                          double bound, std::size_t limit, entries out);
std::size_t append_within(const std::int64_t* costs, const double* potentials, std::size_t first, std::size_t last,
                          double bound, std::size_t limit, entries out);

/// What a first look at a row finds.
struct row_check {
  bool valid = true;  ///< every cost is at most `most` in size, or +∞
  std::size_t count = 0;
};

/// Appends the columns whose cost is at most `bound`, ascending, with their costs, and checks all costs of the row.
row_check append_checked(const float* costs, std::size_t columns, double bound, double most, entries out);
row_check append_checked(const double* costs, std::size_t columns, double bound, double most, entries out);
row_check append_checked(const std::int32_t* costs, std::size_t columns, double bound, double most, entries out);
row_check append_checked(const std::int64_t* costs, std::size_t columns, double bound, double most, entries out);

/// What the least cost of a row is, and whether all are valid.
struct least_check {
  bool valid = true;  ///< every cost is at most `most` in size, or +∞
  double least = 0;   ///< +∞ where all are
};

/// One pass over the costs alone.
least_check find_least(const float* costs, std::size_t columns, double most);
least_check find_least(const double* costs, std::size_t columns, double most);
least_check find_least(const std::int32_t* costs, std::size_t columns, double most);
least_check find_least(const std::int64_t* costs, std::size_t columns, double most);

/// Appends the columns from `first` to `last` whose costs[j] − potentials[j] + shift is less than distances[j] and than
/// `bound`, ascending, with that distance. Returns how many.
std::size_t append_nearer(const float* costs, const double* potentials, const double* distances, std::size_t first,
                          std::size_t last, double shift, double bound, entries out);
std::size_t append_nearer(const double* costs, const double* potentials, const double* distances, std::size_t first,
                          std::size_t last, double shift, double bound, entries out);
std::size_t append_nearer(const std::int32_t* costs, const double* potentials, const double* distances,
                          std::size_t first, std::size_t last, double shift, double bound, entries out);
std::size_t append_nearer(const std::int64_t* costs, const double* potentials, const double* distances,
                          std::size_t first, std::size_t last, double shift, double bound, entries out);

/// Whether costs[j] − potentials[j] ≥ bound for every column; not-a-number is not.
bool all_at_least(const float* costs, const double* potentials, std::size_t columns, double bound);
bool all_at_least(const double* costs, const double* potentials, std::size_t columns, double bound);
bool all_at_least(const std::int32_t* costs, const double* potentials, std::size_t columns, double bound);
bool all_at_least(const std::int64_t* costs, const double* potentials, std::size_t columns, double bound);

}  // namespace shoal::assignment
