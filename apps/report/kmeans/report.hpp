// The report of a k-means fit.
#pragma once

#include <string>

#include <shoal/kmeans/result.hpp>

#include "report/fit_report.hpp"
#include "report/picture.hpp"

namespace shoal::report {

/// Adds to the page: key figures, data with centroids, convergence, choice of K, centroids, agreement, options.
/// Throws bad_argument when data and model do not fit.
void add_fit(page& out, const kmeans::fit_result& fit, const fit_data& data);

/// A page of one fit.
page fit_page(const kmeans::fit_result& fit, const fit_data& data);

/// The data coloured by cluster, with the centroids.
picture fit_picture(const kmeans::model& model, const fit_data& data, std::string title);

}  // namespace shoal::report
