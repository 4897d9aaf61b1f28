// The numbers of a mixture within a saved state.
#pragma once

#include <vector>

#include <shoal/estimation/saved_state.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

/// Appends weights, means and covariances.
void append_model(const model& model, std::vector<double>& state);

/// Takes them back. Throws bad_data for numbers that are not finite and for weights that are no shares. Covariances may
/// be singular: a step makes such a mixture before the next one refuses it.
model take_model(state_reader& state, const statistics_layout& layout);

}  // namespace shoal::gmm
