// The page of an experiment: how near each method comes to the least cost, and how long it takes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/page.hpp"

namespace shoal::report {

/// One method at the sizes that it was tried at.
struct method_points {
  std::string name;
  std::vector<double> sizes;
  std::vector<double> factors;        ///< mean cost over the expected least cost
  std::vector<double> factor_errors;  ///< standard errors of these
  std::vector<double> expected;       ///< what theory says of the factors
  double mean_squared_error = 0;      ///< of the factors against it
  std::vector<double> seconds;        ///< mean of the times that were kept
  std::vector<double> second_errors;
  double exponent = 0;  ///< b of the fitted seconds = a·nᵇ; not-a-number for less than two sizes
  double constant = 0;  ///< a
};

struct experiment_data {
  std::string title;
  std::vector<fact> facts;
  std::vector<method_points> methods;
};

page experiment_page(const experiment_data& data);

}  // namespace shoal::report
