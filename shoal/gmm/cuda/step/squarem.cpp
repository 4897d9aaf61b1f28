#include <shoal/gmm/cuda/step/squarem.hpp>

#include <cstddef>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/gmm/coordinates.hpp>
#include <shoal/gmm/cuda/step/parts.hpp>

namespace shoal::gmm {

template <class Scalar>
device_squarem<Scalar>::device_squarem(const statistics_layout& layout, const data_summary& summary, double tolerance,
                                       cudaStream_t stream)
    : layout_(layout),
      tolerance_(tolerance),
      state_(1),
      points_(squarem_points * point_size(layout_)),
      kept_(model_size(layout)),
      norms_(norms_size(layout_)),
      host_state_(1) {
  std::vector<double> columns = summary.mean;
  const std::vector<double> scales = coordinate_scales(summary);
  columns.insert(columns.end(), scales.begin(), scales.end());
  common_scale_ = common_coordinate_scale(scales);
  columns_.upload(columns, stream);
  // All of it is downloaded, whatever kernels have written.
  state_.fill_with_zeros(stream);
  points_.fill_with_zeros(stream);
  norms_.fill_with_zeros(stream);
  cuda::check(cudaStreamSynchronize(stream), "finish its work");
}

template <class Scalar>
squarem_arguments<Scalar> device_squarem<Scalar>::arguments(const step_arguments<Scalar>& step) {
  squarem_arguments<Scalar> made;
  made.step = step;
  made.step.replaced = &state_.data()->replaced;
  made.state = state_.data();
  made.points = points_.data();
  made.kept = kept_.data();
  made.norms = norms_.data();
  made.means = columns_.data();
  made.scales = columns_.data() + layout_.columns;
  made.common_scale = common_scale_;
  made.tolerance = tolerance_;
  return made;
}

template <class Scalar>
void device_squarem<Scalar>::upload_course(squarem_course course, cudaStream_t stream) {
  host_state_[0] = {};
  host_state_[0].course = course;
  cuda::check(cudaMemcpyAsync(state_.data(), host_state_.data(), sizeof(squarem_state), cudaMemcpyHostToDevice, stream),
              "copy to the device");
}

template <class Scalar>
void device_squarem<Scalar>::begin(double objective, cudaStream_t stream) {
  squarem_course course;
  course.objective = objective;
  upload_course(course, stream);
}

template <class Scalar>
void device_squarem<Scalar>::begin_cycle(const step_arguments<Scalar>& step, cudaStream_t stream) {
  gmm::begin_cycle(arguments(step), stream);
}

template <class Scalar>
void device_squarem<Scalar>::extrapolate(const step_arguments<Scalar>& step, squarem_work work, cudaStream_t stream) {
  gmm::extrapolate(arguments(step), work, stream);
}

template <class Scalar>
void device_squarem<Scalar>::enqueue_download(cudaStream_t stream) {
  cuda::check(cudaMemcpyAsync(host_state_.data(), state_.data(), sizeof(squarem_state), cudaMemcpyDeviceToHost, stream),
              "copy from the device");
}

template <class Scalar>
std::vector<step_record> device_squarem<Scalar>::records(std::span<const double> objectives) const {
  std::vector<step_record> made;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    made.push_back({objectives[i], host_state_[0].changes[i], false});
  }
  return made;
}

template <class Scalar>
std::vector<double> device_squarem<Scalar>::save(cudaStream_t stream) const {
  std::vector<double> state;
  append_course(host_state_[0].course, state);
  for (const auto* part : {&points_, &norms_}) {
    const std::vector<double> values = part->download(part->size(), stream);
    state.insert(state.end(), values.begin(), values.end());
  }
  return state;
}

template <class Scalar>
void device_squarem<Scalar>::restore(std::span<const double> state, cudaStream_t stream) {
  if (state.size() != state_size()) throw bad_data("the state is of another size");
  upload_course(take_course(state), stream);
  points_.upload(state.first(points_.size()), stream);
  norms_.upload(state.subspan(points_.size()), stream);
  cuda::check(cudaStreamSynchronize(stream), "finish its work");
}

template class device_squarem<float>;
template class device_squarem<double>;

}  // namespace shoal::gmm
