// What is said of a model that cannot be prepared, whichever processor found it out.
#pragma once

#include <cstddef>
#include <string>

#include <shoal/gmm/covariance_type.hpp>

namespace shoal::gmm {

/// Throws numerical_error about the covariance of `component` (for tied: of all); `reason` reads "is not positive
/// definite".
[[noreturn]] void refuse_covariance(covariance_type type, std::size_t component, const std::string& reason);

/// The variance of `component` (for diag: in `column`) is neither positive nor finite.
[[noreturn]] void refuse_variance(covariance_type type, std::size_t component, std::size_t column, double variance);

/// The mean of `component` in `column` is beyond the range of a scalar of `scalar_bytes` bytes.
[[noreturn]] void refuse_mean(std::size_t component, std::size_t column, double mean, std::size_t scalar_bytes);

/// The reasons that a matrix can be refused for.
inline constexpr const char* not_positive_definite = "is not positive definite";
inline constexpr const char* too_close_to_singular = "is too close to singular";

}  // namespace shoal::gmm
