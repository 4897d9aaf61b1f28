#include <shoal/gmm/cuda/device_kept_statistics.hpp>

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
}

void device_kept_statistics::keep(std::size_t superchunk, const double* fresh, const double* centres) {
  const cuda::gpu& first = (*group_)[0];
  const cuda::device_scope scope(first.device);
  const std::size_t means = layout_.components() * layout_.columns();
  copy_on_device(kept_.data() + superchunk * layout_.size(), fresh, layout_.size(), first.compute);
  copy_on_device(centres_.data() + superchunk * means, centres, means, first.compute);
}

void device_kept_statistics::replace(std::size_t superchunk, const double* fresh, const double* centres,
                                     const int* stopped) {
  const cuda::gpu& first = (*group_)[0];
  const cuda::device_scope scope(first.device);
  kept_arguments arguments;
  arguments.layout = device_layout(layout_);
  arguments.size = layout_.size();
  arguments.fresh = fresh;
  arguments.centres = centres;
  arguments.kept = kept_.data();
  arguments.kept_centres = centres_.data();
  arguments.total = total_.data();
  arguments.stopped = stopped;
  arguments.superchunks = static_cast<unsigned>(superchunks_);
  arguments.superchunk = static_cast<unsigned>(superchunk);
  replace_kept(arguments, first.compute);
}

void device_kept_statistics::append_to(std::vector<double>& state) const {
  const cuda::gpu& first = (*group_)[0];
  const cuda::device_scope scope(first.device);
  for (const auto* part : {&kept_, &centres_}) {
    const std::vector<double> values = part->download(part->size(), first.compute);
    state.insert(state.end(), values.begin(), values.end());
  }
}

void device_kept_statistics::restore(std::span<const double> state) {
  const cuda::gpu& first = (*group_)[0];
  const cuda::device_scope scope(first.device);
  kept_.upload(state.first(kept_.size()), first.compute);
  centres_.upload(state.subspan(kept_.size()), first.compute);
  first.compute.synchronize();
}

}  // namespace shoal::gmm
