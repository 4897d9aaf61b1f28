// Batch training on the host: an epoch is one fold of the rows and one smoothing over the lattice.
#pragma once

#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/som/accumulate.hpp>
#include <shoal/som/host_training.hpp>
#include <shoal/som/maximise.hpp>

namespace shoal::som {

/// What statistics are about: the rows' means, rounded to the scalar.
template <class Scalar>
std::vector<double> centre_of(const data_summary& summary) {
  std::vector<double> centre;
  for (const double mean : summary.mean) centre.push_back(static_cast<double>(static_cast<Scalar>(mean)));
  return centre;
}

template <class Scalar>
class batch_training final : public host_training<Scalar> {
 public:
  batch_training(const fold_context& context, const weighted_rows<Scalar>& data, const data_summary& summary,
                 const options& options, typename host_training<Scalar>::seed_function seed);

  std::vector<step_record> advance(std::size_t most_steps) override;

 private:
  std::vector<double> centre_;
  folder<Scalar, statistics_monoid, accumulate_body<Scalar>> folder_;
  unit_mover mover_;
};
extern template class batch_training<float>;
extern template class batch_training<double>;

}  // namespace shoal::som
