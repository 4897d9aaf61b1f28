#include <shoal/io/row_store.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include <shoal/io/binary_source.hpp>

namespace shoal {
namespace {

constexpr std::size_t first_memory = std::size_t{1} << 20;
constexpr std::size_t spill_buffer = std::size_t{1} << 20;

}  // namespace

template <class Scalar>
void row_store<Scalar>::make_room(std::size_t needed) {
  if (!spilled_ && (memory_limit_ == 0 || needed <= memory_limit_)) {
    std::size_t wanted = std::max({needed, first_memory, memory_.capacity() / 2 * 3});
    if (memory_limit_ != 0) wanted = std::max(needed, std::min(wanted, memory_limit_));
    memory_.reserve(wanted);
    room_ = wanted;
    return;
  }
  if (!spilled_) spilled_.emplace();
  spilled_->write(memory_.data(), used_);
  used_ = 0;
  room_ = std::max(spill_buffer, columns_ * sizeof(Scalar));
  memory_.trim(room_);
  memory_.reserve(room_);
}

template <class Scalar>
std::unique_ptr<row_source<Scalar>> row_store<Scalar>::finish() {
  if (!spilled_) {
    memory_.trim(used_);
    return std::make_unique<memory_source<Scalar>>(std::move(memory_), rows_, columns_);
  }
  spilled_->write(memory_.data(), used_);
  memory_ = growing_memory();
  binary_layout layout;
  layout.element = sizeof(Scalar) == sizeof(float) ? element_type::float32 : element_type::float64;
  layout.rows = rows_;
  layout.columns = columns_;
  layout.record_bytes = columns_ * sizeof(Scalar);
  return stream_binary<Scalar>(spilled_->release(path_), layout, column_choice{});
}

template class row_store<float>;
template class row_store<double>;

}  // namespace shoal
