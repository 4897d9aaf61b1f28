// The modelling error from sums of products of memberships.
#include <shoal/metrics/modelling_error.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <shoal/assignment/assignment.hpp>
#include <shoal/core/error.hpp>

namespace shoal::metrics {

membership_sums::membership_sums(std::size_t desired, std::size_t found)
    : desired_components(desired), found_components(found), products(desired * found, 0.0) {}

void add(membership_sums& sums, matrix_view<const double> desired, matrix_view<const double> found) {
  if (desired.rows() != found.rows() || desired.columns() != sums.desired_components ||
      found.columns() != sums.found_components)
    throw bad_argument(
        fmt::format("memberships of {} × {} and {} × {} were given for {} and {} components; give both of "
                    "the same rows",
                    desired.rows(), desired.columns(), found.rows(), found.columns(), sums.desired_components,
                    sums.found_components));
  for (std::size_t i = 0; i < desired.rows(); ++i) {
    const double* const q = found.row(i);
    for (std::size_t k = 0; k < sums.desired_components; ++k) {
      const double p = desired(i, k);
      sums.desired_squares += p * p;
      double* const products = &sums.products[k * sums.found_components];
      for (std::size_t l = 0; l < sums.found_components; ++l) products[l] += p * q[l];
    }
    for (std::size_t l = 0; l < sums.found_components; ++l) sums.found_squares += q[l] * q[l];
  }
  sums.rows += desired.rows();
}

modelling_error modelling_error_of(const membership_sums& sums) {
  // Σ(p − q)² = Σp² + Σq² − 2Σpq, with p or q zero where there is no match: the best match has the greatest Σpq.
  std::vector<double> costs(sums.products.size());
  std::transform(sums.products.begin(), sums.products.end(), costs.begin(), [](double sum) { return -sum; });
  const assignment::solution matched =
      assignment::solve({costs.data(), sums.desired_components, sums.found_components});
  modelling_error out;
  out.match = matched.column_of_row;
  if (sums.rows == 0) return out;
  const double squares = sums.desired_squares + sums.found_squares + 2 * matched.cost;
  // Rounding may leave a difference of equal sums a little below zero.
  out.error = std::max(0.0, squares / static_cast<double>(sums.rows));
  return out;
}

}  // namespace shoal::metrics
