// Where a component without rows starts anew.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/gmm/model.hpp>

namespace shoal::gmm {

/// Each component of `next` that `empty` names starts anew at a row that the model before explains worst (`worst`, from
/// worst_rows(); at least one), as wide as the data and with the weight of one row; the rows are distinct when several
/// components are empty.
void reseed(const std::vector<std::vector<double>>& worst, const data_summary& summary, double regularization,
            const std::vector<std::size_t>& empty, model& next);

}  // namespace shoal::gmm
