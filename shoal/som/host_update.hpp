// One batch step of a map on rows that come in parts, on the host.
#pragma once

#include <cstdint>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/som/model.hpp>
#include <shoal/som/options.hpp>

namespace shoal::som {

/// update() of som.hpp, for rows, a model and options that have been checked; `summary` is of the rows.
template <class Scalar>
double update_on_host(const fold_context& context, const weighted_rows<Scalar>& data, const data_summary& summary,
                      model& model, const update_options& options, std::int32_t* units);
extern template double update_on_host(const fold_context&, const weighted_rows<float>&, const data_summary&, model&,
                                      const update_options&, std::int32_t*);
extern template double update_on_host(const fold_context&, const weighted_rows<double>&, const data_summary&, model&,
                                      const update_options&, std::int32_t*);

}  // namespace shoal::som
