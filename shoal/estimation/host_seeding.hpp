// Seeding on the host: the passes of seeding.hpp's algorithms as folds over the rows.
#pragma once

#include <memory>

#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/seeding_passes.hpp>

namespace shoal {

/// Passes over `data`, which must outlive them. Distances are float64 where their squares need it. Rows remember their
/// least distance and nearest point while that takes no more than seeding_cache_bytes; beyond, both are computed again
/// in every pass.
template <class Scalar>
std::unique_ptr<seeding_passes> make_host_passes(const fold_context& context, const weighted_rows<Scalar>& data,
                                                 const data_summary& summary);
extern template std::unique_ptr<seeding_passes> make_host_passes(const fold_context&, const weighted_rows<float>&,
                                                                 const data_summary&);
extern template std::unique_ptr<seeding_passes> make_host_passes(const fold_context&, const weighted_rows<double>&,
                                                                 const data_summary&);

}  // namespace shoal
