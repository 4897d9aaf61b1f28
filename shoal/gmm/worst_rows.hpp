// The rows that a mixture explains worst: where an empty component starts anew.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/execution/fold.hpp>
#include <shoal/gmm/parameters.hpp>

namespace shoal::gmm {

/// The `count` rows of positive weight with the least ln p(x), worst first (of equals the lowest index first); fewer
/// when the data have fewer. One fold that keeps `count` rows a lane.
template <class Scalar>
std::vector<std::vector<double>> worst_rows(const fold_context& context, const weighted_rows<Scalar>& data,
                                            const parameters<Scalar>& components, std::size_t count);
extern template std::vector<std::vector<double>> worst_rows(const fold_context&, const weighted_rows<float>&,
                                                            const parameters<float>&, std::size_t);
extern template std::vector<std::vector<double>> worst_rows(const fold_context&, const weighted_rows<double>&,
                                                            const parameters<double>&, std::size_t);

}  // namespace shoal::gmm
