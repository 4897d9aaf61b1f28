#include <shoal/estimation/cuda/candidates.hpp>

#include <span>

#include <shoal/execution/cuda/device_group.hpp>

namespace shoal {
namespace {

// Products of a candidate's column with a centroid's from which a GPU is told of them: about a millisecond of the host.
constexpr double worthwhile_products = 0x1p20;

}  // namespace

std::optional<plus_plus_result> run_plus_plus_among(const weighted_rows<double>& candidates, int device,
                                                    const fold_context& context, const seeding_request& request,
                                                    const seeding_report& report, const make_candidate_passes& make) {
  const double elements =
      static_cast<double>(candidates.rows->rows()) * static_cast<double>(candidates.rows->columns());
  if (elements * static_cast<double>(request.clusters) < worthwhile_products) return {};
  fold_context small = context;
  small.ranks = nullptr;  // all ranks have all candidates
  cuda::device_group group(std::span(&device, 1));
  cuda::device_rows<double> rows(group, small, candidates);
  return run_plus_plus(*make(rows, small), request, report);
}

}  // namespace shoal
