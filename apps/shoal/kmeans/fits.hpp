// k-means as a family of common/fitted.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <shoal/execution/automatic_device.hpp>
#include <shoal/kmeans/kmeans.hpp>
#include <shoal/metrics/agreement.hpp>

#include "common/fit_rows.hpp"
#include "common/fitted.hpp"
#include "kmeans/words.hpp"

namespace shoal::app {

struct kmeans_fits {
  using words = kmeans_options;
  using library = kmeans::options;
  using request = kmeans_request;
  using result = kmeans::fit_result;
  using agreement = std::optional<metrics::contingency_table>;

  static constexpr const char* noun = "kmeans";
  static constexpr selection_words selection{"cluster", "inertia", "inertia", "{:.8g}"};
  static constexpr const char* remedy = "";
  static bool starts_from_file(const words& words);
  static std::size_t groups(const library& library) { return library.clusters; }
  static double objective(const result& result) { return result.inertia; }

  static named_values shape_values(const library& library);
  static named_values option_values(const words& words, const library& library);
  static named_values result_values(const result& result, const library&);
  static named_values model_values(const kmeans::model&) { return {}; }
  static named_values agreement_values(const agreement& agreement);
  static fit_time time(const result& result, double seconds);
  static std::string facts(const fitted<kmeans_fits>& fit, const std::string& data, const std::string& time);
  static std::string model_table(const kmeans::model& model);

  static void settle(run_options& run, const estimated_work& work, const library& library);
  static estimated_work work(std::size_t rows, std::size_t columns, std::size_t scalar_bytes, const library& library);

  /// Fits. The centroids come back in the data's own units; inertia is in the units of the fit.
  template <class Scalar>
  static result fit(const fit_rows<Scalar>& rows, const request& request, const std::string& start_file,
                    const control& control);
  template <class Scalar>
  static void label(const kmeans::model& model, const fit_rows<Scalar>& rows, std::int32_t* labels,
                    const library& library, const control& control);
  static agreement agree(const kmeans::model& model, const std::int32_t* labels, const std::vector<std::int32_t>& given,
                         std::size_t given_values, const run_options& run);
  static void save(const std::string& path, const fitted<kmeans_fits>& fit, const named_values& values,
                   const standardization* units);
  template <class Scalar>
  static void report(const fitted<kmeans_fits>& fit, const fit_rows<Scalar>& rows, const std::int32_t* labels);
};

}  // namespace shoal::app
