// The rows of one call on the GPUs that were chosen for it, checked there.
#pragma once

#include <optional>

#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/seeding.hpp>
#include <shoal/estimation/weights_in.hpp>
#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/cuda/readable_rows.hpp>
#include <shoal/execution/device_choice.hpp>

namespace shoal {

/// Owns the group of GPUs, the rows on them and what is known of the rows. Weights are scaled as by scaled_rows.
template <class Scalar>
class device_data {
 public:
  /// Copies (or prepares to stream) and checks the rows; throws what check_data throws for the same rows, and
  /// out_of_memory. The context's executor reads rows on the host and must outlive this, like the sources. GPUs beyond
  /// the number of shards have no part in it. Tests give a rule of shards, and may then name a device several times.
  device_data(const fold_context& context, const device_choice& device, const row_source<Scalar>& rows,
              row_weights weights, bool fingerprint, const cuda::shard_rule* tested = nullptr,
              bool every_row_as_it_is = false);

  const fold_context& context() const { return context_; }
  cuda::device_rows<Scalar>& rows() { return *rows_; }
  const data_summary& summary() const { return summary_; }
  std::string hardware() const { return group_.kind(); }
  /// Makes the passes of seeding over these rows.
  make_passes seeding();

 private:
  fold_context context_;
  cuda::device_group group_;
  cuda::readable_rows<Scalar> readable_;
  cuda::readable_rows<float> narrow_weights_;
  cuda::readable_rows<double> wide_weights_;
  row_weights readable_weights_;
  weights_in<Scalar> weights_;
  std::optional<cuda::device_rows<Scalar>> rows_;
  data_summary summary_;
  scaled_rows<Scalar> scaled_;
};
extern template class device_data<float>;
extern template class device_data<double>;

}  // namespace shoal
