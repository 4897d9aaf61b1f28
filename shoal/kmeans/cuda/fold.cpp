#include <shoal/kmeans/cuda/fold.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/kmeans/cuda/byte_tuning.hpp>
#include <shoal/kmeans/cuda/fold_tensor.hpp>
#include <shoal/kmeans/cuda/tensor_layout.hpp>

namespace shoal::kmeans {

std::vector<double> mean_of_centroids(const std::vector<double>& centroids, std::size_t clusters) {
  std::vector<double> mean(centroids.size() / clusters, 0.0);
  const double count = static_cast<double>(clusters);
  for (auto row = centroids.begin(); row != centroids.end(); row += static_cast<std::ptrdiff_t>(mean.size())) {
    std::transform(mean.begin(), mean.end(), row, mean.begin(),
                   [count](double sum, double value) { return sum + value / count; });
  }
  return mean;
}

template <class Scalar>
device_fold<Scalar>::device_fold(cuda::device_rows<Scalar>& rows, std::size_t clusters, const rows_extent& extent)
    : rows_(&rows),
      clusters_(clusters),
      layout_{clusters, rows.columns()},
      extent_(extent),
      places_(rows.group().size()) {
  fused_ = clusters <= most_fused_clusters_on_device && rows.columns() <= most_fused_columns_on_device;
  wide_ = !fused_ && sizeof(Scalar) == 4 && is_wide(clusters, rows.columns());
  few_ = !fused_ && !wide_;
  for (std::size_t g = 0; g < places_.size(); ++g) {
    const cuda::gpu& gpu = rows.group()[g];
    few_ =
        few_ && is_few(summed_on(g), clusters, rows.columns(), sizeof(Scalar), gpu.multiprocessors, gpu.shared_bytes);
  }
  few_columns_ = !in_one_pass() && clusters <= most_few_column_clusters && rows.columns() <= most_few_columns;
  in_bytes_ = !in_one_pass() && sizeof(Scalar) == 4 && rows.group().precision() == precision::bf16 &&
              extent.largest > least_byte_extent && extent.largest < most_byte_extent &&
              rows.columns() <= most_byte_columns &&
              (extent.any ||
               (is_searched_in_bytes(rows.rows(), rows.columns(), clusters) &&
                extent.largest * std::sqrt(static_cast<double>(rows.columns())) <= most_byte_spread * extent.norm));
  const bool by_tensor_search =
      rows.columns() <= std::size_t{most_tensor_columns} && !in_bytes_ &&
      !is_searched_in_float16(rows.rows(), rows.columns(), clusters, rows.group().precision());
  on_tensor_cores_ = !in_one_pass() && !few_columns_ && sizeof(Scalar) == 4 && by_tensor_search;
  in_float16_ = !in_one_pass() && !few_columns_ && !on_tensor_cores_;
  sorted_ = !in_one_pass();
  for (std::size_t g = 0; g < places_.size(); ++g) {
    const cuda::gpu& gpu = rows.group()[g];
    const bool there = has_tensor_search(gpu.device);
    on_tensor_cores_ = on_tensor_cores_ && there;
    in_float16_ = in_float16_ && there;
    in_bytes_ = in_bytes_ && there;
    sorted_ = sorted_ && is_summed_sorted(clusters, rows.columns(), gpu.shared_bytes);
  }
  by_tensor_ = on_tensor_cores_ && !rows.weighted() && extent.largest > least_tensor_fold_extent &&
               extent.largest < most_tensor_fold_extent;
  for (std::size_t g = 0; g < places_.size() && by_tensor_; ++g) by_tensor_ = tensor_plan(g).warps > 0;
  const std::size_t columns = rows.columns();
  keeps_operands_ = in_float16_ && rows.resident();
  for (std::size_t g = 0; g < places_.size() && keeps_operands_; ++g) {
    const cuda::device_scope scope(rows.group()[g].device);
    keeps_operands_ = float16_memory::has_room_for(
        rows.most_piece_rows(),
        columns + (in_bytes_ ? static_cast<std::size_t>(byte_steps(static_cast<int>(columns)) * byte_step_columns) : 0),
        float16_digits::one);
  }
  const std::size_t piece_rows = std::max<std::size_t>(1, rows.most_piece_rows());
  if (piece_rows > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw bad_argument(
        fmt::format("a GPU's share of {} rows is more than {}: lower the device memory limit, "
                    "so that they are streamed, or use more devices",
                    piece_rows, std::numeric_limits<int>::max()));
  }
  for (std::size_t g = 0; g < places_.size(); ++g) {
    const cuda::gpu& gpu = rows.group()[g];
    const cuda::device_scope scope(gpu.device);
    place& here = places_[g];
    const summed_rows summed = summed_on(g);
    const auto make_one_pass_plan = sizeof(Scalar) == 4 ? make_fused_plan : make_fused_float64_plan;
    here.plan = fused_       ? make_one_pass_plan(summed, clusters, columns, gpu.multiprocessors)
                : wide_      ? make_wide_plan(summed, clusters, columns, gpu.multiprocessors)
                : by_tensor_ ? tensor_plan(g)
                : few_ ? make_few_plan(summed, clusters, columns, sizeof(Scalar), gpu.multiprocessors, gpu.shared_bytes)
                : sorted_ ? make_sorted_plan(summed, clusters, columns, gpu.multiprocessors)
                          : make_sum_plan(summed, clusters, columns, gpu.multiprocessors, gpu.shared_bytes);
    here.values.grow(clusters * columns);
    here.bounds.grow(1);
    here.labels.grow(piece_rows);
    if (sorted_ && !by_tensor_) here.sorted.grow(here.plan, clusters, piece_rows);
    here.counts.grow(3);
    here.list.grow(piece_rows);
    here.lanes.grow(here.plan.state_doubles());
    here.statistics.grow(rows.shards_of(g) * layout_.size());
    here.partial.grow(move_blocks);
    here.loop.grow(1);
    here.loop.fill_with_zeros(gpu.compute);  // the host reads the padding of a record too
    here.counts.fill_with_zeros(gpu.compute);
    set_centroids(here, gpu);
    here.doubtful = {here.counts.data(), here.list.data(), static_cast<unsigned>(piece_rows)};
  }
  if (one_shard()) return;
  const cuda::device_scope scope(first_device());
  total_.grow(layout_.size());
}

template <class Scalar>
summed_rows device_fold<Scalar>::summed_on(std::size_t g) const {
  return {rows_->rows(), rows_->most_shard_rows(), rows_->share_rows(g)};
}

template <class Scalar>
sum_plan device_fold<Scalar>::tensor_plan(std::size_t g) const {
  const cuda::gpu& gpu = rows_->group()[g];
  return make_tensor_fold_plan(summed_on(g), clusters_, layout_.columns, rows_->group().precision(),
                               gpu.multiprocessors, gpu.shared_bytes);
}

template <class Scalar>
void device_fold<Scalar>::set_centroids(place& here, const cuda::gpu& gpu) {
  const std::size_t tile = in_float16_ ? float16_cluster_tile : cluster_tile;
  const std::size_t padded = (clusters_ + tile - 1) / tile * tile, columns = layout_.columns;
  const auto set = [&]<class Of>(centroid_buffers<Of>& buffers) -> device_centroids<Of>& {
    buffers.turned.grow(columns * padded);
    buffers.rounded.grow(clusters_ * columns);
    buffers.origin.grow(columns);
    buffers.negated.grow(columns * padded);
    buffers.half_norms.grow(padded);
    device_centroids<Of>& of = buffers.centroids;
    of.clusters = static_cast<int>(clusters_);
    of.columns = static_cast<int>(columns);
    of.padded = static_cast<int>(padded);
    of.values = here.values.data();
    of.turned = buffers.turned.data();
    of.rounded = buffers.rounded.data();
    of.origin = buffers.origin.data();
    of.negated = buffers.negated.data();
    of.half_norms = buffers.half_norms.data();
    of.bounds = here.bounds.data();
    return of;
  };
  const bool in_float32 = in_float16_ || few_columns_;
  if (in_float32) {
    const device_centroids<float>& of = set(here.narrow);
    here.summed.values = of.values;
    here.summed.clusters = of.clusters;
    here.summed.columns = of.columns;
    if constexpr (sizeof(Scalar) == 4) {
      here.summed.rounded = of.rounded;
    } else {
      here.summed.rounded = of.values;
    }
  }
  if (in_float16_) {
    device_centroids<float>& of = here.narrow.centroids;
    // Labels of float64 rows are exact whatever the precision.
    if (sizeof(Scalar) == 4) of.products = rows_->group().precision();
    std::size_t rows_at_once = float16_rows_at_once(columns, float16_digits::one, gpu.multiprocessors);
    if (keeps_operands_) {
      const std::size_t all = rows_->most_piece_rows();
      rows_at_once = (all + float16_block_rows - 1) / float16_block_rows * float16_block_rows;
    }
    here.float16.grow(rows_at_once, padded, columns, float16_digits::one, gpu.compute);
    if (in_bytes_) here.bytes.grow(rows_at_once, padded, columns, extent_, gpu.compute);
  }
  if (in_float32) return;
  device_centroids<Scalar>& of = set(here.own);
  if (on_tensor_cores_) {
    of.products = rows_->group().precision();
    here.tensor.grow(padded / cluster_tile * tensor_tile_bytes(tensor_columns(of.columns), of.products));
    here.tensor.fill_with_zeros(gpu.compute);
    of.tensor = here.tensor.data();
  }
  here.summed = of;
}

template <class Scalar>
void device_fold<Scalar>::upload(const std::vector<double>& centroids) {
  upload(centroids, mean_of_centroids(centroids, clusters_));
}

template <class Scalar>
void device_fold<Scalar>::upload(const std::vector<double>& centroids, const std::vector<double>& origin) {
  const std::size_t columns = layout_.columns;
  for (std::size_t i = 0; i < centroids.size(); ++i) {
    if (!std::isfinite(centroids[i])) {
      throw numerical_error(fmt::format("centroid {}, column {} is {}", i / columns, i % columns, centroids[i]));
    }
  }
  for (std::size_t g = 0; g < places_.size(); ++g) {
    const cuda::gpu& gpu = rows_->group()[g];
    const cuda::device_scope scope(gpu.device);
    places_[g].values.upload(centroids, gpu.compute);
    gpu.compute.synchronize();  // the host's copy ends here
  }
  set_origin(origin);
}

template <class Scalar>
void device_fold<Scalar>::set_origin(const std::vector<double>& point) {
  const std::size_t columns = layout_.columns;
  converted_ = false;
  const auto give = [&]<class Of>(centroid_buffers<Of>& to, const cuda::gpu& gpu) {
    std::vector<Of> origin(columns);
    for (std::size_t j = 0; j < columns; ++j) {
      const auto rounded = static_cast<Of>(point[j]);
      origin[j] = std::isfinite(rounded) ? rounded : Of{0};
    }
    to.origin.upload(origin, gpu.compute);
    gpu.compute.synchronize();
  };
  for (std::size_t g = 0; g < places_.size(); ++g) {
    const cuda::gpu& gpu = rows_->group()[g];
    const cuda::device_scope scope(gpu.device);
    if (in_float16_ || few_columns_) {
      give(places_[g].narrow, gpu);
    } else {
      give(places_[g].own, gpu);
    }
  }
}

template <class Scalar>
std::vector<double> device_fold<Scalar>::download() const {
  const cuda::device_scope scope(first_device());
  return places_[0].values.download(clusters_ * layout_.columns, stream());
}

template <class Scalar>
void device_fold<Scalar>::convert_all_rows() {
  rows_->for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
    place& here = places_[g];
    convert_some_rows(piece, 0, piece.count, here, rows_->group()[g]);
  });
  converted_ = true;
}

template <class Scalar>
void device_fold<Scalar>::convert_some_rows(const cuda::device_piece<Scalar>& piece, std::size_t begin,
                                            std::size_t count, place& here, const cuda::gpu& gpu) {
  const Scalar* const from = piece.rows + begin * layout_.columns;
  const float* const origin = here.narrow.origin.data();
  const auto columns = static_cast<int>(layout_.columns);
  convert_rows(from, count, columns, origin, here.float16.operands(), here.stopped(), gpu.compute);
  if constexpr (sizeof(Scalar) == 4) {
    if (in_bytes_) convert_rows(from, count, columns, origin, here.bytes.operands(), here.stopped(), gpu.compute);
  }
}

template <class Scalar>
void device_fold<Scalar>::begin(const loop_state& state) {
  for (std::size_t g = 0; g < places_.size(); ++g) {
    const cuda::gpu& gpu = rows_->group()[g];
    const cuda::device_scope scope(gpu.device);
    places_[g].bounds.fill_with_zeros(gpu.compute);
    places_[g].counts.fill_with_zeros(gpu.compute);
    cuda::check(cudaMemsetAsync(places_[g].state(), 0, sizeof(loop_state), gpu.compute), "clear device memory");
  }
  if (keeps_operands_ && !converted_) convert_all_rows();
  if (told_.size() != 0) told_[0] = still_running;
  const cuda::device_scope scope(first_device());
  cuda::check(cudaMemcpyAsync(places_[0].state(), &state, sizeof(state), cudaMemcpyHostToDevice, stream()),
              "copy to the device");  // which has read pageable memory when it returns
}

template <class Scalar>
typename device_fold<Scalar>::finished_steps device_fold<Scalar>::finish(std::size_t most_steps) const {
  static_assert(std::is_trivially_copyable_v<loop_memory>);
  const cuda::device_scope scope(first_device());
  std::vector<unsigned char> bytes(offsetof(loop_memory, records) + most_steps * sizeof(device_record));
  cuda::check(cudaMemcpyAsync(bytes.data(), places_[0].loop.data(), bytes.size(), cudaMemcpyDeviceToHost, stream()),
              "copy from the device");
  cuda::check(cudaStreamSynchronize(stream()), "finish its work");
  finished_steps finished;
  std::memcpy(&finished.state, bytes.data(), sizeof(loop_state));
  finished.records.resize(std::min<std::size_t>(finished.state.steps, most_steps));
  if (!finished.records.empty()) {
    std::memcpy(finished.records.data(), bytes.data() + offsetof(loop_memory, records),
                finished.records.size() * sizeof(device_record));
  }
  return finished;
}

template <class Scalar>
void device_fold<Scalar>::expect_to_be_told() {
  told_.grow(1);
  told_[0] = still_running;
}

template <class Scalar>
bool device_fold<Scalar>::known_to_have_stopped() const {
  if (told_.size() == 0) return false;
  const volatile int& told = told_[0];  // the GPU writes it
  return told != still_running;
}

template <class Scalar>
void device_fold<Scalar>::search(const cuda::device_piece<Scalar>& piece, place& here, const cuda::gpu& gpu) {
  std::int32_t* const labels = here.labels.data();
  const device_centroids<Scalar>& centroids = here.own.centroids;
  if (in_float16_) return search_in_float16(piece, here, gpu);
  if (few_columns_) {
    return search_few_columns(piece, here.narrow.centroids, labels, here.stopped(), gpu.compute);
  }
  if constexpr (sizeof(Scalar) == 4) {
    if (on_tensor_cores_) {
      search_tensor(piece, centroids, labels, here.doubtful, gpu.multiprocessors, gpu.shared_bytes, here.stopped(),
                    gpu.compute);
      if (centroids.products != precision::float32) return;
    }
  }
  if (!on_tensor_cores_) {
    search_plain(piece, centroids, labels, here.doubtful, here.stopped(), gpu.compute);
  }
  decide_doubtful(piece, centroids, labels, here.doubtful, here.stopped(), gpu.compute);
}

template <class Scalar>
void device_fold<Scalar>::search_in_float16(const cuda::device_piece<Scalar>& piece, place& here,
                                            const cuda::gpu& gpu) {
  const device_centroids<float>& centroids = here.narrow.centroids;
  for (std::size_t begin = 0; begin < piece.count; begin += here.float16.operands().rows_at_once) {
    const std::size_t count = std::min(here.float16.operands().rows_at_once, piece.count - begin);
    if (!keeps_operands_) convert_some_rows(piece, begin, count, here, gpu);
    if (in_bytes_) {
      search_bytes(here.bytes.operands(), begin, count, searched(centroids), here.labels.data(), gpu.multiprocessors,
                   here.stopped(), gpu.compute);
      search_left_rows(here.float16.operands(), here.bytes.operands(), begin, count, searched(centroids),
                       here.labels.data(), gpu.multiprocessors, here.stopped(), gpu.compute);
      continue;
    }
    search_float16(here.float16.operands(), begin, count, searched(centroids), here.labels.data(), here.doubtful,
                   gpu.multiprocessors, here.stopped(), gpu.compute);
  }
  if (centroids.products != precision::float32) return;
  decide_doubtful(piece, centroids, here.labels.data(), here.doubtful, here.stopped(), gpu.compute);
}

template <class Scalar>
void device_fold<Scalar>::fold_in_one_pass(const cuda::device_piece<Scalar>& piece, place& here, cudaStream_t stream,
                                           bool labels) {
  std::int32_t* const to = labels ? here.labels.data() : nullptr;
  unsigned long long* const fingerprint = &here.state()->fingerprint;
  if (fused_) {
    return fold_fused(here.plan, piece, here.summed, to, here.lanes.data(), fingerprint, here.stopped(), stream);
  }
  if (few_) return fold_few(here.plan, piece, here.summed, to, here.lanes.data(), fingerprint, here.stopped(), stream);
  if constexpr (sizeof(Scalar) == 4) {
    if (by_tensor_) {
      return fold_tensor(here.plan, piece, here.own.centroids, to, here.lanes.data(), fingerprint, here.stopped(),
                         stream);
    }
    fold_wide(here.plan, piece, here.summed, to, here.lanes.data(), fingerprint, here.stopped(), stream);
  }
}

template <class Scalar>
void device_fold<Scalar>::enqueue(const labels_visitor& visit) {
  enqueue_rows(visit);
  enqueue_merge();
}

template <class Scalar>
void device_fold<Scalar>::enqueue_rows(const labels_visitor& visit) {
  for (std::size_t g = 0; g < places_.size() && !in_one_pass(); ++g) {
    const cuda::gpu& gpu = rows_->group()[g];
    const cuda::device_scope scope(gpu.device);
    place& here = places_[g];
    if (in_float16_ || few_columns_) {
      prepare_centroids(here.narrow.centroids, here.stopped(), gpu.compute);
    } else {
      prepare_centroids(here.own.centroids, here.stopped(), gpu.compute);
    }
    if (in_float16_) {
      convert_centroids(searched(here.narrow.centroids), here.float16.operands(), here.stopped(), gpu.compute);
    }
    if (in_bytes_) {
      convert_centroids(searched(here.narrow.centroids), here.narrow.centroids.negated, here.bytes.operands(),
                        here.stopped(), gpu.compute);
    }
  }
  rows_->for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
    place& here = places_[g];
    const cudaStream_t stream = rows_->group()[g].compute;
    if (in_one_pass() || by_tensor_) {
      fold_in_one_pass(piece, here, stream, static_cast<bool>(visit));
    } else {
      search(piece, here, rows_->group()[g]);
      unsigned long long* const fingerprint = &here.state()->fingerprint;
      if (sorted_) {
        sum_sorted(here.plan, piece, here.summed, here.labels.data(), here.sorted.buffers(), here.lanes.data(),
                   fingerprint, here.stopped(), stream);
      } else {
        sum_by_label(here.plan, piece, here.summed, here.labels.data(), here.lanes.data(), fingerprint, here.stopped(),
                     stream);
      }
    }
    if (visit) visit(piece, here.labels.data(), stream);
  });
}

template <class Scalar>
void device_fold<Scalar>::enqueue_merge() {
  std::vector<cuda::group_part<double>> parts;  // in the order of the shards
  for (std::size_t g = 0; g < places_.size(); ++g) {
    const cuda::gpu& gpu = rows_->group()[g];
    const cuda::device_scope scope(gpu.device);
    const double* const mine = places_[g].statistics.data();
    merge_lanes(places_[g].plan, layout_, places_[g].lanes.data(), places_[g].statistics.data(), places_[g].state(),
                gpu.compute);
    for (std::size_t s = 0; s < rows_->shards_of(g); ++s) parts.push_back({g, mine + s * layout_.size()});
  }
  if (one_shard()) return;
  rows_->sum_on_first(parts, total_.data(), layout_.size());
  const cuda::device_scope scope(first_device());
  inspect_statistics(layout_, total_.data(), places_[0].state(), stream());
}

template <class Scalar>
void device_fold<Scalar>::enqueue_step(const stop_limits& limits) {
  enqueue_rows({});
  place& first = places_[0];
  move_arguments move;
  move.layout = layout_;
  move.statistics = statistics().data();
  move.centroids = first.values.data();
  move.bounds = first.bounds.data();
  move.limits = limits;
  move.partial = first.partial.data();
  move.records = first.loop.data()->records;
  move.state = first.state();
  move.told = told_.data();
  if (places_.size() == 1 && one_shard() && layout_.size() <= most_merged_and_moved) {
    const cuda::device_scope scope(first_device());
    return merge_and_move(first.plan, first.lanes.data(), first.statistics.data(), move, stream());
  }
  enqueue_merge();
  {
    const cuda::device_scope scope(first_device());
    move_centroids(move, stream());
  }
  std::vector<void*> to;
  for (place& here : places_) to.push_back(here.values.data());
  rows_->group().broadcast(first.values.data(), to, clusters_ * layout_.columns * sizeof(double));
}

template <class Scalar>
kmeans::statistics device_fold<Scalar>::read_statistics() const {
  const cuda::device_scope scope(first_device());
  const std::vector<double> all = statistics().download(layout_.size(), stream());
  kmeans::statistics read;
  const auto at = [&](std::size_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i); };
  read.weights.assign(all.begin(), at(layout_.sums()));
  read.sums.assign(at(layout_.sums()), at(layout_.inertia()));
  read.inertia = all[layout_.inertia()];
  read.fingerprint = static_cast<std::uint64_t>(all[layout_.fingerprint()]) +
                     (static_cast<std::uint64_t>(all[layout_.fingerprint() + 1]) << 32);
  return read;
}

template <class Scalar>
double device_fold<Scalar>::share_left() const {
  if (!in_bytes_) return 1;
  const cuda::device_scope scope(first_device());
  const std::size_t at_once = places_[0].bytes.rows_at_once();
  return places_[0].bytes.share_left(std::min(rows_->most_piece_rows(), at_once), rows_->group()[0].compute);
}

template class device_fold<float>;
template class device_fold<double>;

}  // namespace shoal::kmeans
