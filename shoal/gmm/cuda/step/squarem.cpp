#include <shoal/gmm/cuda/step/squarem.hpp>

#include <algorithm>
#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/gmm/coordinates.hpp>

namespace shoal::gmm {

template <class Scalar>
device_squarem_fit<Scalar>::device_squarem_fit(std::unique_ptr<device_expectation_maximization<Scalar>> batch,
                                               const data_summary& summary, const options& options)
    : batch_(std::move(batch)), options_(options), layout_(batch_->parts().layout()) {
  const cuda::device_scope scope(first().device);
  const cuda::stream& stream = first().compute;
  state_.grow(1);
  points_.grow(squarem_points * point_size(layout_));
  kept_.grow(model_size(batch_->parts().layout()));
  norms_.grow(norms_size(layout_));
  host_state_.grow(1);
  std::vector<double> columns = summary.mean;
  const std::vector<double> scales = coordinate_scales(summary);
  columns.insert(columns.end(), scales.begin(), scales.end());
  common_scale_ = common_coordinate_scale(scales);
  columns_.upload(columns, stream);
  // All of it is downloaded, whatever kernels have written.
  state_.fill_with_zeros(stream);
  points_.fill_with_zeros(stream);
  norms_.fill_with_zeros(stream);
  stream.synchronize();
  batch_->put_between_steps(*this);
}

template <class Scalar>
squarem_arguments<Scalar> device_squarem_fit<Scalar>::arguments() {
  squarem_arguments<Scalar> made;
  made.step = batch_->parts().arguments();
  made.step.replaced = &state_.data()->replaced;
  made.state = state_.data();
  made.points = points_.data();
  made.kept = kept_.data();
  made.norms = norms_.data();
  made.means = columns_.data();
  made.scales = columns_.data() + layout_.columns;
  made.common_scale = common_scale_;
  made.tolerance = options_.tolerance;
  return made;
}

template <class Scalar>
void device_squarem_fit<Scalar>::upload_course(squarem_course course) {
  host_state_[0] = {};
  host_state_[0].course = course;
  cuda::check(cudaMemcpyAsync(state_.data(), host_state_.data(), sizeof(squarem_state), cudaMemcpyHostToDevice,
                              first().compute),
              "copy to the device");
}

template <class Scalar>
void device_squarem_fit<Scalar>::seed(std::size_t restart) {
  batch_->seed(restart);
  const cuda::device_scope scope(first().device);
  squarem_course course;
  course.objective = options_.previous_log_likelihood;
  upload_course(course);
}

template <class Scalar>
void device_squarem_fit<Scalar>::before_steps() {
  if (!in_cycle_) begin_cycle(arguments(), first().compute);
  in_cycle_ = true;
  extrapolate(squarem_work::begin);
}

template <class Scalar>
void device_squarem_fit<Scalar>::after_steps() {
  extrapolate(squarem_work::end);
  cuda::check(cudaMemcpyAsync(host_state_.data(), state_.data(), sizeof(squarem_state), cudaMemcpyDeviceToHost,
                              first().compute),
              "copy from the device");
}

template <class Scalar>
void device_squarem_fit<Scalar>::extrapolate(squarem_work work) {
  device_parts<Scalar>& parts = batch_->parts();
  const cuda::device_scope scope(first().device);
  parts.group().hold_for_broadcast(first().compute);
  gmm::extrapolate(arguments(), work, first().compute);
  parts.broadcast();
}

template <class Scalar>
std::vector<step_record> device_squarem_fit<Scalar>::records(std::span<const double> objectives) const {
  std::vector<step_record> made;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    made.push_back({objectives[i], host_state_[0].changes[i], false});
  }
  return made;
}

template <class Scalar>
std::vector<double> device_squarem_fit<Scalar>::save() const {
  std::vector<double> state = batch_->save();
  const cuda::device_scope scope(first().device);
  append_course(host_state_[0].course, state);
  for (const auto* part : {&points_, &norms_}) {
    const std::vector<double> values = part->download(part->size(), first().compute);
    state.insert(state.end(), values.begin(), values.end());
  }
  state.push_back(in_cycle_ ? 1 : 0);
  return state;
}

template <class Scalar>
void device_squarem_fit<Scalar>::restore(std::span<const double> state) {
  state_reader words(state);
  const std::size_t own = course_size + points_.size() + norms_.size() + 1;
  const std::span<const double> batch = words.take(std::max(state.size(), own) - own, "the model");
  const squarem_course course = take_course(words);
  // Models that were tried and refused may have left anything in them.
  const std::span<const double> points = words.take(points_.size(), "the points of a cycle");
  const std::span<const double> norms = words.take(norms_.size(), "the norms of a cycle");
  const bool in_cycle = words.take_flag("whether a cycle has begun");
  words.end();
  batch_->restore(batch);
  const cuda::device_scope scope(first().device);
  upload_course(course);
  points_.upload(points, first().compute);
  norms_.upload(norms, first().compute);
  first().compute.synchronize();
  in_cycle_ = in_cycle;
}

template class device_squarem_fit<float>;
template class device_squarem_fit<double>;

}  // namespace shoal::gmm
