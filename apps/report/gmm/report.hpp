// The report of a fitted mixture.
#pragma once

#include <string>
#include <vector>

#include <shoal/gmm/result.hpp>

#include "report/fit_report.hpp"
#include "report/picture.hpp"

namespace shoal::report {

/// Covariance of one component as a matrix [d][d], whatever the model's covariance type.
std::vector<double> component_covariance(const gmm::model& model, std::size_t component);

/// Adds to the page: key figures, data with contours, weights, convergence, choice of K, components, agreement,
/// options. Throws bad_argument when data and model do not fit.
void add_fit(page& out, const gmm::fit_result& fit, const fit_data& data);

/// A page of one fit.
page fit_page(const gmm::fit_result& fit, const fit_data& data);

/// The data with the mixture's contours.
picture fit_picture(const gmm::model& model, const fit_data& data, std::string title);

}  // namespace shoal::report
