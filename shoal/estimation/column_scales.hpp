// When the columns of some rows are of scales so different that a distance hardly sees some of them.
#pragma once

namespace shoal {

/// Variances of columns that differ by more are worth telling of: of the squared distance of two rows one of these
/// columns then brings more than 99 parts where the other brings one.
inline constexpr double most_alike_scales = 100;

}  // namespace shoal
