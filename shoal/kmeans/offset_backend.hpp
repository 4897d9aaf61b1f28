// k-means about the rows' own mean, where float64 has few digits left beside it.
#pragma once

#include <memory>
#include <vector>

#include <shoal/estimation/backend_rows.hpp>
#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/kmeans/backend.hpp>

namespace shoal::kmeans {

/// [columns] What to take off each column: its mean, where float64 keeps fewer than 23 bits of a deviation beside it
/// and subtraction is exact; else 0. Empty when there is nothing to take off.
std::vector<double> offset_of(const data_summary& summary);

/// A backend of the rows less `offset`. Models and centroids come and go in the rows' own coordinates, and are rounded
/// there only then: labels, distances and the steps themselves have all digits. `summary` is that of the rows.
std::unique_ptr<backend<double>> make_offset_backend(const device_choice& device, const backend_rows<double>& rows,
                                                     data_summary summary, std::vector<double> offset);

}  // namespace shoal::kmeans
