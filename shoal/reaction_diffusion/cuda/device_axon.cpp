#include <shoal/reaction_diffusion/cuda/device_axon.hpp>

#include <limits>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal::reaction_diffusion {
namespace {

// Values before and behind a part's nodes: vectors begin at whole cache lines.
constexpr std::size_t margin = 32;

std::size_t blocks_of(std::size_t nodes) { return (nodes + newton_block_rows - 1) / newton_block_rows; }

// Behind the last node, up to a whole thread.
std::size_t rows_that_fill(std::size_t nodes) {
  return (newton_thread_rows - nodes % newton_thread_rows) % newton_thread_rows;
}

}  // namespace

std::span<const int> devices_with_blocks(std::span<const int> devices, std::size_t nodes) {
  return devices.first(std::min(devices.size(), blocks_of(nodes)));
}

template <class Scalar>
device_axon<Scalar>::device_axon(const problem& wave, std::span<const int> devices, int vectors)
    : nodes_(wave.grid.columns),
      group_(devices_with_blocks(devices, nodes_)),
      parts_(group_.size()),
      before_(nodes_, Scalar(0)) {
  const double weight = wave.parameters.diffusion / (wave.grid.spacing * wave.grid.spacing);
  const std::size_t blocks = blocks_of(nodes_);
  const auto count = static_cast<long long>(nodes_);
  const bool alone = parts() == 1;
  const axon_equations<Scalar> equations{static_cast<Scalar>(wave.parameters.a),
                                         static_cast<Scalar>(weight),
                                         count,
                                         wave.has_input(),
                                         wave.boundary == boundary::periodic,
                                         alone ? count - 1 : -1,
                                         alone ? 0 : count,
                                         static_cast<Scalar>(rows_that_fill(nodes_) + 1)};
  each([&](std::size_t i, cudaStream_t) {
    part& own = parts_[i];
    newton_memory<Scalar>& memory = own.memory;
    memory.equations = equations;
    memory.first = static_cast<long long>(blocks * i / parts() * newton_block_rows);
    memory.end = std::min(count, static_cast<long long>(blocks * (i + 1) / parts() * newton_block_rows));
    for (int k = 0; k < vectors; ++k) memory.vectors[k] = zeros(i, own.vectors[k]);
    memory.w = zeros(i, own.w);
    memory.right = zeros(i, own.right);
    own.scratch.grow(newton_scratch_values<Scalar>(nodes_));
    memory.scratch = own.scratch.data();
    own.state.grow(1);
    memory.state = own.state.data();
  });
}

template <class Scalar>
device_axon<Scalar>::~device_axon() {
  try {
    group_.synchronize();
  } catch (...) {  // what failed was said by then
  }
}

template <class Scalar>
Scalar* device_axon<Scalar>::zeros(std::size_t index, cuda::device_buffer<Scalar>& buffer) const {
  buffer.grow(parts_[index].nodes() + 2 * margin);
  buffer.fill_with_zeros(stream(index));
  return buffer.data() + margin - parts_[index].memory.first;
}

template <class Scalar>
void device_axon<Scalar>::load(const state<Scalar>& now) {
  if (loaded_) return;
  loaded_ = true;
  newton_state<Scalar> first{};
  first.now = 0;
  first.earlier = 1;
  first.refused = std::numeric_limits<unsigned long long>::max();
  first.end = newton_end::converged;
  each([&](std::size_t i, cudaStream_t stream) {
    part& own = parts_[i];
    const newton_memory<Scalar>& memory = own.memory;
    own.state.upload({&first, 1}, stream);
    const auto copy = [&](const Scalar* from, Scalar* to, std::size_t count) {
      cuda::check(cudaMemcpyAsync(to, from, count * sizeof(Scalar), cudaMemcpyDefault, stream),
                  "copy a state to the device");
    };
    const auto begin = static_cast<std::size_t>(memory.first), end = static_cast<std::size_t>(memory.end);
    copy(now.values_of_v() + begin, memory.vectors[0] + begin, own.nodes());
    copy(before_.data() + begin, memory.vectors[1] + begin, own.nodes());
    copy(now.values_of_w() + begin, memory.w + begin, own.nodes());
    copy(now.values_of_v() + (begin > 0 ? begin : nodes_) - 1, memory.vectors[0] + memory.first - 1, 1);
    copy(now.values_of_v() + (end < nodes_ ? end : 0), memory.vectors[0] + end, 1);
  });
  group_.synchronize();
}

template <class Scalar>
void device_axon<Scalar>::collect(state<Scalar>& now) const {
  if (!loaded_) return;
  copy(look().now, now.values_of_v());
  copy(-1, now.values_of_w());
}

template <class Scalar>
std::vector<double> device_axon<Scalar>::before() const {
  std::vector<Scalar> values = before_;
  if (loaded_) copy(look().earlier, values.data());
  return {values.begin(), values.end()};
}

template <class Scalar>
void device_axon<Scalar>::restore(const std::vector<double>& before, std::size_t iterations) {
  std::transform(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(nodes_), before_.begin(),
                 [](double value) { return static_cast<Scalar>(value); });
  iterations_ = iterations;
}

template <class Scalar>
newton_state<Scalar> device_axon<Scalar>::look(std::size_t index) const {
  const cuda::device_scope scope(group_[index].device);
  return parts_[index].state.download(1, stream(index)).front();
}

template <class Scalar>
void device_axon<Scalar>::look_and_check() const {
  const newton_state<Scalar> found = look();
  if (found.end == newton_end::converged) return;
  throw numerical_error(fmt::format("Newton's method did not converge at time {} ({}); give a shorter step",
                                    found.failed_at,
                                    found.end == newton_end::not_finite ? "a value became infinite or not a number"
                                                                        : "its last change was still too large"));
}

template <class Scalar>
void device_axon<Scalar>::copy(int vector, Scalar* to) const {
  each([&](std::size_t i, cudaStream_t stream) {
    const newton_memory<Scalar>& memory = parts_[i].memory;
    const Scalar* const from = vector < 0 ? memory.w : memory.vectors[vector];
    cuda::check(cudaMemcpyAsync(to + memory.first, from + memory.first, parts_[i].nodes() * sizeof(Scalar),
                                cudaMemcpyDefault, stream),
                "copy a state from the device");
  });
  group_.synchronize();
}

template class device_axon<double>;
template class device_axon<float>;

}  // namespace shoal::reaction_diffusion
