#include <shoal/reaction_diffusion/cuda/newton_loop.hpp>

#include <utility>

#include <shoal/reaction_diffusion/cuda/between_gpus.hpp>

namespace shoal::reaction_diffusion {

template <class Scalar>
newton_loop<Scalar>::newton_loop(device_axon<Scalar>& axon, std::vector<newton_memory<Scalar>> memories)
    : axon_(axon), memories_(std::move(memories)) {
  if (axon.parts() == 1) {
    axon.each([&](std::size_t, cudaStream_t stream) { alone_ = record_newton(memories_[0], stream); });
    return;
  }
  letters_.resize(axon.parts());
  for (auto* const events : {&reduced_, &written_, &read_}) events->resize(axon.parts());
  axon.each([&](std::size_t i, cudaStream_t) { letters_[i].grow(axon.parts()); });
}

template <class Scalar>
void newton_loop<Scalar>::solve() {
  if (alone_) {
    axon_.each([&](std::size_t, cudaStream_t stream) { alone_.launch(stream); });
  } else {
    tell(true);
    // As many as the last stage needed are enqueued ahead; those that are not needed do nothing.
    newton_state<Scalar> found{};
    for (std::size_t enqueued = 0; !found.done;) {
      do {
        pass(false);
        tell(false);
      } while (++enqueued < expected_);
      found = axon_.look();
    }
    expected_ = static_cast<std::size_t>(found.iteration);
  }
  axon_.each([&](std::size_t i, cudaStream_t stream) { end_newton(memories_[i], stream); });
}

// Both passes over all blocks, and what lies between them on the first GPU.
template <class Scalar>
void newton_loop<Scalar>::pass(bool damps) {
  cuda::device_group& group = axon_.group();
  axon_.each([&](std::size_t i, cudaStream_t stream) {
    reduce_newton(memories_[i], damps, stream);
    if (i > 0) reduced_[i].record(stream);
  });
  {
    const cuda::device_scope scope(group[0].device);
    for (std::size_t i = 1; i < axon_.parts(); ++i) reduced_[i].hold(axon_.stream(0));
    for (std::size_t i = 1; i < axon_.parts(); ++i) {
      const auto [first, end] = std::pair{memories_[i].first, memories_[i].end};
      const newton_blocks there = newton_blocks_of(memories_[i], first, end);
      copy_between(group, 0, newton_blocks_of(memories_[0], first, end).begin, i, there.begin, there.bytes);
    }
    solve_newton_middle(memories_[0], damps, axon_.stream(0));
    if (axon_.parts() > 1) solved_.record(axon_.stream(0));
  }
  axon_.each([&](std::size_t i, cudaStream_t stream) {
    if (i > 0) {
      // And that of the block before.
      const long long first = memories_[i].first - static_cast<long long>(newton_block_rows), end = memories_[i].end;
      const newton_blocks own = newton_blocks_of(memories_[i], first, end);
      solved_.hold(stream);
      copy_between(group, i, own.begin, 0, newton_blocks_of(memories_[0], first, end).begin, own.bytes);
    }
    finish_newton(memories_[i], damps, stream);
  });
}

// What each GPU tells the others of its iteration, or of its guess.
template <class Scalar>
void newton_loop<Scalar>::tell(bool of_guess) {
  const std::size_t count = axon_.parts();
  axon_.each([&](std::size_t i, cudaStream_t stream) {
    for (const cuda::event& reader : read_) reader.hold(stream);
    write_letter(memories_[i], letters_[i].data() + i, of_guess, stream);
    written_[i].record(stream);
  });
  axon_.each([&](std::size_t i, cudaStream_t stream) {
    for (std::size_t k = 0; k < count; ++k) {
      if (k == i) continue;
      written_[k].hold(stream);
      copy_between(axon_.group(), i, letters_[i].data() + k, k, letters_[k].data() + k, sizeof(newton_letter<Scalar>));
    }
    read_[i].record(stream);
    read_letters(memories_[i], letters_[i].data(), i, count, of_guess, stream);
  });
}

template class newton_loop<double>;
template class newton_loop<float>;

}  // namespace shoal::reaction_diffusion
