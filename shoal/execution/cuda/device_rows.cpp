#include <shoal/execution/cuda/device_rows.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include <shoal/execution/cuda/elementwise.hpp>
#include <shoal/execution/cuda/gather_rows.hpp>

namespace shoal::cuda {
namespace {

// Rows that one task of the host copies into page-locked memory.
constexpr std::size_t task_rows = piece_unit;

std::size_t memory_for_rows(const gpu& one, std::size_t limit) {
  if (limit != 0) return limit;
  const device_scope scope(one.device);
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "ask for its free memory");
  return free / 5 * 4;
}

}  // namespace

template <class Scalar>
device_rows<Scalar>::device_rows(device_group& group, const fold_context& context, const weighted_rows<Scalar>& data,
                                 std::size_t device_memory, const shard_rule& rule)
    : group_(&group),
      context_(context),
      data_(data),
      shards_(rows(), columns() * sizeof(Scalar), rule),
      ranks_(alone(context.ranks) || shards_.count() == 1 ? nullptr : context.ranks),
      owners_(ranks_ == nullptr ? group.size() : std::min(ranks_->size(), shards_.count())),
      before_(ranks_ == nullptr ? 0 : std::min(ranks_->rank(), owners_ - 1)),
      owns_(alone(context.ranks) || context.ranks->rank() < (ranks_ == nullptr ? 1 : owners_)),
      shares_(group.size()) {
  const std::size_t row_bytes = (columns() + (weighted() ? 1 : 0)) * sizeof(Scalar);
  // The first GPUs have the most shards, so that the first share is the largest.
  for (std::size_t g = 0; g < shares_.size(); ++g) {
    shares_[g].first = std::min(rows(), shards_.first_row(first_shard(g)));
    shares_[g].count = std::min(rows(), shards_.first_row(first_shard(g + 1))) - shares_[g].first;
    shares_[g].in_place = rows_in_place(shares_[g], group[g].device);
  }
  std::size_t memory = memory_for_rows(group[0], device_memory);
  for (std::size_t g = 1; g < group.size(); ++g) memory = std::min(memory, memory_for_rows(group[g], device_memory));

  resident_ =
      std::all_of(shares_.begin(), shares_.end(), [&](const share& mine) { return resident_bytes(mine) <= memory; });
  const std::size_t unit_bytes = row_bytes * piece_unit, units = memory / 2 / unit_bytes;
  if (!resident_ && units == 0) {
    throw out_of_memory(fmt::format(
        "streaming rows of {} bytes needs two buffers of {} rows, {} bytes of device memory, and {} are given",
        row_bytes, piece_unit, 2 * unit_bytes, memory));
  }
  // One unit of very wide rows may be larger than a piece is meant to be.
  piece_rows_ = std::max<std::size_t>(1, std::min(units, most_piece_bytes / unit_bytes)) * piece_unit;

  staged_rows_ = std::min(piece_rows_, largest_share());
  for (std::size_t g = 0; g < shares_.size(); ++g) {
    const device_scope scope(group[g].device);
    share& mine = shares_[g];
    if (mine.count == 0) continue;
    for (slot& place : mine.slots) {
      if (resident_) continue;
      if (mine.in_place == nullptr) place.rows.grow(staged_rows_ * columns());
      if (weighted()) place.weights.grow(staged_rows_);
    }
    if (resident_) {
      if (mine.in_place == nullptr) mine.slots[0].rows.grow(mine.count * columns());
      if (weighted()) mine.slots[0].weights.grow(mine.count);
    }
  }
  if (!resident_) return;

  for (std::size_t begin = 0; begin < largest_share(); begin += piece_rows_) {
    for (std::size_t g = 0; g < shares_.size(); ++g) {
      share& mine = shares_[g];
      if (begin >= mine.count) continue;
      const device_scope scope(group[g].device);
      copy_in(g, mine.slots[mine.turn], mine.first + begin, std::min(piece_rows_, mine.count - begin),
              mine.in_place == nullptr ? mine.slots[0].rows.data() + begin * columns() : nullptr,
              weighted() ? mine.slots[0].weights.data() + begin : nullptr);
      mine.turn ^= 1;
    }
  }
  for (std::size_t g = 0; g < shares_.size(); ++g) {
    const device_scope scope(group[g].device);
    group[g].copy.synchronize();
    for (slot& place : shares_[g].slots) place.host = {};
  }
}

// Through the host: sums are some kilobytes, and ranks may be on different machines.
template <class Scalar>
template <class Element>
void device_rows<Scalar>::sum_on_first(const std::vector<group_part<Element>>& parts, Element* into,
                                       std::size_t count) {
  if (ranks_ == nullptr) return group_->sum_on_first(parts, into, count);
  const gpu& one = (*group_)[0];
  const device_scope scope(one.device);
  std::vector<Element> own(parts.size() * count);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    check(cudaMemcpyAsync(own.data() + p * count, parts[p].values, count * sizeof(Element), cudaMemcpyDeviceToHost,
                          one.compute),
          "copy from the device");
  }
  one.compute.synchronize();
  const std::vector<Element> all = gathered(std::move(own));
  received_.grow(all.size() * sizeof(Element));
  received_.upload(std::span(reinterpret_cast<const unsigned char*>(all.data()), all.size() * sizeof(Element)),
                   one.compute);
  std::vector<group_part<Element>> everybody;
  for (std::size_t p = 0; p < all.size() / count; ++p) {
    everybody.push_back({0, reinterpret_cast<const Element*>(received_.data()) + p * count});
  }
  group_->sum_on_first(everybody, into, count);
  one.compute.synchronize();  // `all` dies here
}

template <class Scalar>
std::vector<Scalar> device_rows<Scalar>::fetched(std::size_t row) const {
  const std::size_t owner = rank_of_shard(shards_.shard_of(row));
  std::vector<Scalar> values;
  if (ranks_ == nullptr || ranks_->rank() == owner) {
    aligned_buffer<Scalar> buffer;
    const matrix_view<const Scalar> read = data_.rows->read(row, 1, buffer);
    values.assign(read.row(0), read.row(0) + columns());
  }
  return shared_from(ranks_, owner, std::move(values));
}

// The share's rows where the caller has them, when kernels can read them there.
template <class Scalar>
const Scalar* device_rows<Scalar>::rows_in_place(const share& mine, int device) const {
  const device_matrix_view<const Scalar>* const view = data_.rows->on_device();
  if (view == nullptr || mine.count == 0 || view->device() != device || !view->contiguous()) return nullptr;
  const Scalar* const first = view->data() + mine.first * columns();
  return reinterpret_cast<std::uintptr_t>(first) % row_alignment == 0 ? first : nullptr;
}

// What it takes to keep the share on its device.
template <class Scalar>
std::size_t device_rows<Scalar>::resident_bytes(const share& mine) const {
  return mine.count * ((mine.in_place == nullptr ? columns() : 0) + (weighted() ? 1 : 0)) * sizeof(Scalar);
}

// Copies rows of the source to the device in the order of the copy stream; null: those are not wanted.
template <class Scalar>
void device_rows<Scalar>::copy_in(std::size_t gpu, slot& through, std::size_t first, std::size_t count, Scalar* rows,
                                  Scalar* weights) {
  if (context_.stop.stop_requested()) throw interrupted("stopped on request");
  const stream& copy = (*group_)[gpu].copy;
  if (rows != nullptr && data_.rows->on_device() != nullptr) {
    gather_rows(data_.rows->on_device()->middle_rows(first, count), rows, copy);
    rows = nullptr;
  }
  if (weights != nullptr && data_.weights->on_device() != nullptr) {
    gather_rows(data_.weights->on_device()->middle_rows(first, count), weights, copy);
    weights = nullptr;
  }
  if (rows != nullptr || weights != nullptr) copy_from_host(through, first, count, rows, weights, copy);
  through.copied.record(copy);
}

// Straight from where the rows are when that is page-locked, else through the slot's page-locked memory.
template <class Scalar>
void device_rows<Scalar>::copy_from_host(slot& through, std::size_t first, std::size_t count, Scalar* rows,
                                         Scalar* weights, const stream& copy) {
  const Scalar* from = rows == nullptr ? nullptr : page_locked(first, count);
  const bool staged = rows != nullptr && from == nullptr;
  through.copied.synchronize();
  through.host.grow(staged_rows_ * ((staged ? columns() : 0) + (weights != nullptr ? 1 : 0)));
  Scalar* const staged_weights = through.host.data() + (staged ? count * columns() : 0);
  fill(first, count, staged ? through.host.data() : nullptr, weights != nullptr ? staged_weights : nullptr);
  if (staged) from = through.host.data();
  if (rows != nullptr) {
    check(cudaMemcpyAsync(rows, from, count * columns() * sizeof(Scalar), cudaMemcpyHostToDevice, copy),
          "copy rows to the device");
  }
  if (weights != nullptr) {
    check(cudaMemcpyAsync(weights, staged_weights, count * sizeof(Scalar), cudaMemcpyHostToDevice, copy),
          "copy weights to the device");
  }
}

template <class Scalar>
void device_rows<Scalar>::scale_weights(const weighted_rows<Scalar>& scaled, int exponent) {
  data_ = scaled;
  if (!resident_ || exponent == 0) return;
  // In two steps: the scalar may hold the weights and not the factor between them and one.
  for (std::size_t g = 0; g < shares_.size(); ++g) {
    const device_scope scope((*group_)[g].device);
    for (const int part : {exponent / 2, exponent - exponent / 2}) {
      scale(shares_[g].slots[0].weights.data(), shares_[g].count, std::ldexp(Scalar{1}, part), (*group_)[g].compute);
    }
  }
}

// The rows where they are, when the device can copy them from there itself; else null.
template <class Scalar>
const Scalar* device_rows<Scalar>::page_locked(std::size_t first, std::size_t count) {
  if (!data_.rows->resident()) return nullptr;
  aligned_buffer<Scalar> unused;
  const matrix_view<const Scalar> read = data_.rows->read(first, count, unused);
  if (read.row_stride() != read.columns() || read.data() == unused.data()) return nullptr;
  cudaPointerAttributes attributes{};
  const void* const ends[] = {read.data(), read.data() + count * columns() - 1};
  for (const void* const end : ends) {
    check(cudaPointerGetAttributes(&attributes, end), "ask where rows are");
    if (attributes.type != cudaMemoryTypeHost) return nullptr;
  }
  return read.data();
}

// All of the host's threads read: one alone cannot keep up with the bus.
template <class Scalar>
void device_rows<Scalar>::fill(std::size_t first, std::size_t count, Scalar* rows, Scalar* weights) {
  if (rows == nullptr && weights == nullptr) return;
  const std::size_t tasks = (count + task_rows - 1) / task_rows;
  context_.workers->run(tasks, 1, [&](std::size_t task, const team_member&) {
    thread_local aligned_buffer<Scalar> rows_buffer, weights_buffer;
    const std::size_t begin = task * task_rows;
    const std::size_t some = std::min(task_rows, count - begin);
    if (rows != nullptr) {
      const matrix_view<const Scalar> read = data_.rows->read(first + begin, some, rows_buffer);
      Scalar* const to = rows + begin * columns();
      if (read.row_stride() == read.columns()) {
        std::memcpy(to, read.data(), some * columns() * sizeof(Scalar));
      } else {
        for (std::size_t i = 0; i < some; ++i) std::memcpy(to + i * columns(), read.row(i), columns() * sizeof(Scalar));
      }
    }
    if (weights == nullptr) return;
    const matrix_view<const Scalar> column = data_.weights->read(first + begin, some, weights_buffer);
    for (std::size_t i = 0; i < some; ++i) weights[begin + i] = column(i, 0);
  });
}

template <class Scalar>
device_piece<Scalar> device_rows<Scalar>::present(std::size_t gpu, std::size_t begin, std::size_t count) {
  share& mine = shares_[gpu];
  if (context_.stop.stop_requested()) throw interrupted("stopped on request");
  slot& place = mine.slots[resident_ ? 0 : mine.turn];
  if (!resident_) {
    const struct gpu& one = (*group_)[gpu];
    place.consumed.hold(one.copy);
    copy_in(gpu, place, mine.first + begin, count, place.rows.data(), place.weights.data());
    place.copied.hold(one.compute);
  }
  const std::size_t kept_before = resident_ ? begin : 0;
  const Scalar* const rows =
      mine.in_place != nullptr ? mine.in_place + begin * columns() : place.rows.data() + kept_before * columns();
  return {rows, weighted() ? place.weights.data() + kept_before : nullptr, mine.first + begin, begin, count};
}

template <class Scalar>
void device_rows<Scalar>::release(std::size_t gpu) {
  if (resident_) return;
  share& mine = shares_[gpu];
  mine.slots[mine.turn].consumed.record((*group_)[gpu].compute);
  mine.turn ^= 1;
}

template class device_rows<float>;
template class device_rows<double>;
template void device_rows<float>::sum_on_first(const std::vector<group_part<double>>&, double*, std::size_t);
template void device_rows<double>::sum_on_first(const std::vector<group_part<double>>&, double*, std::size_t);
template void device_rows<float>::sum_on_first(const std::vector<group_part<long long>>&, long long*, std::size_t);
template void device_rows<double>::sum_on_first(const std::vector<group_part<long long>>&, long long*, std::size_t);

}  // namespace shoal::cuda
