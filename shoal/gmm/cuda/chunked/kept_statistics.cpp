#include <shoal/gmm/cuda/chunked/kept_statistics.hpp>

#include <shoal/execution/cuda/check.hpp>

namespace shoal::gmm {
namespace {

void copy_on_device(double* to, const double* from, std::size_t count, cudaStream_t stream) {
  cuda::check(cudaMemcpyAsync(to, from, count * sizeof(double), cudaMemcpyDeviceToDevice, stream),
              "copy on the device");
}

}  // namespace

device_kept_statistics::device_kept_statistics(cuda::device_group& group, const statistics_layout& layout,
                                               std::size_t superchunks)
    : group_(&group), layout_(layout), superchunks_(superchunks) {
  const cuda::device_scope scope(group[0].device);
  kept_.grow(superchunks * layout.size());
  centres_.grow(superchunks * layout.components() * layout.columns());
  total_.grow(layout.size());
  kept_.fill_with_zeros(group[0].compute);
  centres_.fill_with_zeros(group[0].compute);
  total_.fill_with_zeros(group[0].compute);
  movement_.grow(2);
  movement_.fill_with_zeros(group[0].compute);
}

void device_kept_statistics::keep(std::size_t superchunk, const fresh_statistics& fresh, cudaStream_t stream) {
  const std::size_t means = layout_.components() * layout_.columns();
  copy_on_device(kept_.data() + superchunk * layout_.size(), fresh.sums, layout_.size(), stream);
  copy_on_device(centres_.data() + superchunk * means, fresh.centres, means, stream);
}

kept_arguments device_kept_statistics::arguments(std::size_t superchunk, const fresh_statistics& fresh,
                                                 const double* centres, const int* stopped) {
  kept_arguments made;
  made.layout = kernel_layout(layout_);
  made.size = layout_.size();
  made.fresh = fresh.sums;
  made.fresh_centres = fresh.centres;
  made.centres = centres;
  made.kept = kept_.data();
  made.kept_centres = centres_.data();
  made.total = total_.data();
  made.stopped = stopped;
  made.superchunks = static_cast<unsigned>(superchunks_);
  made.superchunk = static_cast<unsigned>(superchunk);
  return made;
}

void device_kept_statistics::replace(std::size_t superchunk, const fresh_statistics& fresh, const double* centres,
                                     const int* stopped, cudaStream_t stream) {
  replace_kept(arguments(superchunk, fresh, centres, stopped), stream);
}

void device_kept_statistics::replace_moved(std::size_t superchunk, const fresh_statistics& fresh, const double* centres,
                                           const int* stopped, double threshold, cudaStream_t stream) {
  kept_arguments of = arguments(superchunk, fresh, centres, stopped);
  look_for_movement(of, threshold, movement_.data(), movement_.data() + 1, stream);
  of.moved = movement_.data();
  replace_kept(of, stream);
}

void device_kept_statistics::begin_count(cudaStream_t stream) { movement_.fill_with_zeros(stream); }

std::size_t device_kept_statistics::folded(cudaStream_t stream) const {
  return static_cast<std::size_t>(movement_.download(2, stream)[1]);
}

void device_kept_statistics::append_to(std::vector<double>& state) const {
  const cuda::gpu& first = (*group_)[0];
  const cuda::device_scope scope(first.device);
  for (const auto* part : {&kept_, &centres_}) {
    const std::vector<double> values = part->download(part->size(), first.compute);
    state.insert(state.end(), values.begin(), values.end());
  }
}

void device_kept_statistics::restore(state_reader& state) {
  const std::span<const double> kept = state.take_finite(kept_.size(), "kept statistics");
  const std::span<const double> centres = state.take_finite(centres_.size(), "the centres of kept statistics");
  const cuda::gpu& first = (*group_)[0];
  const cuda::device_scope scope(first.device);
  kept_.upload(kept, first.compute);
  centres_.upload(centres, first.compute);
  first.compute.synchronize();
}

}  // namespace shoal::gmm
