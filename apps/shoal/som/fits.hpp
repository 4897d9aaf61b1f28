// Self-organizing maps as a family of common/fitted.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <shoal/execution/automatic_device.hpp>
#include <shoal/som/som.hpp>

#include "common/fit_rows.hpp"
#include "common/fitted.hpp"
#include "som/words.hpp"

namespace shoal::app {

struct som_fits {
  using words = som_options;
  using library = som::options;
  using request = som_request;
  using result = som::fit_result;
  using agreement = std::optional<som::unit_labels>;

  static constexpr selection_words selection{};
  static std::size_t groups(const library&) { return 0; }

  static named_values shape_values(const library& library);
  static named_values option_values(const words& words, const library& library);
  static named_values result_values(const result& result, const library&);
  static named_values model_values(const som::model&) { return {}; }
  static named_values agreement_values(const agreement& agreement);
  static fit_time time(const result& result, double seconds);
  static std::string facts(const fitted<som_fits>& fit, const std::string& data, const std::string& time);
  static std::string model_table(const som::model&) { return {}; }

  /// As settle_device(), but online training takes one row after the other, so that where to run is no question.
  static void settle(run_options& run, const estimated_work& work, const library& library);
  static estimated_work work(std::size_t rows, std::size_t columns, std::size_t scalar_bytes, const library& library);

  /// Trains. The codebook comes back in the data's own units; distances are in the units of the fit.
  template <class Scalar>
  static result fit(const fit_rows<Scalar>& rows, const request& request, const std::string& start_file,
                    const control& control);
  template <class Scalar>
  static void label(const som::model& model, const fit_rows<Scalar>& rows, std::int32_t* labels, const library& library,
                    const control& control);
  static agreement agree(const som::model& model, const std::int32_t* labels, const std::vector<std::int32_t>& given,
                         std::size_t given_values, const run_options& run);
  static void save(const std::string& path, const fitted<som_fits>& fit, const named_values& values,
                   const standardization* units);
  template <class Scalar>
  static void report(const fitted<som_fits>& fit, const fit_rows<Scalar>& rows, const std::int32_t* labels);
};

/// What given labels say of the units of all rows; `units` are one for each row.
som::unit_labels labels_of_units(const som::model& model, const std::int32_t* units,
                                 const std::vector<std::int32_t>& given);

/// The units that match some row best.
std::size_t units_hit(const som::quality& quality);

/// What an answer says of the purity: nothing without labels.
named_values purity_values(const std::optional<som::unit_labels>& labels);
std::string purity_text(const std::optional<som::unit_labels>& labels, const std::string& label_column);

}  // namespace shoal::app
