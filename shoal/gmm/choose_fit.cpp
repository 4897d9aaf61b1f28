#include <shoal/gmm/choose_fit.hpp>

#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/gmm/chunked/asynchronous.hpp>
#include <shoal/gmm/chunked/incremental.hpp>
#include <shoal/gmm/chunked/stepwise.hpp>
#include <shoal/gmm/expectation_maximization.hpp>
#include <shoal/gmm/squarem.hpp>

namespace shoal::gmm {

void check_algorithm(algorithm chosen, const communicator* ranks) {
  if (chosen == algorithm::batch) return;
  require_one_rank(ranks, "a fit that maximises several times a pass", "use algorithm='batch'");
}

template <class Scalar>
std::unique_ptr<mixture_stepper> make_host_fit(const host_rows<Scalar>& rows) {
  check_algorithm(rows.options.algorithm, rows.context.ranks);
  switch (rows.options.algorithm) {
    case algorithm::batch: {
      auto batch =
          std::make_unique<expectation_maximization<Scalar>>(rows.context, rows.data, rows.summary, rows.options);
      if (rows.options.acceleration == acceleration::none) return batch;
      return std::make_unique<squarem_fit>(std::move(batch), rows.summary, rows.options, rows.context.workers);
    }
    case algorithm::incremental:
      return std::make_unique<incremental_fit<Scalar>>(rows);
    case algorithm::asynchronous:
      return std::make_unique<asynchronous_fit<Scalar>>(rows);
    case algorithm::stepwise:
      return std::make_unique<stepwise_fit<Scalar>>(rows);
  }
  throw bad_argument("unknown algorithm");
}
template std::unique_ptr<mixture_stepper> make_host_fit(const host_rows<float>&);
template std::unique_ptr<mixture_stepper> make_host_fit(const host_rows<double>&);

}  // namespace shoal::gmm
