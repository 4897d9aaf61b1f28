// Seeding on GPUs: the passes of seeding.hpp's algorithms over rows that are dealt to devices.
#pragma once

#include <memory>

#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/seeding_passes.hpp>
#include <shoal/execution/cuda/device_rows.hpp>

namespace shoal {

/// Passes over `rows`, which must outlive them. Distances are float64 where their squares need it. Every row keeps its
/// least distance and its nearest point on its device, whether the row itself stays there or is streamed.
template <class Scalar>
std::unique_ptr<seeding_passes> make_device_passes(cuda::device_rows<Scalar>& rows, const fold_context& context,
                                                   const data_summary& summary);
extern template std::unique_ptr<seeding_passes> make_device_passes(cuda::device_rows<float>&, const fold_context&,
                                                                   const data_summary&);
extern template std::unique_ptr<seeding_passes> make_device_passes(cuda::device_rows<double>&, const fold_context&,
                                                                   const data_summary&);

}  // namespace shoal
