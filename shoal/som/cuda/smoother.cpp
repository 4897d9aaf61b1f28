#include <shoal/som/cuda/smoother.hpp>

#include <span>

#include <shoal/execution/cuda/check.hpp>

namespace shoal::som {

template <class Scalar>
device_smoother<Scalar>::device_smoother(device_map<Scalar>& map, neighborhood kind, double cutoff,
                                         const std::vector<double>& radii, double rate)
    : map_(&map) {
  const cuda::device_scope scope(map.first_device());
  const std::size_t units = map.shape().units(), columns = map.rows().columns();
  radii_.upload(radii, map.stream());
  cuda::check(cudaStreamSynchronize(map.stream()), "finish its work");
  smoothing_.shape = map.shape();
  smoothing_.kind = kind;
  smoothing_.cutoff = cutoff;
  smoothing_.rate = rate;
  smoothing_.columns = columns;
  epoch_.grow(1);
  done_.grow(1);
  done_.fill_with_zeros();
  history_.grow(radii.size());
  history_.fill_with_zeros();  // all of it is read, also what a resumed fit never writes
  tables_.grow(smoothing_.table_doubles());
  along_.grow(smoothing_.along_doubles());
  smoothed_.grow(units * (columns + 1));
  pull_.grow(smoothing_.pull_doubles());
  if (!neighborhood_function{kind, 0, 0}.never_negative()) {
    kept_.grow(units * columns);
    not_finite_.grow(1);
    not_finite_.fill_with_zeros(map.stream());
  }
  smoothing_.radii = radii_.data();
  smoothing_.epoch = epoch_.data();
  smoothing_.done = done_.data();
  smoothing_.statistics = map.statistics();
  smoothing_.tables = tables_.data();
  smoothing_.along = along_.data();
  smoothing_.smoothed = smoothed_.data();
  smoothing_.pull = pull_.data();
  smoothing_.history = history_.data();
  smoothing_.codebook = map.codebook();
  smoothing_.centre = map.centre();
  smoothing_.kept = kept_.data();
  smoothing_.not_finite = not_finite_.data();
}

template <class Scalar>
void device_smoother<Scalar>::set_epoch(std::size_t epoch) {
  const cuda::device_scope scope(map_->first_device());
  const auto number = static_cast<unsigned>(epoch);
  epoch_.upload(std::span(&number, 1), map_->stream());
  cuda::check(cudaStreamSynchronize(map_->stream()), "set the epoch");
}

template <class Scalar>
void device_smoother<Scalar>::enqueue() {
  {
    const cuda::device_scope scope(map_->first_device());
    smooth_and_move(smoothing_, map_->stream());
  }
  map_->enqueue_broadcast();
}

template <class Scalar>
std::vector<double> device_smoother<Scalar>::history(std::size_t epochs) const {
  const cuda::device_scope scope(map_->first_device());
  return history_.download(epochs, map_->stream());
}

template <class Scalar>
bool device_smoother<Scalar>::stayed_finite() const {
  if (smoothing_.kept == nullptr) return true;
  const cuda::device_scope scope(map_->first_device());
  return not_finite_.download(1, map_->stream())[0] == 0;
}

template <class Scalar>
void device_smoother<Scalar>::put_back() {
  {
    const cuda::device_scope scope(map_->first_device());
    const std::size_t bytes = smoothing_.shape.units() * smoothing_.columns * sizeof(double);
    cuda::check(cudaMemcpyAsync(smoothing_.codebook, smoothing_.kept, bytes, cudaMemcpyDeviceToDevice, map_->stream()),
                "put a codebook back");
    not_finite_.fill_with_zeros(map_->stream());
  }
  map_->enqueue_broadcast();
}

template class device_smoother<float>;
template class device_smoother<double>;

}  // namespace shoal::som
