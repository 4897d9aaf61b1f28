// The last part of k-means‖ on a GPU: greedy k-means++ among the rows that were kept.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <shoal/estimation/cuda/device_parts.hpp>
#include <shoal/estimation/data_summary.hpp>
#include <shoal/estimation/seeding_passes.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/fold.hpp>

namespace shoal {

/// Candidates in memory of a GPU, where the rounds have left them; the host reads copies.
template <class Work>
class device_candidates final : public row_source<double> {
 public:
  /// Rows [count][columns] at `values` in `memory`, of the current device.
  device_candidates(device_parts memory, const Work* values, std::size_t count, std::size_t columns)
      : memory_(std::move(memory)), values_(values), count_(count), columns_(columns) {}
  const Work* values() const { return values_; }
  std::size_t rows() const override { return count_; }
  std::size_t columns() const override { return columns_; }
  matrix_view<const double> read(std::size_t first, std::size_t count, aligned_buffer<double>& buffer) const override {
    std::vector<Work> some(count * columns_);
    cuda::check(cudaMemcpy(some.data(), values_ + first * columns_, some.size() * sizeof(Work), cudaMemcpyDeviceToHost),
                "copy from the device");
    buffer.grow(some.size());
    std::copy(some.begin(), some.end(), buffer.data());
    return {buffer.data(), count, columns_};
  }
  bool resident() const override { return false; }

 private:
  device_parts memory_;
  const Work* values_;
  std::size_t count_, columns_;
};

/// Makes passes over rows on a GPU.
using make_candidate_passes =
    std::function<std::unique_ptr<seeding_passes>(cuda::device_rows<double>& rows, const fold_context& context)>;

/// run_plus_plus() among rows, some of those of `summary`, whose values are those of Scalars, on that device, in whose
/// memory they are `there` if that is not null; nothing where so little work is done sooner on the host.
template <class Scalar, class Work>
std::optional<plus_plus_result> run_plus_plus_among(const weighted_rows<double>& candidates,
                                                    const data_summary& summary, const device_candidates<Work>* there,
                                                    const cuda::gpu& device, const fold_context& context,
                                                    const seeding_request& request, const seeding_report& report,
                                                    const make_candidate_passes& make);

extern template std::optional<plus_plus_result> run_plus_plus_among<float>(
    const weighted_rows<double>&, const data_summary&, const device_candidates<float>*, const cuda::gpu&,
    const fold_context&, const seeding_request&, const seeding_report&, const make_candidate_passes&);
extern template std::optional<plus_plus_result> run_plus_plus_among<float>(
    const weighted_rows<double>&, const data_summary&, const device_candidates<double>*, const cuda::gpu&,
    const fold_context&, const seeding_request&, const seeding_report&, const make_candidate_passes&);
extern template std::optional<plus_plus_result> run_plus_plus_among<double>(
    const weighted_rows<double>&, const data_summary&, const device_candidates<double>*, const cuda::gpu&,
    const fold_context&, const seeding_request&, const seeding_report&, const make_candidate_passes&);

}  // namespace shoal
