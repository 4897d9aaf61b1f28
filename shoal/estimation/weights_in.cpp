#include <shoal/estimation/weights_in.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <shoal/execution/partial_fold.hpp>

namespace shoal {
namespace {

// Within this range products of a weight, a responsibility and squares cannot leave float32's range on sane data.
constexpr int harmless_exponent = 20;

// Beyond it powers of two have no inverse.
constexpr int largest_exponent = 1022;

}  // namespace

int weight_exponent(double largest_weight) {
  const int exponent = std::ilogb(largest_weight);
  return std::abs(exponent) <= harmless_exponent ? 0 : std::clamp(exponent, -largest_exponent, largest_exponent);
}

template <class Scalar>
weights_in<Scalar>::weights_in(const fold_context& context, row_weights weights, std::optional<row_range> own)
    : source_(weights.in<Scalar>()) {
  const row_source<other>* const theirs = weights.in<other>();
  if (theirs == nullptr) return;
  // As rows of one column that weigh what they are.
  const weighted_rows<other> column{theirs, theirs, 1.0};
  const check_monoid monoid{1};
  const check_statistics found =
      own ? total_of(monoid, fold_part<other>(context, column, *own, monoid, check_body<other>{}))
          : fold<other>(context, column, monoid, check_body<other>{});
  refuse_weights(found, fetched_rows<other>(context, *theirs));
  exponent_ = weight_exponent(found.largest_weight);
  total_ = found.weight;
  largest_ = found.largest_weight;
  converted_ = std::make_unique<scaled_column<Scalar, other>>(*theirs, -exponent_);
  source_ = converted_.get();
}

template <class Scalar>
void weights_in<Scalar>::bring_back(check_statistics& found) const {
  if (exponent_ == 0) return;
  found.weight = std::ldexp(found.weight, exponent_);
  found.largest_weight = std::ldexp(found.largest_weight, exponent_);
  for (double& moment : found.second_moment) moment = std::ldexp(moment, exponent_);
}

template <class Scalar>
void weights_in<Scalar>::bring_back(data_summary& found) const {
  if (!converted()) return;
  found.total_weight = total_;
  found.largest_weight = largest_;
  // Weights that differ by a power of two alone are other weights.
  if (found.fingerprint != 0) found.fingerprint += static_cast<std::uint64_t>(exponent_) * 0x9e3779b97f4a7c15u;
}

template class weights_in<float>;
template class weights_in<double>;

}  // namespace shoal
