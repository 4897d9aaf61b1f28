#include <shoal/reaction_diffusion/cuda/domains.hpp>

#include <algorithm>
#include <utility>

#include <shoal/reaction_diffusion/cuda/between_gpus.hpp>

namespace shoal::reaction_diffusion {
namespace {

// Lines begin at whole cache lines.
constexpr std::size_t line_multiple = 32;

}  // namespace

template <class Scalar>
domains<Scalar>::domains(const problem& wave, cuda::device_group& group, std::size_t lent)
    : group_(group), around_(wave.boundary == boundary::periodic) {
  const bool in_plane = wave.grid.rows > 1;
  rows_ = in_plane ? wave.grid.rows : wave.grid.columns;
  columns_ = in_plane ? wave.grid.columns : 1;
  pitch_ = in_plane ? (columns_ + line_multiple - 1) / line_multiple * line_multiple : 1;
  const std::size_t count = std::min(group.size(), rows_);
  open_ = count > 1 || around_;
  // A neighbour lends lines of its own alone.
  lent_ = open_ ? std::min(lent, rows_ / count) : 0;
  const window_end last = wave.has_input() ? window_end::input : window_end::mirror;
  for (std::size_t i = 0; i < count; ++i) {
    domain<Scalar> part{};
    part.first = rows_ * i / count;
    part.end = rows_ * (i + 1) / count;
    const bool low_open = around_ || i > 0, high_open = around_ || i + 1 < count;
    part.before = low_open ? lent_ : 0;
    part.behind = high_open ? lent_ : 0;
    part.low = low_open ? window_end::open : window_end::mirror;
    part.high = high_open ? window_end::open : last;
    const cuda::device_scope scope(group[i].device);
    for (const int which : {0, 1}) {
      part.v[which].grow(part.lines() * pitch_);
      part.w[which].grow(part.lines() * pitch_);
      // Where no node lies, nothing is written, but it is read and thrown away.
      part.v[which].fill_with_zeros(group[i].compute);
      part.w[which].fill_with_zeros(group[i].compute);
    }
    parts_.push_back(std::move(part));
  }
  stepped_.resize(count);
  shared_.resize(count);
}

template <class Scalar>
std::size_t domains<Scalar>::possible(std::size_t steps) const {
  return open_ ? std::min(steps, left_) : steps;
}

template <class Scalar>
void domains<Scalar>::take(std::size_t steps) {
  if (open_) left_ -= steps;
}

template <class Scalar>
void domains<Scalar>::swap() {
  now_ = 1 - now_;
  // The next pass writes where neighbours read.
  hold_for_readers();
}

template <class Scalar>
void domains<Scalar>::hold_for_readers() {
  if (!read_) return;
  read_ = false;
  for (std::size_t i = 0; i < size(); ++i) {
    const cuda::device_scope scope(group_[i].device);
    shared_[before(i)].hold(group_[i].compute);
    shared_[behind(i)].hold(group_[i].compute);
  }
}

template <class Scalar>
void domains<Scalar>::share() {
  if (!open_) return;
  left_ = lent_;
  for (std::size_t i = 0; i < size(); ++i) {
    const cuda::device_scope scope(group_[i].device);
    stepped_[i].record(group_[i].compute);
  }
  for (std::size_t i = 0; i < size(); ++i) {
    const cuda::device_scope scope(group_[i].device);
    const cudaStream_t stream = group_[i].compute;
    const domain<Scalar>& own = parts_[i];
    if (own.before > 0) {
      const domain<Scalar>& neighbour = parts_[before(i)];
      stepped_[before(i)].hold(stream);
      copy_lines(i, 0, before(i), neighbour.before + (neighbour.end - neighbour.first) - own.before, own.before);
    }
    if (own.behind > 0) {
      stepped_[behind(i)].hold(stream);
      copy_lines(i, own.before + (own.end - own.first), behind(i), parts_[behind(i)].before, own.behind);
    }
    shared_[i].record(stream);
  }
  read_ = true;
}

template <class Scalar>
void domains<Scalar>::copy_lines(std::size_t to, std::size_t to_line, std::size_t from, std::size_t from_line,
                                 std::size_t count) {
  const field<Scalar> there = parts_[from].part(now_), here = parts_[to].part(now_);
  const std::size_t bytes = count * pitch_ * sizeof(Scalar);
  for (const auto& [begin, end] : {std::pair{there.v, here.v}, std::pair{there.w, here.w}}) {
    copy_between(group_, to, end + to_line * pitch_, from, begin + from_line * pitch_, bytes);
  }
}

template <class Scalar>
void domains<Scalar>::upload(const state<Scalar>& from) {
  for (std::size_t i = 0; i < size(); ++i) {
    domain<Scalar>& own = parts_[i];
    const cuda::device_scope scope(group_[i].device);
    const field<Scalar> here = own.part(now_);
    const auto copy = [&](const Scalar* values, Scalar* to) {
      cuda::check(cudaMemcpy2DAsync(to + own.before * pitch_, pitch_ * sizeof(Scalar), values + own.first * columns_,
                                    columns_ * sizeof(Scalar), columns_ * sizeof(Scalar), own.end - own.first,
                                    cudaMemcpyDefault, group_[i].compute),
                  "copy a state to the device");
    };
    const auto copy_axon = [&](const Scalar* values, Scalar* to) {
      cuda::check(cudaMemcpyAsync(to + own.before, values + own.first, (own.end - own.first) * sizeof(Scalar),
                                  cudaMemcpyDefault, group_[i].compute),
                  "copy a state to the device");
    };
    for (const auto& [values, to] : {std::pair{from.values_of_v(), here.v}, std::pair{from.values_of_w(), here.w}}) {
      pitch_ == 1 ? copy_axon(values, to) : copy(values, to);
    }
  }
  left_ = 0;
}

template <class Scalar>
void domains<Scalar>::download(state<Scalar>& to) {
  for (std::size_t i = 0; i < size(); ++i) {
    domain<Scalar>& own = parts_[i];
    const cuda::device_scope scope(group_[i].device);
    const field<Scalar> here = own.part(now_);
    for (const auto& [values, from] : {std::pair{to.values_of_v(), here.v}, std::pair{to.values_of_w(), here.w}}) {
      if (pitch_ == 1) {
        cuda::check(cudaMemcpyAsync(values + own.first, from + own.before, (own.end - own.first) * sizeof(Scalar),
                                    cudaMemcpyDefault, group_[i].compute),
                    "copy a state from the device");
      } else {
        cuda::check(cudaMemcpy2DAsync(values + own.first * columns_, columns_ * sizeof(Scalar),
                                      from + own.before * pitch_, pitch_ * sizeof(Scalar), columns_ * sizeof(Scalar),
                                      own.end - own.first, cudaMemcpyDefault, group_[i].compute),
                    "copy a state from the device");
      }
    }
  }
  group_.synchronize();
}

template class domains<double>;
template class domains<float>;

}  // namespace shoal::reaction_diffusion
