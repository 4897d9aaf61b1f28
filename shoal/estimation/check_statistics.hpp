// What the check of the data folds the rows into: positions of what is refused, moments of each column, a fingerprint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include <shoal/core/matrix_view.hpp>
#include <shoal/execution/fold.hpp>

namespace shoal {

inline constexpr std::size_t no_bad_row = std::numeric_limits<std::size_t>::max();

/// Of some rows. Moments are weighted and mean nothing once there is a bad row or a bad weight.
struct check_statistics {
  std::size_t rows = 0;
  std::size_t positive_rows = 0;        ///< rows of positive weight
  std::size_t bad_row = no_bad_row;     ///< first row with a value that is not finite
  std::size_t bad_weight = no_bad_row;  ///< first row with a weight that is negative or not finite
  double weight = 0;                    ///< Σ w
  double largest_weight = 0;
  std::uint64_t fingerprint = 0;      ///< mod 2⁶⁴
  std::vector<double> mean;           ///< [columns]; zero when the weight is zero
  std::vector<double> second_moment;  ///< [columns] Σ w (x − mean)²
  std::vector<double> minimum;        ///< [columns] of the rows of positive weight
  std::vector<double> maximum;        ///< [columns] of the rows of positive weight
};

/// The commutative monoid of check_statistics: moments combine by Chan, Golub & LeVeque (1979), up to rounding; all
/// else exactly.
struct check_monoid {
  using value_type = check_statistics;
  static constexpr algebra::operation_laws laws = algebra::rounded_moments;
  static auto parts(auto& value) {
    return std::tie(value.rows, value.positive_rows, value.bad_row, value.bad_weight, value.weight,
                    value.largest_weight, value.fingerprint, value.mean, value.second_moment, value.minimum,
                    value.maximum);
  }
  std::size_t columns;

  value_type identity() const;
  void reset(value_type& value) const;
  void combine_into(value_type& into, const value_type& from) const;
  std::size_t bytes() const { return sizeof(value_type) + 4 * columns * sizeof(double); }
};

/// The body of the fold (see folder).
template <class Scalar>
struct check_body {
  struct scratch {
    check_statistics block;
  };
  bool fingerprint = false;  ///< whether to take one

  void operator()(const row_block<Scalar>& piece, const team_member& member, scratch& memory,
                  check_statistics& into) const;

 private:
  void summarise(matrix_view<const Scalar> rows, const Scalar* weights, std::size_t first,
                 check_statistics& block) const;
};
extern template struct check_body<float>;
extern template struct check_body<double>;

}  // namespace shoal
