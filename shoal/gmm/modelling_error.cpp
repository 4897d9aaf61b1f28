// The modelling error, a piece of the rows at a time.
#include <shoal/gmm/modelling_error.hpp>

#include <algorithm>
#include <vector>

#include <shoal/gmm/predict.hpp>

namespace shoal::gmm {
namespace {

constexpr std::size_t piece_rows = std::size_t{1} << 16;  // responsibilities of a few MiB

// Memberships in float64, in which their differences are taken.
template <class Scalar>
void fill_responsibilities(const model& model, matrix_view<const Scalar> rows, std::size_t threads,
                           std::vector<Scalar>& scratch, std::vector<double>& out) {
  scratch.resize(rows.rows() * model.components);
  prediction<Scalar> wanted;
  wanted.probabilities = scratch.data();
  predict(model, view_source<Scalar>(rows), wanted, threads);
  out.assign(scratch.begin(), scratch.end());
}

template <class Scalar>
metrics::modelling_error compare(const model& desired, const model& found, matrix_view<const Scalar> rows,
                                 std::size_t threads) {
  metrics::membership_sums sums(desired.components, found.components);
  std::vector<Scalar> scratch;
  std::vector<double> p;
  std::vector<double> q;
  for (std::size_t first = 0; first < rows.rows(); first += piece_rows) {
    const std::size_t count = std::min(piece_rows, rows.rows() - first);
    fill_responsibilities(desired, rows.middle_rows(first, count), threads, scratch, p);
    fill_responsibilities(found, rows.middle_rows(first, count), threads, scratch, q);
    metrics::add(sums, {p.data(), count, desired.components}, {q.data(), count, found.components});
  }
  return metrics::modelling_error_of(sums);
}

}  // namespace

metrics::modelling_error modelling_error(const model& desired, const model& found, matrix_view<const float> rows,
                                         std::size_t threads) {
  return compare(desired, found, rows, threads);
}

metrics::modelling_error modelling_error(const model& desired, const model& found, matrix_view<const double> rows,
                                         std::size_t threads) {
  return compare(desired, found, rows, threads);
}

}  // namespace shoal::gmm
