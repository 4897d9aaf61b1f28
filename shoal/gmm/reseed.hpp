// Where a component without rows starts anew.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/gmm/gmm.hpp>
#include <shoal/gmm/parameters.hpp>

namespace shoal::gmm {

/// Each component of `next` that `empty` names starts anew at a row that `present`, which `next` came from, explains
/// worst, as wide as the data and with the weight of one row; the rows are distinct when several components are empty.
template <class Scalar>
void reseed(const fold_context& context, const weighted_rows<Scalar>& data, const data_summary& summary,
            double regularization, const parameters<Scalar>& present, const std::vector<std::size_t>& empty,
            model& next);
extern template void reseed(const fold_context&, const weighted_rows<float>&, const data_summary&, double,
                            const parameters<float>&, const std::vector<std::size_t>&, model&);
extern template void reseed(const fold_context&, const weighted_rows<double>&, const data_summary&, double,
                            const parameters<double>&, const std::vector<std::size_t>&, model&);

}  // namespace shoal::gmm
