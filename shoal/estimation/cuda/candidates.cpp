#include <shoal/estimation/cuda/candidates.hpp>

#include <algorithm>
#include <span>
#include <vector>

#include <shoal/estimation/cuda/ahead.hpp>
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

// Without the host between steps; nothing where that cannot be.
template <class Scalar, class Work>
std::optional<plus_plus_result> run_among_few(const weighted_rows<double>& candidates, const data_summary& summary,
                                              const device_candidates<Work>* there, const cuda::gpu& device,
                                              const fold_context& context, const seeding_request& request,
                                              const seeding_report& report) {
  const std::size_t rows = candidates.rows->rows(), columns = candidates.rows->columns();
  weight_draw<double> draw_by_weight(context, candidates);
  const greedy_draws draws = draws_after(request, draw_by_weight(first_draw(request)));
  aligned_buffer<double> buffer;
  const matrix_view<const double> read = candidates.weights->read(0, rows, buffer);

  const cuda::device_scope scope(device.device);
  cuda::device_buffer<double> weights;
  weights.upload({read.data(), rows}, device.compute);
  const auto choose = [&]<class Value>(const Value* values) {
    cuda::device_piece<Value> piece;
    piece.rows = values;
    piece.count = rows;
    std::optional<plus_plus_result> chosen = choose_among_few<Value, double>(
        device, piece, weights.data(), nullptr, columns, steps_before_ahead(draws), report);
    if (chosen->rows.empty() ||
        (!chosen->ran_out && chosen->rows.size() < draws.clusters &&
         !choose_ahead<Value, double>(device, piece, weights.data(), summary, columns, draws, *chosen, report))) {
      chosen.reset();
    }
    return chosen;
  };
  if (there != nullptr) return choose(there->values());
  aligned_buffer<double> row_buffer;
  const matrix_view<const double> values = candidates.rows->read(0, rows, row_buffer);
  std::vector<Scalar> narrow(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    std::transform(values.row(i), values.row(i) + columns, narrow.begin() + static_cast<std::ptrdiff_t>(i * columns),
                   [](double value) { return static_cast<Scalar>(value); });
  }
  cuda::device_buffer<Scalar> copied;
  copied.upload(narrow, device.compute);
  return choose(static_cast<const Scalar*>(copied.data()));
}

}  // namespace

template <class Scalar, class Work>
std::optional<plus_plus_result> run_plus_plus_among(const weighted_rows<double>& candidates,
                                                    const data_summary& summary, const device_candidates<Work>* there,
                                                    const cuda::gpu& device, const fold_context& context,
                                                    const seeding_request& request, const seeding_report& report,
                                                    const make_candidate_passes& make) {
  const auto count = static_cast<double>(candidates.rows->rows()), clusters = static_cast<double>(request.clusters);
  if (count * clusters < worthwhile_pairs) return {};
  fold_context small = context;
  small.ranks = nullptr;  // all ranks have all candidates
  // Threads would wake for longer than it takes to add so few weights up; the sums are the same.
  const std::unique_ptr<executor> one = make_sequential();
  fold_context sequential = small;
  sequential.workers = one.get();
  auto chosen = run_among_few<Scalar>(candidates, summary, there, device, sequential, request, report);
  if (chosen) return chosen;
  if (count * static_cast<double>(candidates.rows->columns()) * clusters < worthwhile_products) return {};
  aligned_buffer<double> buffer;
  const view_source<double> here(candidates.rows->read(0, candidates.rows->rows(), buffer));
  const weighted_rows<double> on_host{&here, candidates.weights, candidates.weight_scale};
  cuda::device_group group(std::span(&device.device, 1));
  cuda::device_rows<double> rows(group, small, on_host);
  return run_plus_plus(*make(rows, small), request, report);
}

template std::optional<plus_plus_result> run_plus_plus_among<float>(const weighted_rows<double>&, const data_summary&,
                                                                    const device_candidates<float>*, const cuda::gpu&,
                                                                    const fold_context&, const seeding_request&,
                                                                    const seeding_report&,
                                                                    const make_candidate_passes&);
template std::optional<plus_plus_result> run_plus_plus_among<float>(const weighted_rows<double>&, const data_summary&,
                                                                    const device_candidates<double>*, const cuda::gpu&,
                                                                    const fold_context&, const seeding_request&,
                                                                    const seeding_report&,
                                                                    const make_candidate_passes&);
template std::optional<plus_plus_result> run_plus_plus_among<double>(const weighted_rows<double>&, const data_summary&,
                                                                     const device_candidates<double>*, const cuda::gpu&,
                                                                     const fold_context&, const seeding_request&,
                                                                     const seeding_report&,
                                                                     const make_candidate_passes&);

}  // namespace shoal
