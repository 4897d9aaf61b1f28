// The words for mixtures on the command line, and how a fitted mixture is described to people and to machines.
#pragma once

#include <optional>
#include <string>

#include <shoal/gmm/gmm.hpp>

#include "common/fit_rows.hpp"
#include "common/options.hpp"
#include "common/output.hpp"

namespace shoal::app {

const choices<gmm::covariance_type>& covariance_choices();
const choices<gmm::initialization>& gmm_initialization_choices();

const choices<gmm::algorithm>& algorithm_choices();
const choices<gmm::acceleration>& acceleration_choices();

/// The options of `gmm fit` and `gmm select`.
struct gmm_options {
  data_options data;
  run_options run;
  fit_options fit;
  std::optional<gmm::covariance_type> covariance;
  double regularization = 1e-6;
  std::optional<gmm::algorithm> algorithm;
  gmm::acceleration acceleration = gmm::acceleration::none;
  gmm::chunk_options chunks;
  bool async_em_2013 = false;
};

/// Declares them, but for `--components`.
void add_gmm_options(CLI::App& app, gmm_options& options);

/// The library's options for them, with the start read when `--init` names a file. Throws bad_argument when the start
/// is of other components, or of another covariance type, than were asked for.
gmm::options library_options(const gmm_options& options, std::optional<std::size_t> components, std::size_t threads);

/// As settle_device(), but "auto" is the host for what devices do for some shapes only: models of threads' or blocks'
/// own.
void settle_gmm_device(run_options& run, const estimated_work& work, const gmm::options& library);

/// Fits, and carries the model and every figure into the data's own units. Throws bad_argument or bad_data when the
/// start does not fit the data's columns.
template <class Scalar>
gmm::fit_result fit_mixture(const fit_rows<Scalar>& rows, gmm::options options, const std::string& start_file,
                            const control& control);
extern template gmm::fit_result fit_mixture<float>(const fit_rows<float>&, gmm::options, const std::string&,
                                                   const control&);
extern template gmm::fit_result fit_mixture<double>(const fit_rows<double>&, gmm::options, const std::string&,
                                                    const control&);

/// The options and results of a fit that its JSON answer and its model file share; they depend on neither threads nor
/// time.
json describe_fit(const gmm_options& options, const gmm::options& library, const gmm::fit_result& result,
                  shoal::scalar scalar);

/// The weights and means of a model as a table.
std::string model_table(const gmm::model& model);

}  // namespace shoal::app
