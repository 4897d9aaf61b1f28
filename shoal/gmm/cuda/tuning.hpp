// Which kernel takes which shape of a mixture on a GPU where the model of cost (cost.hpp) does not know it, with what
// was measured for each on an NVIDIA H200, in milliseconds for (rows, columns, components). Each of these thresholds
// goes once the shapes that it still chooses for have been timed. The rooms' own tuning.hpp have the kernels' sizes.
#pragma once

#include <cstddef>

#include <shoal/gmm/covariance_type.hpp>

namespace shoal::gmm {

/// Two teams are faster from so many rows for each multiprocessor and so many components on: accumulate and merge take,
/// with two and with one, 0.0116 and 0.0122 ms at (46,800, 8, 8), 0.0169 and 0.0181 at (131,072, 8, 8) and 0.0239 and
/// 0.0267 at (200,000, 8, 10), but 0.0139 and 0.0137 with diagonal covariances at (131,072, 8, 10), and with full ones
/// 0.0429 and 0.0422 at (2²⁰, 8, 3), where a stage is soon done; 0.0449 and 0.0527 at (2²⁰, 8, 5).
constexpr std::size_t least_team_rows(covariance_type type) { return type == covariance_type::full ? 350 : 1024; }
inline constexpr std::size_t least_team_components = 5;

/// Up to so many components, and numbers of all their moments, the kernels for few columns are the fastest. They hold a
/// row's responsibilities for all components in shared memory, so that few rows fit beside many. 300,000 rows of
/// (columns, components) take with them and by tensor cores, which pad to 16 columns: full float32 (2, 500) 1.84 and
/// 2.20, (2, 1000) 12.7 and 4.34, (3, 350) 1.46 and 1.57, (3, 500) 2.22 and 2.17, (4, 256) 0.56 and 1.09, (4, 350) 1.67
/// and 1.51, (4, 500) 2.53 and 2.12, (6, 256) 0.88 and 1.10, (6, 350) 3.92 and 1.50, (8, 150) 0.82 and 0.79, (8, 200)
/// 1.01 and 0.98, (8, 256) 1.23 and 1.12, (8, 350) 5.31 and 1.51, (8, 500) 8.63 and 2.19, (12, 150) 1.35 and 0.82; diag
/// float32 (2, 256) 0.35 and 0.45, (2, 350) 1.16 and 0.57, (5, 256) 0.49 and 0.45, (12, 150) 0.60 and 0.46; full
/// float64 (2, 500) 7.0 and 15.6, (8, 256) 4.1 and 8.1, (8, 350) 30.5 and 12.1, (12, 150) 5.26 and 5.28, (12, 256) 15.0
/// and 8.4; diag float64 (2, 350) 6.0 and 5.6, (5, 350) 4.8 and 5.6, (8, 350) 11.0 and 5.6.
struct few_columns_limit {
  std::size_t components;
  std::size_t numbers;
};
template <class Scalar>
constexpr few_columns_limit few_columns_limit_of(bool matrices, std::size_t columns) {
  if constexpr (sizeof(Scalar) == 8) return matrices ? few_columns_limit{512, 13000} : few_columns_limit{320, 13000};
  if (!matrices) return few_columns_limit{256, 2560};
  return columns >= 4 && columns <= 8 ? few_columns_limit{256, 8192} : few_columns_limit{512, 6144};
}

/// Tied float64 mixtures of so many rows and columns, and of more components than the model of cost knows, take tensor
/// cores from fewer components and numbers on, since these multiply rows with a matrix once for all of them: 10⁶ rows
/// of (columns, components) take with the kernels for few columns and by tensor cores (3, 160) 2.02 and 2.91 ms, (3,
/// 200) 3.72 and 3.79, (3, 257) 8.3 and 5.1, (4, 160) 2.09 and 3.01, (4, 200) 3.90 and 3.97, (4, 257) 9.0 and 4.8, (6,
/// 160) 2.33 and 3.05, (6, 200) 5.05 and 4.27, (8, 101) 3.11 and 2.07, (8, 129) 5.5 and 2.7, (10, 129) 4.6 and 2.9,
/// (12, 129) 12.3 and 2.6; 100,000 rows (8, 129) 0.66 and 0.33, (4, 257) 1.01 and 0.55.
inline constexpr std::size_t least_tied_rows = 100'000, least_tied_columns = 3, most_known_tied_components = 100;
inline constexpr few_columns_limit tied_double_limit{192, 5000};

/// Full and tied mixtures take tensor cores before that when there are so many columns, so many numbers K·d³ and so
/// many rows for each multiprocessor: with the kernels for few columns and with them 2²⁰ rows take, (16 columns, 16
/// components) 0.494 and 0.439, (16, 24) 0.770 and 0.625, tied 0.856 and 0.653, where components lie apart 0.770 and
/// 0.466, (16, 40) 1.33 and 0.98, (15, 24) 0.670 and 0.603, (13, 32) 0.668 and 0.647, but (15, 16) 0.424 and 0.457,
/// (14, 20) 0.519 and 0.564, (12, 48) 0.988 and 1.004, (9, 100) 1.34 and 1.90; 200,000 rows (16, 24) 0.178 and 0.204.
inline constexpr std::size_t least_first_columns = 13;
inline constexpr std::size_t least_first_numbers = std::size_t{1} << 16;
inline constexpr std::size_t least_first_rows = 3000;

/// In float64 they do from so many columns on, and so many rows: 10⁶ rows of (12 columns, 1 component) take with the
/// kernels for few columns and with them 0.62 and 0.17 ms, (12, 5) 0.45 and 0.30, tied 0.54 and 0.30, (12, 10) 0.57 and
/// 0.53, but (12, 33) 1.32 and 1.42, which the model of cost knows.
inline constexpr std::size_t least_first_double_columns = 12;
inline constexpr std::size_t least_first_double_rows = 100'000;
/// And of any number of rows from so many columns and components on. In ms, with the kernels for few columns and with
/// them, (rows, columns, components): tied (1000, 13, 100) 0.138 and 0.078, (1000, 13, 33) 0.063 and 0.050, (1000, 13,
/// 10) 0.037 and 0.033, (10,000, 13, 100) 0.164 and 0.096, (30,000, 13, 100) 0.293 and 0.112, full (10,000, 13, 100)
/// 0.161 and 0.089, (10,000, 13, 33) 0.064 and 0.042, (1000, 13, 10) 0.027 and 0.020, (1000, 16, 5) 0.040 and 0.019;
/// but tied (1000, 8, 100) 0.060 and 0.080, (10,000, 8, 33) 0.032 and 0.052, full (10,000, 8, 100) 0.061 and 0.082.
inline constexpr std::size_t least_few_rows_columns = 13, least_few_rows_components = 5;

/// One full component of so many columns and few rows goes to two teams, whose threads share its sums: (1000, 16, 1)
/// takes 0.014 ms with them and 0.047 with one team, (1000, 16, 5) 0.016 and 0.018.
inline constexpr std::size_t least_lone_team_columns = 16;

/// From so many components on moments of full and tied mixtures are taken about the centre that all share: (2¹⁹, 32,
/// 16) takes 0.543 with it and 0.438 without, with 24 components 0.600 and 0.601, (2¹⁹, 54, 32) 1.475 and 1.767, (2²⁰,
/// 32, 64) 1.94 and 2.72. With one product (2¹⁹, 32, 16) takes 0.322 and 0.326, (2¹⁹, 54, 16) 0.596 and 0.711, (2²⁰,
/// 32, 64) 1.09 and 1.87.
constexpr int least_moments_components(int products) { return products == 3 ? 24 : 16; }

/// Columns, and numbers of all components' means, up to which predictions of diagonal and spherical mixtures find each
/// row's distances twice and leave tensor cores alone: labels of (2²⁰, 8, 10) take 0.240 ms, and 0.481 by tensor cores,
/// which take as long for any numbers up to 16 columns and 128 components.
inline constexpr int most_prediction_columns = 32;
inline constexpr std::size_t most_prediction_numbers = 256;

}  // namespace shoal::gmm
