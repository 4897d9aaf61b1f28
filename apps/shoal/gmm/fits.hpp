// Mixtures as a family of common/fitted.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <shoal/execution/automatic_device.hpp>
#include <shoal/gmm/gmm.hpp>
#include <shoal/metrics/agreement.hpp>

#include "common/fit_rows.hpp"
#include "common/fitted.hpp"
#include "gmm/words.hpp"

namespace shoal::app {

struct gmm_fits {
  using words = gmm_options;
  using library = gmm::options;
  using request = gmm_request;
  using result = gmm::fit_result;
  using agreement = std::optional<metrics::contingency_table>;

  static constexpr const char* noun = "gmm";
  static constexpr selection_words selection{"component", "mean_log_likelihood", "log-likelihood", "{:.6f}"};
  static constexpr const char* remedy = "; a larger --regularization may help";
  static bool starts_from_file(const words& words);
  static std::size_t groups(const library& library) { return library.components; }
  static double objective(const result& result) { return result.mean_log_likelihood; }

  static named_values shape_values(const library& library);
  static named_values option_values(const words& words, const library& library);
  static named_values result_values(const result& result, const library& library);
  static named_values model_values(const gmm::model& model);
  static named_values agreement_values(const agreement& agreement);
  static fit_time time(const result& result, double seconds);
  static std::string facts(const fitted<gmm_fits>& fit, const std::string& data, const std::string& time);
  static std::string model_table(const gmm::model& model);

  /// As settle_device(), but "auto" is the host for what devices do for some shapes only: models of threads' or blocks'
  /// own.
  static void settle(run_options& run, const estimated_work& work, const library& library);
  static estimated_work work(std::size_t rows, std::size_t columns, std::size_t scalar_bytes, const library& library);

  /// Fits, and carries the model and every figure into the data's own units. Throws bad_argument or bad_data when the
  /// start does not fit the data's columns.
  template <class Scalar>
  static result fit(const fit_rows<Scalar>& rows, const request& request, const std::string& start_file,
                    const control& control);
  template <class Scalar>
  static void label(const gmm::model& model, const fit_rows<Scalar>& rows, std::int32_t* labels, const library& library,
                    const control& control);
  static agreement agree(const gmm::model& model, const std::int32_t* labels, const std::vector<std::int32_t>& given,
                         std::size_t given_values, const run_options& run);
  static void save(const std::string& path, const fitted<gmm_fits>& fit, const named_values& values,
                   const standardization* units);
  template <class Scalar>
  static void report(const fitted<gmm_fits>& fit, const fit_rows<Scalar>& rows, const std::int32_t* labels);
};

}  // namespace shoal::app
