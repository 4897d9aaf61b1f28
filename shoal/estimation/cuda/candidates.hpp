// The last part of k-means‖ on a GPU: greedy k-means++ among the rows that were kept.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <shoal/estimation/seeding_passes.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/fold.hpp>

namespace shoal {

/// Makes passes over rows on a GPU.
using make_candidate_passes =
    std::function<std::unique_ptr<seeding_passes>(cuda::device_rows<double>& rows, const fold_context& context)>;

/// run_plus_plus() among rows of the host, whose values are those of Scalars, on that device; nothing where so little
/// work is done sooner on the host.
template <class Scalar>
std::optional<plus_plus_result> run_plus_plus_among(const weighted_rows<double>& candidates, const cuda::gpu& device,
                                                    const fold_context& context, const seeding_request& request,
                                                    const seeding_report& report, const make_candidate_passes& make);

extern template std::optional<plus_plus_result> run_plus_plus_among<float>(const weighted_rows<double>&,
                                                                           const cuda::gpu&, const fold_context&,
                                                                           const seeding_request&,
                                                                           const seeding_report&,
                                                                           const make_candidate_passes&);
extern template std::optional<plus_plus_result> run_plus_plus_among<double>(const weighted_rows<double>&,
                                                                            const cuda::gpu&, const fold_context&,
                                                                            const seeding_request&,
                                                                            const seeding_report&,
                                                                            const make_candidate_passes&);

}  // namespace shoal
