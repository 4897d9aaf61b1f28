#include "rows.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/io/element_type.hpp>
#include <shoal/io/joined_rows.hpp>
#include <shoal/io/memory_source.hpp>

#include "mapped_memory.hpp"

namespace shoal::python {
namespace {

element_type element_of(const nb::ndarray<nb::ro>& array) {
  const nb::dlpack::dtype type = array.dtype();
  const auto kind = static_cast<nb::dlpack::dtype_code>(type.code);
  if (type.lanes == 1) {
    switch (kind) {
      case nb::dlpack::dtype_code::Bool:
        return element_type::boolean;
      case nb::dlpack::dtype_code::Int:
        if (type.bits == 8) return element_type::int8;
        if (type.bits == 16) return element_type::int16;
        if (type.bits == 32) return element_type::int32;
        if (type.bits == 64) return element_type::int64;
        break;
      case nb::dlpack::dtype_code::UInt:
        if (type.bits == 8) return element_type::uint8;
        if (type.bits == 16) return element_type::uint16;
        if (type.bits == 32) return element_type::uint32;
        if (type.bits == 64) return element_type::uint64;
        break;
      case nb::dlpack::dtype_code::Float:
        if (type.bits == 16) return element_type::float16;
        if (type.bits == 32) return element_type::float32;
        if (type.bits == 64) return element_type::float64;
        break;
      default:
        break;
    }
  }
  throw bad_argument("the elements of the array are not real numbers of 8 to 64 bits");
}

// Where the elements of an array lie. Strides are in bytes and may be negative or zero.
struct layout {
  const std::byte* data = nullptr;
  element_type element = element_type::float64;
  std::size_t rows = 0;
  std::size_t columns = 1;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t column_stride = 0;

  std::ptrdiff_t element_bytes() const { return static_cast<std::ptrdiff_t>(element_size(element)); }
};

layout layout_of(const nb::ndarray<nb::ro>& array, std::size_t dimensions) {
  if (array.ndim() != dimensions) throw bad_argument("the array has the wrong number of dimensions");
  layout made;
  made.data = static_cast<const std::byte*>(array.data());
  made.element = element_of(array);
  made.rows = array.shape(0);
  made.row_stride = array.stride(0) * made.element_bytes();
  made.column_stride = made.element_bytes();
  if (dimensions == 2) {
    made.columns = array.shape(1);
    made.column_stride = array.stride(1) * made.element_bytes();
  }
  return made;
}

constexpr std::size_t copied_bytes = std::size_t{1} << 20;  // of a mapped file at a time

template <class Scalar>
constexpr element_type element_named = sizeof(Scalar) == 4 ? element_type::float32 : element_type::float64;

// The rows themselves, when they lie as a matrix_view says: no gaps between columns, rows that do not overlap.
template <class Scalar>
std::optional<matrix_view<const Scalar>> view_of(const layout& at) {
  constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(Scalar));
  const auto width = static_cast<std::ptrdiff_t>(at.columns);
  const bool one_row = at.rows <= 1;
  if (at.element != element_named<Scalar> || reinterpret_cast<std::uintptr_t>(at.data) % sizeof(Scalar) != 0) return {};
  if (width > 1 && at.column_stride != size) return {};
  if (!one_row && (at.row_stride < width * size || at.row_stride % size != 0)) return {};
  const std::size_t stride = one_row ? at.columns : static_cast<std::size_t>(at.row_stride / size);
  return matrix_view<const Scalar>(reinterpret_cast<const Scalar*>(at.data), at.rows, at.columns, stride);
}

// Rows that are converted, or copied, whenever they are read.
template <class Scalar>
class converted_source final : public row_source<Scalar> {
 public:
  converted_source(const layout& at, residence where) : at_(at), where_(where) {}
  std::size_t rows() const override { return at_.rows; }
  std::size_t columns() const override { return at_.columns; }
  bool resident() const override { return false; }

  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>& buffer) const override {
    buffer.grow(count * at_.columns);
    const std::byte* const start = at_.data + static_cast<std::ptrdiff_t>(first) * at_.row_stride;
    if (at_.row_stride <= 0) {
      // Rows that run backwards or repeat one are no records.
      for (std::size_t i = 0; i < count; ++i) {
        convert(start + static_cast<std::ptrdiff_t>(i) * at_.row_stride, 0, 1, buffer.data() + i * at_.columns);
      }
    } else {
      convert(start, static_cast<std::size_t>(at_.row_stride), count, buffer.data());
    }
    if (where_ == residence::in_pieces_given_back && count > 0) give_back(start, count);
    return {buffer.data(), count, at_.columns};
  }

 private:
  void convert(const std::byte* from, std::size_t record_bytes, std::size_t records, Scalar* out) const {
    if (at_.column_stride == at_.element_bytes()) {
      convert_run({from, record_bytes, records}, at_.columns, out);
      return;
    }
    for (std::size_t j = 0; j < at_.columns; ++j) {
      const std::byte* const column = from + static_cast<std::ptrdiff_t>(j) * at_.column_stride;
      convert_run({column, record_bytes, records}, 1, out + j);
    }
  }

  // `width` elements of each record, one next to the other.
  void convert_run(const record_batch& run, std::size_t width, Scalar* out) const {
    if (where_ == residence::in_place) {
      convert_records<Scalar>(at_.element, run, {0, width, {}}, out, at_.columns);
      return;
    }
    const std::size_t width_bytes = width * element_size(at_.element);
    const std::size_t batch = std::max<std::size_t>(1, copied_bytes / std::max(run.record_bytes, width_bytes));
    for (std::size_t done = 0; done < run.records; done += batch) {
      const std::size_t some = std::min(batch, run.records - done);
      const std::byte* const copy =
          copy_of_mapped(run.data + done * run.record_bytes, (some - 1) * run.record_bytes + width_bytes);
      convert_records<Scalar>(at_.element, {copy, run.record_bytes, some}, {0, width, {}}, out + done * at_.columns,
                              at_.columns);
    }
  }

  // The pages stay in the system's cache, and come back by a fault if they are needed again.
  void give_back(const std::byte* start, std::size_t count) const {
    const std::ptrdiff_t rows_span = static_cast<std::ptrdiff_t>(count - 1) * at_.row_stride;
    const std::ptrdiff_t columns_span = static_cast<std::ptrdiff_t>(at_.columns - 1) * at_.column_stride;
    // A column of its own for each where columns lie far apart, so that other rows' pages are left alone.
    const bool by_column = std::abs(at_.column_stride) > std::abs(at_.row_stride);
    const std::size_t runs = by_column ? at_.columns : 1;
    for (std::size_t run = 0; run < runs; ++run) {
      const std::byte* low = start + (by_column ? static_cast<std::ptrdiff_t>(run) * at_.column_stride : 0);
      const std::byte* high = low;
      for (const std::ptrdiff_t span : {rows_span, by_column ? 0 : columns_span}) (span < 0 ? low : high) += span;
      drop_pages(low, high + at_.element_bytes());
    }
  }

  static void drop_pages(const std::byte* begin, const std::byte* end) {
    static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(begin) / page * page;
    const auto last = (reinterpret_cast<std::uintptr_t>(end) + page - 1) / page * page;
    ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);  // advice: a refusal changes no result
  }

  layout at_;
  residence where_;
};

template <class Scalar>
std::unique_ptr<row_source<Scalar>> open_array(const layout& at, residence where) {
  if (const auto view = where == residence::in_place ? view_of<Scalar>(at) : std::nullopt) {
    return std::make_unique<view_source<Scalar>>(*view);
  }
  auto source = std::make_unique<converted_source<Scalar>>(at, where);
  if (where != residence::copied) return source;
  aligned_buffer<Scalar> buffer;
  growing_memory memory;
  const std::size_t row_bytes = at.columns * sizeof(Scalar);
  memory.reserve(std::max<std::size_t>(1, at.rows * row_bytes));
  const std::size_t piece = std::max<std::size_t>(1, copied_bytes / std::max<std::size_t>(1, row_bytes));
  for (std::size_t first = 0; first < at.rows; first += piece) {
    const auto some = source->read(first, std::min(piece, at.rows - first), buffer);
    std::memcpy(memory.data() + first * row_bytes, some.data(), some.rows() * row_bytes);
  }
  return std::make_unique<memory_source<Scalar>>(std::move(memory), at.rows, at.columns);
}

template <class Scalar>
std::unique_ptr<row_source<Scalar>> open_on_device(const nb::ndarray<nb::ro>& array, std::size_t dimensions,
                                                   int device) {
  const layout at = layout_of(array, dimensions);
  if (at.element != element_named<Scalar>) {
    throw bad_argument("arrays on CUDA devices must be float32 or float64");
  }
  if (at.row_stride < 0 || at.column_stride < 0) {
    throw bad_argument("arrays on CUDA devices must not have negative strides: copy the array first");
  }
  constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(Scalar));
  return std::make_unique<device_source<Scalar>>(device_matrix_view<const Scalar>(
      reinterpret_cast<const Scalar*>(at.data), at.rows, at.columns, static_cast<std::size_t>(at.row_stride / size),
      static_cast<std::size_t>(at.column_stride / size), device));
}

// All rows, of which one rank holds those from `first` on.
template <class Scalar>
class held_source final : public row_source<Scalar> {
 public:
  /// `held` is null where none are.
  held_source(std::unique_ptr<row_source<Scalar>> held, std::size_t columns, std::size_t first, std::size_t total)
      : held_(std::move(held)),
        columns_(columns),
        first_(first),
        end_(first + (held_ == nullptr ? 0 : held_->rows())),
        total_(total) {}
  std::size_t rows() const override { return total_; }
  std::size_t columns() const override { return columns_; }
  bool resident() const override { return held_ == nullptr || held_->resident(); }
  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>& buffer) const override {
    if (first < first_ || first + count > end_) throw rows_not_held(first, first + count);
    return held_->read(first - first_, count, buffer);
  }

 private:
  std::unique_ptr<row_source<Scalar>> held_;
  std::size_t columns_, first_, end_, total_;
};

}  // namespace

template <class Scalar>
rows::source<Scalar> rows::taken(nb::list parts, std::size_t columns, std::size_t first, std::size_t total,
                                 std::vector<nb::ndarray<nb::ro>>& arrays) {
  std::vector<source<Scalar>> held;
  for (const nb::handle part : parts) {
    auto& from = nb::cast<rows&>(part);
    held.push_back(std::get<source<Scalar>>(std::move(from.sources_)));
    arrays.push_back(from.array_);
  }
  source<Scalar> all;
  if (held.size() == 1) all = std::move(held.front());
  if (held.size() > 1) all = std::make_unique<joined_rows<Scalar>>(std::move(held));
  return std::make_unique<held_source<Scalar>>(std::move(all), columns, first, total);
}

rows::rows(nb::list parts, nb::object weights, std::size_t columns, bool float32, const held_place& place,
           communicator* ranks)
    : ranks_(ranks) {
  if (float32) {
    sources_ = taken<float>(parts, columns, place.first, place.total, arrays_);
  } else {
    sources_ = taken<double>(parts, columns, place.first, place.total, arrays_);
  }
  if (weights.is_none()) return;
  wide_weights_ = taken<double>(nb::cast<nb::list>(weights), 1, place.weights_first, place.total, arrays_);
}

rows::rows(host_array array, nb::object weights, bool float32, residence array_residence, residence weights_residence)
    : array_(array) {
  const layout at = layout_of(array_, 2);
  if (float32) {
    sources_ = open_array<float>(at, array_residence);
  } else {
    sources_ = open_array<double>(at, array_residence);
  }
  if (weights.is_none()) return;
  weights_ = nb::ndarray<nb::ro>(nb::cast<host_array>(weights));
  const layout weights_at = layout_of(weights_, 1);
  if (weights_at.element == element_type::float32) {
    narrow_weights_ = open_array<float>(weights_at, weights_residence);
  } else {
    wide_weights_ = open_array<double>(weights_at, weights_residence);
  }
}

rows::rows(device_array array, nb::object weights) : array_(array), device_(array.device_id()) {
  if (element_of(array_) == element_type::float32) {
    sources_ = open_on_device<float>(array_, 2, device_);
  } else {
    sources_ = open_on_device<double>(array_, 2, device_);
  }
  if (weights.is_none()) return;
  const auto given = nb::cast<device_array>(weights);
  if (given.device_id() != device_) throw bad_argument("sample_weight lies on another CUDA device than the rows");
  weights_ = nb::ndarray<nb::ro>(given);
  if (element_of(weights_) == element_type::float32) {
    narrow_weights_ = open_on_device<float>(weights_, 1, device_);
  } else {
    wide_weights_ = open_on_device<double>(weights_, 1, device_);
  }
}

std::size_t rows::count() const {
  return visit([](const auto& source, row_weights) { return source.rows(); });
}

std::size_t rows::columns() const {
  return visit([](const auto& source, row_weights) { return source.columns(); });
}

bool rows::in_place() const {
  return visit([](const auto& source, row_weights) { return source.resident(); });
}

}  // namespace shoal::python
