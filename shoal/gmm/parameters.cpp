#include <shoal/gmm/parameters.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <type_traits>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <shoal/gmm/refusals.hpp>

namespace shoal::gmm {
namespace {

using row_major = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::size_t padded(std::size_t columns) { return (columns + factor_tile - 1) / factor_tile * factor_tile; }

// Runs task(0…count−1), on the workers when there are any.
void for_each(executor* workers, std::size_t count, const std::function<void(std::size_t)>& task) {
  if (workers == nullptr || count < 2) {
    for (std::size_t i = 0; i < count; ++i) task(i);
  } else {
    workers->run(count, 1, [&](std::size_t i, const team_member&) { task(i); });
  }
}

// U = L⁻ᵀ, upper triangular with UUᵀ = Σ⁻¹, where Σ = LLᵀ. Returns Σ ln diag U.
double factorise(covariance_type type, std::size_t component, const double* covariance, std::size_t columns,
                 row_major& upper) {
  const auto size = static_cast<Eigen::Index>(columns);
  const Eigen::Map<const row_major> matrix(covariance, size, size);
  const Eigen::LLT<Eigen::MatrixXd> cholesky(matrix);
  // Eigen compares pivots with zero only, which NaN passes.
  const auto diagonal = cholesky.matrixLLT().diagonal();
  if (cholesky.info() != Eigen::Success || !diagonal.allFinite()) {
    refuse_covariance(type, component, not_positive_definite);
  }
  upper = row_major::Identity(size, size);
  cholesky.matrixU().solveInPlace(upper);
  if (!upper.allFinite()) refuse_covariance(type, component, too_close_to_singular);
  return -diagonal.array().log().sum();
}

template <class Arithmetic>
void pack_triangle(const row_major& upper, Arithmetic* packed) {
  const auto columns = static_cast<std::size_t>(upper.cols());
  for (std::size_t tile = 0; tile < columns; tile += factor_tile) {
    const std::size_t rows = std::min(tile + factor_tile, columns);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = tile; j < tile + factor_tile; ++j) {
        const bool inside = i <= j && j < columns;
        *packed++ = inside ? static_cast<Arithmetic>(upper(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)))
                           : Arithmetic{0};
      }
    }
  }
}

template <class Arithmetic>
void allocate(packed_components<Arithmetic>& packed, covariance_type type, std::size_t components,
              std::size_t columns) {
  packed.padded_columns = padded(columns);
  const bool matrices = type == covariance_type::full || type == covariance_type::tied;
  const std::size_t size = matrices ? packed_factor_size(columns) : packed.padded_columns;
  packed.factor_stride = type == covariance_type::tied ? 0 : size;
  packed.centres.grow(components * columns);
  packed.offsets.grow(components * packed.padded_columns);
  packed.factors.grow(type == covariance_type::tied ? size : components * size);
  packed.log_constants.grow(components);
  std::fill_n(packed.offsets.data(), packed.offsets.size(), Arithmetic{0});
  std::fill_n(packed.factors.data(), packed.factors.size(), Arithmetic{0});
}

template <class Scalar>
void round_centres(parameters<Scalar>& into, const double* means) {
  into.centres.resize(into.components * into.columns);
  for (std::size_t i = 0; i < into.centres.size(); ++i) {
    const auto centre = static_cast<Scalar>(means[i]);
    if (!std::isfinite(centre)) refuse_mean(i / into.columns, i % into.columns, means[i], sizeof(Scalar));
    into.centres[i] = static_cast<double>(centre);
  }
}

// What one component's kernel needs, in float64.
struct prepared_component {
  row_major upper;              // full and tied
  std::vector<double> inverse;  // diag and spherical: 1/σ
  std::vector<double> offset;   // b = −Uᵀ(μ − c)
  double log_determinant = 0;   // Σ ln diag U
};

void prepare_factor(const model& model, std::size_t k, prepared_component& into) {
  const std::size_t d = model.columns;
  if (model.covariance_type == covariance_type::full || model.covariance_type == covariance_type::tied) {
    const std::size_t matrix = model.covariance_type == covariance_type::full ? k : 0;
    into.log_determinant =
        factorise(model.covariance_type, k, model.covariances.data() + matrix * d * d, d, into.upper);
    return;
  }
  into.inverse.resize(d);
  for (std::size_t j = 0; j < d; ++j) {
    const double variance =
        model.covariance_type == covariance_type::diag ? model.covariances[k * d + j] : model.covariances[k];
    if (!(variance > 0) || !std::isfinite(variance)) refuse_variance(model.covariance_type, k, j, variance);
    into.inverse[j] = 1 / std::sqrt(variance);
    into.log_determinant += std::log(into.inverse[j]);
  }
}

// The part of the mean that its rounded centre leaves, carried through the factor.
void prepare_offset(const double* mean, const double* centre, std::size_t d, const prepared_component& factor,
                    std::vector<double>& offset) {
  offset.assign(d, 0.0);
  for (std::size_t i = 0; i < d; ++i) {
    const double rest = mean[i] - centre[i];
    if (rest == 0) continue;
    if (factor.inverse.empty()) {
      for (std::size_t j = i; j < d; ++j) {
        offset[j] -= factor.upper(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) * rest;
      }
    } else {
      offset[i] = -factor.inverse[i] * rest;
    }
  }
}

template <class Arithmetic>
void pack_factor(const prepared_component& factor, Arithmetic* into) {
  if (factor.inverse.empty()) {
    pack_triangle(factor.upper, into);
  } else {
    std::transform(factor.inverse.begin(), factor.inverse.end(), into,
                   [](double value) { return static_cast<Arithmetic>(value); });
  }
}

template <class Arithmetic>
void pack_component(std::size_t k, std::size_t columns, const double* centre, const std::vector<double>& offset,
                    packed_components<Arithmetic>& into) {
  for (std::size_t j = 0; j < columns; ++j) {
    into.centres[k * columns + j] = static_cast<Arithmetic>(centre[j]);
    into.offsets[k * into.padded_columns + j] = static_cast<Arithmetic>(offset[j]);
  }
}

template <class Arithmetic>
void pack_constants(const std::vector<double>& constants, std::size_t columns, packed_components<Arithmetic>& into) {
  double greatest = -std::numeric_limits<double>::infinity();
  for (const double constant : constants) greatest = std::max(greatest, constant);
  if (!std::isfinite(greatest)) greatest = 0;
  for (std::size_t k = 0; k < constants.size(); ++k) {
    into.log_constants[k] = static_cast<Arithmetic>(constants[k] - greatest);
  }
  into.log_shift = greatest - 0.5 * static_cast<double>(columns) * std::log(2 * std::numbers::pi);
}

}  // namespace

std::size_t packed_factor_size(std::size_t columns) {
  std::size_t size = 0;
  for (std::size_t tile = 0; tile < columns; tile += factor_tile) {
    size += factor_tile * std::min(tile + factor_tile, columns);
  }
  return size;
}

template <class Scalar>
parameters<Scalar> prepare(const model& model, executor* workers) {
  return prepare_about<Scalar>(model, model.means, workers);
}
template parameters<float> prepare(const model&, executor*);
template parameters<double> prepare(const model&, executor*);

template <class Scalar>
parameters<Scalar> prepare_about(const model& model, std::span<const double> centres, executor* workers) {
  const std::size_t K = model.components;
  const std::size_t d = model.columns;
  parameters<Scalar> result;
  result.covariance_type = model.covariance_type;
  result.components = K;
  result.columns = d;
  round_centres(result, centres.data());
  allocate(result.packed, model.covariance_type, K, d);
  constexpr bool needs_double = !std::is_same_v<Scalar, double>;
  if constexpr (needs_double) allocate(result.in_double, model.covariance_type, K, d);

  std::vector<double> constants(K);
  const bool tied = model.covariance_type == covariance_type::tied;
  prepared_component common;
  if (tied) {
    prepare_factor(model, 0, common);
    pack_factor(common, result.packed.factors.data());
    if constexpr (needs_double) pack_factor(common, result.in_double.factors.data());
  }
  const bool own_matrices = model.covariance_type == covariance_type::full;
  const std::size_t work = K * d * (own_matrices ? d * d : tied ? d : 1);
  for_each(work < least_shared_factor_work ? nullptr : workers, K, [&](std::size_t k) {
    prepared_component own;
    if (!tied) {
      prepare_factor(model, k, own);
      pack_factor(own, result.packed.factors.data() + k * result.packed.factor_stride);
      if constexpr (needs_double) {
        pack_factor(own, result.in_double.factors.data() + k * result.in_double.factor_stride);
      }
    }
    const prepared_component& factor = tied ? common : own;
    const double* const centre = result.centres.data() + k * d;
    std::vector<double> offset;
    prepare_offset(model.means.data() + k * d, centre, d, factor, offset);
    pack_component(k, d, centre, offset, result.packed);
    if constexpr (needs_double) pack_component(k, d, centre, offset, result.in_double);
    constants[k] = std::log(model.weights[k]) + factor.log_determinant;
  });
  pack_constants(constants, d, result.packed);
  if constexpr (needs_double) pack_constants(constants, d, result.in_double);
  return result;
}
template parameters<float> prepare_about(const model&, std::span<const double>, executor*);
template parameters<double> prepare_about(const model&, std::span<const double>, executor*);

template <class Scalar>
parameters<Scalar> prepare_centres(covariance_type type, std::size_t components, std::size_t columns,
                                   const double* centres) {
  parameters<Scalar> result;
  result.covariance_type = type;
  result.components = components;
  result.columns = columns;
  round_centres(result, centres);
  result.packed.padded_columns = padded(columns);
  result.packed.centres.grow(components * columns);
  std::transform(result.centres.begin(), result.centres.end(), result.packed.centres.data(),
                 [](double centre) { return static_cast<Scalar>(centre); });
  if constexpr (!std::is_same_v<Scalar, double>) {  // of rows that float32 is too coarse for
    result.in_double.padded_columns = padded(columns);
    result.in_double.centres.grow(components * columns);
    std::copy(result.centres.begin(), result.centres.end(), result.in_double.centres.data());
  }
  return result;
}
template parameters<float> prepare_centres(covariance_type, std::size_t, std::size_t, const double*);
template parameters<double> prepare_centres(covariance_type, std::size_t, std::size_t, const double*);

}  // namespace shoal::gmm
