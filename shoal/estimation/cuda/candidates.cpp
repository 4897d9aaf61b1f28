#include <shoal/estimation/cuda/candidates.hpp>

#include <algorithm>
#include <span>

#include <shoal/estimation/cuda/few_rows.hpp>
#include <shoal/estimation/seed_draw.hpp>
#include <shoal/execution/cuda/device_group.hpp>

namespace shoal {
namespace {

// Pairs of a candidate and a centroid from which a GPU is told of them: about a tenth of a millisecond of the host.
constexpr double worthwhile_pairs = 0x1p13;
// Products of a candidate's column with a centroid's from which that is so where each step is a launch or two: about a
// millisecond.
constexpr double worthwhile_products = 0x1p20;

// In one launch; no rows where that cannot be.
plus_plus_result run_among_few(const weighted_rows<double>& candidates, const cuda::gpu& device,
                               const fold_context& context, const seeding_request& request,
                               const seeding_report& report) {
  const std::size_t rows = candidates.rows->rows(), columns = candidates.rows->columns();
  weight_draw<double> draw_by_weight(context, candidates);
  const greedy_draws draws = draws_after(request, draw_by_weight(first_draw(request)));
  const cuda::device_scope scope(device.device);
  cuda::device_buffer<double> values(rows * (columns + 1));  // the rows, and then their weights
  std::vector<double> all(rows * (columns + 1));
  aligned_buffer<double> buffer;
  const auto keep = [&](const row_source<double>& source, double* to) {
    const matrix_view<const double> read = source.read(0, rows, buffer);
    for (std::size_t i = 0; i < rows; ++i) to = std::copy_n(read.row(i), source.columns(), to);
  };
  keep(*candidates.rows, all.data());
  keep(*candidates.weights, all.data() + rows * columns);
  values.upload(all, device.compute);
  cuda::device_piece<double> piece;
  piece.rows = values.data();
  piece.weights = values.data() + rows * columns;
  piece.count = rows;
  return choose_among_few<double, double>(device, piece, columns, draws, report);
}

}  // namespace

std::optional<plus_plus_result> run_plus_plus_among(const weighted_rows<double>& candidates, const cuda::gpu& device,
                                                    const fold_context& context, const seeding_request& request,
                                                    const seeding_report& report, const make_candidate_passes& make) {
  const auto count = static_cast<double>(candidates.rows->rows()), clusters = static_cast<double>(request.clusters);
  if (count * clusters < worthwhile_pairs) return {};
  fold_context small = context;
  small.ranks = nullptr;  // all ranks have all candidates
  plus_plus_result chosen = run_among_few(candidates, device, small, request, report);
  if (!chosen.rows.empty()) return chosen;
  if (count * static_cast<double>(candidates.rows->columns()) * clusters < worthwhile_products) return {};
  cuda::device_group group(std::span(&device.device, 1));
  cuda::device_rows<double> rows(group, small, candidates);
  return run_plus_plus(*make(rows, small), request, report);
}

}  // namespace shoal
