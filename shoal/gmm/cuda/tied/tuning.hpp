// How far tied mixtures are taken as spherical ones.
#pragma once

#include <cstddef>

#include <shoal/execution/precision.hpp>

namespace shoal::gmm::tied {

inline constexpr std::size_t most_columns = 2048;
/// The kernels for spherical mixtures take so many components of few columns, and of more those that read rows once.
/// Others are taken by the kernels for many components up to narrow_columns, and by float64 products beyond: 10⁶ rows
/// of (columns, components) take with the kernels from before and as spherical mixtures (8, 257) 4.0 and 1.5 ms, (8,
/// 1000) 14.0 and 3.5, (16, 257) 4.1 and 1.6, (3, 300) 3.0 and 1.4, (17, 129) 3.7 and 1.2, (64, 129) 12.4 and 1.5, (64,
/// 1000) 88 and 4.9, (128, 129) 40 and 2.0; 30,000 of (16, 257) 0.61 and 0.23, 10,000 of (32, 130) 0.40 and 0.19, (64,
/// 130) 0.65 and 0.29. From 65 components on they are faster than float64 products as well: 10⁶ of (17, 65) 0.83 for
/// 1.31, (64, 100) 1.11 for 1.77, (128, 128) 1.66 for 2.28 (bench/results/tied-65-to-128-nvidia-h200-2026-11-28.json).
inline constexpr std::size_t most_product_components = 256, most_components = 64;
/// Few columns by so many components go to the kernels that find densities twice, of which eleven bits take one product
/// (bench/results/tied-few-columns-nvidia-h200-2026-11-29.json): (10⁶, 16, 64) 0.283 and 0.171 ms, (10⁶, 13, 100) 0.449
/// and 0.213, (10⁶, 8, 1000) in float32 3.72 and 1.43.
constexpr bool takes_terms(precision least, std::size_t rows, std::size_t components) {
  if (components > most_product_components) return true;
  return least != precision::float32 && components >= 33 && rows * components >= 3'300'000;
}
/// Beyond narrow_columns float64 products take more than so many components as a diagonal mixture.
inline constexpr std::size_t most_wide_components = 128;
inline constexpr std::size_t narrow_columns = 128;

/// How far a spherical component may be from the origin in one column, in its deviations, and the sum of squares over
/// all columns. Both are a little less than what the kernels for spherical mixtures take (12, and 256 or twice the
/// columns), which round where the origin is.
inline constexpr double most_column_distance = 11.5;
constexpr double most_squared_distance(unsigned columns) { return columns <= narrow_columns ? 240 : 1.875 * columns; }

/// Rows of which Σ (zⱼ/sⱼ)² is beyond 1024 + 16·d, or 400 of few columns, are done in float64. With closely correlated
/// columns all rows are, since sⱼ is a column's deviation given the others: so the mean row may have this much at most.
/// It bounds too what is left of Σ z zᵀ in the direction of least variance.
constexpr double most_mean_norm(unsigned columns) { return columns <= 16 ? 8.0 * columns : 128 + 4.0 * columns; }

/// Rows whose mean is the centre of what is learnt. An outlier D deviations away moves it by D/512, which costs sums
/// over N rows (D/512)²·N·ε beside the D² that is in them anyway.
inline constexpr std::size_t centre_rows = 512;

/// By one product tensor_matrix reads such rows once, and has no launches beside that: 10⁶ rows of (24 columns, 2
/// components) take .189 ms as a spherical mixture and .146 so, (24, 5) .207 and .188, (24, 10) .217 and .255, (64, 5)
/// .259 and .431.
constexpr bool reads_rows_once(std::size_t columns, std::size_t components) {
  return columns > 16 && columns <= 64 && columns * components <= 120;
}

/// Where it is faster, mostly by a row's products with the matrices of all components. Twelve launches more cost some
/// 50 µs. (rows, columns, components) take with the kernels from before and as spherical mixtures
/// (bench/results/tied-as-spherical-nvidia-h200-2026-11-24.json): float32 (10⁷, 16, 10) 3.92 and 0.63 ms, (10⁷, 8, 2)
/// 0.53 and 0.45, (10⁶, 8, 16) 0.14 and 0.09, (10⁶, 3, 64) 0.18 and 0.14, (100,000, 16, 5) 0.12 and 0.06, (30,000, 16,
/// 33) 0.079 and 0.077; but (10⁷, 3, 16) 0.42 and 0.49, (10⁶, 2, 33) 0.10 and 0.12, (10⁶, 6, 10) 0.07 and 0.08, (10⁶,
/// 13, 2) 0.10 and 0.11. (100,000, 129, 33) 7.3 and 0.52, (1000, 256, 33) 0.53 and 0.37, (1000, 256, 10) 0.28 and 0.28.
/// Float64 (10⁶, 8, 33) 0.61 and 0.46, (10⁶, 10, 5) 0.40 and 0.12, (10⁶, 14, 10) 0.37 and 0.32, (10⁶, 4, 65) 0.61 and
/// 0.54, (10⁶, 4, 100) 1.31 and 0.76, (10⁶, 6, 160) 2.33 and 2.19, (10⁶, 8, 160) 2.91 and 2.60; but (10⁶, 5, 2) 0.054
/// and 0.064, (10⁶, 16, 33) 0.64 and 0.84, (10⁶, 8, 200) 3.6 and 4.7, (10⁶, 8, 320) 5.3 and 34.
///
/// Where components lie apart, 20 to 100 µs to find that out are lost ((100,000, 16, 10) 0.143 and 0.160 ms, (1000,
/// 256, 10) 0.24 and 0.35, (10⁶, 64, 10) 1.27 and 1.29): so it is taken where the others take longer than that.
///
/// With fewer launches, of float32 rows (bench/results/tied-few-columns-nvidia-h200-2026-11-29.json): (100,000, 13, 33)
/// 0.102 and 0.063 ms, (30,000, 16, 64) 0.110 and 0.077, (10,000, 8, 300) 0.200 and 0.100, (10⁶, 8, 5) 0.059 and 0.048,
/// (10⁷, 6, 2) 0.110 and 0.096, (10⁷, 8, 2) 0.470 and 0.127; but (10⁶, 8, 2) 0.026 and 0.042, (10⁷, 5, 2) 0.100 and
/// 0.098, (100,000, 3, 100) 0.052 and 0.067; densities found twice (10⁶, 2, 100) 0.246 and 0.175, (100,000, 1, 1000)
/// 0.214 and 0.191, (10⁶, 2, 300) 0.670 and 0.493, but (10⁶, 2, 33) 0.099 and 0.092, (10,000, 3, 1000) 0.136 and 0.155.
constexpr bool is_faster(std::size_t value_bytes, precision least, std::size_t rows, std::size_t columns,
                         std::size_t components) {
  if (components < 2) return false;
  const auto products = static_cast<double>(rows) * static_cast<double>(columns * columns * components);
  if (value_bytes == 8) {
    const bool wide_enough = columns >= 6 || (columns >= 4 && components >= 65);
    return rows >= 300'000 && products >= 3e8 && wide_enough && columns <= 14 && components <= 160 &&
           (columns <= 8 || columns * components <= 330);
  }
  if (columns > narrow_columns) return products >= 2e9;
  if (columns > 16) return products >= 1e9;
  if (components >= 16) {
    if (columns < 3 && !takes_terms(least, rows, components)) return false;
    const bool many = (components > most_product_components && columns >= 8 && products >= 1.9e8) ||
                      (takes_terms(least, rows, components) && rows * components >= 100'000'000);
    return columns * components >= 64 && (many || (columns >= 3 && products >= 4e8));
  }
  if (columns >= 12 && columns * components >= 80) return products >= 5e8;
  if (columns >= 8) return products >= (columns == 8 && components <= 5 ? 3.2e8 : 6.4e8);
  return columns >= 6 && components <= 6 && products >= 7.2e8;
}

/// Squared deviations of a component's centre from the origin, and of a row in the mean, each column in its deviation
/// given the others, up to which sums about the origin in float64 keep the digits that rows have.
constexpr double most_linear_norm(std::size_t value_bytes, std::size_t columns) {
  return (value_bytes == 4 ? 0x1p26 : 0x1p15) + 16 * static_cast<double>(columns);
}

/// Products up to which mixtures that are beyond that are left to the plain kernels, whose launches are the fewest.
inline constexpr double most_plain_products = 2e9;

/// Where linear functions in float64 are faster. (rows, columns, components) take with the kernels from before and so,
/// float32 rows (10⁵, 24, 10) 0.098 and 0.056 ms, (10⁵, 33, 10) 0.093 and 0.080, (10⁵, 65, 2) 0.163 and 0.104, (10⁵,
/// 96, 2) 0.142 and 0.119, (10⁴, 65, 64) 0.163 and 0.153, (10⁴, 192, 33) 0.27 and 0.18; when sums were slower (10⁵,
/// 300, 2) 0.35 and 0.40, (10⁶, 64, 2) 0.29 and 0.37, (10⁶, 32, 5) 0.20 and 0.31; float64 (10⁵, 17, 2) 0.073 and 0.052,
/// (10⁶, 24, 2) 0.40 and 0.22, (10⁶, 64, 2) 1.11 and 0.39, (10⁵, 128, 33) 0.56 and 0.47, (10⁶, 64, 10) 1.25 and 1.25.
///
/// Of fewer columns, or more components (bench/results/tied-few-columns-nvidia-h200-2026-11-29.json): float64 (1000,
/// 13, 100) 0.091 and 0.054 ms, (1000, 8, 100) 0.070 and 0.048, (10,000, 13, 100) 0.102 and 0.073, (10,000, 8, 100)
/// 0.076 and 0.067, (1000, 8, 33) 0.038 and 0.034, (1000, 16, 10) 0.046 and 0.033, (10,000, 16, 5) 0.041 and 0.035,
/// (100,000, 13, 10) 0.073 and 0.061, but (1000, 3, 100) 0.029 and 0.043, (100,000, 5, 33) 0.057 and 0.070; float32
/// (1000, 16, 2) 0.035 and 0.028, (10,000, 16, 10) 0.043 and 0.036, (10,000, 13, 33) 0.046 and 0.045, (1000, 16, 256)
/// 0.133 and 0.096, (10,000, 16, 256) 0.179 and 0.122, (10,000, 24, 100) 0.146 and 0.093, (1000, 40, 100) 0.163 and
/// 0.075, but (1000, 13, 2) 0.028 and 0.029, (1000, 8, 100) 0.047 and 0.048, (10,000, 8, 64) 0.037 and 0.046.
inline constexpr std::size_t least_linear_columns = 17, few_linear_rows = 20'000, most_linear_float_rows = 200'000;
inline constexpr std::size_t most_usual_linear_components = 64;
constexpr bool is_faster_linear(std::size_t value_bytes, std::size_t rows, std::size_t columns,
                                std::size_t components) {
  const auto products = static_cast<double>(rows) * static_cast<double>(columns * components);
  if (columns < least_linear_columns) {
    if (value_bytes == 8) return columns >= 8 && columns * components >= 80 && products <= 1.3e7;
    return columns >= 13 && columns * components >= 32 && products <= 4.1e7 && rows <= few_linear_rows;
  }
  if (components > most_usual_linear_components) {
    return value_bytes == 8 ? products <= 1.3e7 : products <= 4.1e7 && rows <= few_linear_rows;
  }
  if (value_bytes == 8) return products <= 5e8;
  return products <= 2e8 && (rows <= few_linear_rows || (rows <= most_linear_float_rows && columns <= 256));
}

}  // namespace shoal::gmm::tied
