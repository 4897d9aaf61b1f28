#include <shoal/gmm/cuda/step/parts.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/gmm/cuda/step/maximise_lanes.hpp>
#include <shoal/gmm/refusals.hpp>

namespace shoal::gmm {

void refuse_model(refusal::code code, const model& model, std::size_t scalar_bytes) {
  const std::size_t k = refusal::component(code);
  const std::size_t column = refusal::detail(code);
  switch (refusal::kind(code)) {
    case refusal::mean:
      refuse_mean(k, column, model.means[k * model.columns + column], scalar_bytes);
    case refusal::variance:
      refuse_variance(
          model.covariance_type, k, column,
          model.covariances[model.covariance_type == covariance_type::diag ? k * model.columns + column : k]);
    case refusal::singular:
      refuse_covariance(model.covariance_type, k, too_close_to_singular);
    default:
      refuse_covariance(model.covariance_type, k, not_positive_definite);
  }
}

std::size_t model_size(const statistics_layout& layout) {
  const std::size_t K = layout.components(), d = layout.columns();
  return K + K * d + covariance_size(layout.type(), K, d);
}

void unpack_model(std::span<const double> values, model& model) {
  const std::size_t K = model.components, d = model.columns;
  auto at = values.begin();
  for (auto [part, size] : {std::pair{&model.weights, K}, std::pair{&model.means, K * d},
                            std::pair{&model.covariances, covariance_size(model.covariance_type, K, d)}}) {
    part->assign(at, at + static_cast<std::ptrdiff_t>(size));
    at += static_cast<std::ptrdiff_t>(size);
  }
}

template <class Scalar>
device_parts<Scalar>::device_parts(cuda::device_group& group, const statistics_layout& layout, double regularization)
    : group_(&group), layout_(layout), regularization_(regularization) {
  if (layout.components() > most_components || layout.columns() > most_components) {
    throw bad_argument(fmt::format("a GPU fits mixtures of at most {} components and columns", most_components));
  }
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    mixtures_.emplace_back(layout);
    // All of it, since copies between GPUs take the gaps between its arrays too.
    cuda::check(cudaMemsetAsync(mixtures_[g].data(), 0, mixtures_[g].bytes(), group[g].compute), "clear device memory");
  }
  const cuda::device_scope scope(group[0].device);
  model_.grow(model_size(layout));
  before_.grow(model_size(layout));
  work_.grow(work_size(kernel_layout(layout), static_cast<unsigned>(group[0].multiprocessors), group[0].shared_bytes));
  state_.grow(1);
  state_.fill_with_zeros(group[0].compute);  // the host reads all of it back, whatever the steps wrote
  host_state_.grow(1);
  host_reason_.grow(1);
  takes_lanes_ = group.size() == 1 && can_maximise_lanes<Scalar>(kernel_layout(layout));
}

template <class Scalar>
model_arrays device_parts<Scalar>::arrays_in(cuda::device_buffer<double>& buffer) const {
  const std::size_t K = layout_.components();
  return {buffer.data(), buffer.data() + K, buffer.data() + K + K * layout_.columns()};
}

template <class Scalar>
model_arrays device_parts<Scalar>::model_on_device() {
  return arrays_in(model_);
}

template <class Scalar>
step_arguments<Scalar> device_parts<Scalar>::arguments(const double* statistics) {
  step_arguments<Scalar> made;
  made.layout = kernel_layout(layout_);
  made.statistics = statistics;
  made.model = model_on_device();
  made.before = arrays_in(before_);
  made.prepared = mixtures_[0].arrays();
  made.state = state_.data();
  made.host_reason = host_reason_.data();
  made.regularization = regularization_;
  made.work = work_.data();
  made.multiprocessors = static_cast<unsigned>((*group_)[0].multiprocessors);
  made.shared_bytes = (*group_)[0].shared_bytes;
  return made;
}

template <class Scalar>
void device_parts<Scalar>::prepare(const model& model) {
  begin_steps(not_known, 0);
  {
    const cuda::device_scope scope((*group_)[0].device);
    const cuda::stream& stream = (*group_)[0].compute;
    group_->hold_for_broadcast(stream);
    double* at = model_.data();
    for (const auto* part : {&model.weights, &model.means, &model.covariances}) {
      cuda::check(cudaMemcpyAsync(at, part->data(), part->size() * sizeof(double), cudaMemcpyHostToDevice, stream),
                  "copy to the device");  // which has read pageable memory when it returns
      at += part->size();
    }
    gmm::prepare(arguments(nullptr), stream);
  }
  broadcast();
  const step_state& state = end_steps();
  if (state.reason == stop_reason::failed) refuse_model(state.failure, model, sizeof(Scalar));
}

template <class Scalar>
void device_parts<Scalar>::download_model(model& into) const {
  const cuda::device_scope scope((*group_)[0].device);
  unpack_model(model_.download(model_size(layout_), (*group_)[0].compute), into);
}

template <class Scalar>
void device_parts<Scalar>::download_model_before(model& into) const {
  const cuda::device_scope scope((*group_)[0].device);
  unpack_model(before_.download(model_size(layout_), (*group_)[0].compute), into);
}

template <class Scalar>
void device_parts<Scalar>::begin_steps(double previous, double tolerance) {
  host_state_[0] = {};
  host_state_[0].has_previous = std::isnan(previous) ? 0 : 1;
  host_state_[0].previous = previous;
  host_state_[0].pass_steps = pass_steps_;
  host_state_[0].tolerance = tolerance;
  host_reason_[0] = static_cast<int>(stop_reason::none);
  const cuda::device_scope scope((*group_)[0].device);
  cuda::check(cudaMemcpyAsync(state_.data(), host_state_.data(), offsetof(step_state, objectives),
                              cudaMemcpyHostToDevice, (*group_)[0].compute),
              "copy to the device");
}

template <class Scalar>
void device_parts<Scalar>::maximise(const double* statistics, cudaStream_t stream) {
  const cuda::device_scope scope((*group_)[0].device);
  group_->hold_for_broadcast(stream);
  gmm::maximise(arguments(statistics), stream);
}

template <class Scalar>
void device_parts<Scalar>::maximise(const lane_array& lanes, double* statistics) {
  const cuda::device_scope scope((*group_)[0].device);
  maximise_lanes(arguments(statistics), lanes, statistics, (*group_)[0].compute);
}

template <class Scalar>
void device_parts<Scalar>::broadcast() {
  std::vector<void*> to;
  for (auto& mixture : mixtures_) to.push_back(mixture.data());
  group_->start_broadcast(mixtures_[0].data(), to, mixtures_[0].bytes());
}

template <class Scalar>
bool device_parts<Scalar>::stopped() const {
  const volatile int& reason = host_reason_[0];  // the GPU writes it
  return reason != static_cast<int>(stop_reason::none);
}

template <class Scalar>
const step_state& device_parts<Scalar>::end_steps() {
  const cuda::device_scope scope((*group_)[0].device);
  const cuda::stream& stream = (*group_)[0].compute;
  cuda::check(cudaMemcpyAsync(host_state_.data(), state_.data(), sizeof(step_state), cudaMemcpyDeviceToHost, stream),
              "copy from the device");
  stream.synchronize();
  return host_state_[0];
}

template <class Scalar>
void device_parts<Scalar>::resume() {
  for (std::size_t g = 0; g < group_->size(); ++g) {
    const cuda::device_scope scope((*group_)[g].device);
    cuda::check(cudaMemsetAsync(mixtures_[g].arrays().stopped, 0, sizeof(int), (*group_)[g].compute),
                "clear device memory");
  }
}

template class device_parts<float>;
template class device_parts<double>;

}  // namespace shoal::gmm
