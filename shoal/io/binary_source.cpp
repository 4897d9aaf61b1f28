#include <shoal/io/binary_source.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/memory_source.hpp>
#include <shoal/io/printable.hpp>

namespace shoal {
namespace {

// Bytes that are read before they are converted: they stay in the cache of the core that reads them.
constexpr std::size_t staging_bytes = std::size_t{1} << 18;

template <class Scalar>
constexpr element_type element_of = std::is_same_v<Scalar, float> ? element_type::float32 : element_type::float64;

std::byte* staging(std::size_t bytes) {
  thread_local aligned_buffer<std::byte> buffer;
  buffer.grow(std::max(bytes, staging_bytes));
  return buffer.data();
}

kept_elements to_kept(const column_choice& choice, std::size_t columns) {
  if (choice.all) return {0, columns, {}};
  const bool run = std::adjacent_find(choice.kept.begin(), choice.kept.end(),
                                      [](std::size_t a, std::size_t b) { return b != a + 1; }) == choice.kept.end();
  if (run) return {choice.kept.front(), choice.kept.size(), {}};
  return {0, choice.kept.size(), choice.kept};
}

template <class Scalar>
class streamed_source final : public row_source<Scalar> {
 public:
  streamed_source(input_file file, const binary_layout& layout, column_choice choice)
      : file_(std::move(file)),
        layout_(layout),
        choice_(std::move(choice)),
        kept_(to_kept(choice_, layout.columns)),
        direct_(layout.element == element_of<Scalar> && !layout.fortran_order && choice_.all &&
                layout.record_header == 0) {
    ::posix_fadvise(file_.handle.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  streamed_source(const streamed_source&) = delete;

  std::size_t rows() const override { return layout_.rows; }
  std::size_t columns() const override { return kept_.count; }
  bool resident() const override { return false; }

  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>& buffer) const override {
    buffer.grow(count * kept_.count);
    read_into(first, count, buffer.data());
    return {buffer.data(), count, kept_.count};
  }

  void read_into(std::size_t first, std::size_t count, Scalar* out) const {
    if (direct_) {
      read_exactly(file_, layout_.offset + std::uint64_t{first} * layout_.record_bytes, out,
                   count * layout_.record_bytes);
    } else if (layout_.fortran_order) {
      read_columns(first, count, out);
    } else {
      read_records(first, count, out);
    }
    require_unchanged(file_);
  }

 private:
  void read_records(std::size_t first, std::size_t count, Scalar* out) const {
    const std::size_t batch_rows = std::max<std::size_t>(1, staging_bytes / layout_.record_bytes);
    std::byte* bytes = staging(layout_.record_bytes);
    while (count > 0) {
      const std::size_t batch = std::min(count, batch_rows);
      read_exactly(file_, layout_.offset + std::uint64_t{first} * layout_.record_bytes, bytes,
                   batch * layout_.record_bytes);
      if (layout_.record_header != 0) check_dimensions(bytes, first, batch);
      convert_records(layout_.element, {bytes + layout_.record_header, layout_.record_bytes, batch}, kept_, out,
                      kept_.count);
      first += batch;
      count -= batch;
      out += batch * kept_.count;
    }
  }

  void check_dimensions(const std::byte* bytes, std::size_t first, std::size_t batch) const {
    for (std::size_t i = 0; i < batch; ++i) {
      std::uint32_t dimension = 0;
      std::memcpy(&dimension, bytes + i * layout_.record_bytes, sizeof dimension);
      if (dimension == layout_.columns) continue;
      const std::uint64_t at = layout_.offset + std::uint64_t{first + i} * layout_.record_bytes;
      throw bad_data(fmt::format("{}: byte {}: row {} has dimension {}, the first row has {}",
                                 printable_path(file_.path), at, first + i, dimension, layout_.columns));
    }
  }

  // One read a column and block; blocks are small enough that their rows stay in the cache while columns fill in.
  void read_columns(std::size_t first, std::size_t count, Scalar* out) const {
    const std::size_t size = element_size(layout_.element);
    const std::size_t row_bytes = kept_.count * sizeof(Scalar);
    const std::size_t block_rows =
        std::clamp<std::size_t>(4 * staging_bytes / row_bytes, 512, staging_bytes / sizeof(double));
    std::byte* bytes = staging(0);
    while (count > 0) {
      const std::size_t block = std::min(count, block_rows);
      for (std::size_t j = 0; j < kept_.count; ++j) {
        const std::size_t column = kept_.chosen.empty() ? kept_.first + j : kept_.chosen[j];
        read_exactly(file_, layout_.offset + (std::uint64_t{column} * layout_.rows + first) * size, bytes,
                     block * size);
        convert_records(layout_.element, {bytes, size, block}, {0, 1, {}}, out + j, kept_.count);
      }
      first += block;
      count -= block;
      out += block * kept_.count;
    }
  }

  input_file file_;
  binary_layout layout_;
  column_choice choice_;
  kept_elements kept_;
  bool direct_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<row_source<Scalar>> stream_binary(input_file file, const binary_layout& layout,
                                                  const column_choice& choice) {
  return std::make_unique<streamed_source<Scalar>>(std::move(file), layout, choice);
}

template <class Scalar>
std::unique_ptr<row_source<Scalar>> open_binary(input_file file, const binary_layout& layout,
                                                const column_choice& choice, std::size_t memory_limit) {
  const kept_elements kept = to_kept(choice, layout.columns);
  std::size_t bytes = 0;
  const bool countable = !__builtin_mul_overflow(layout.rows, kept.count, &bytes) &&
                         !__builtin_mul_overflow(bytes, sizeof(Scalar), &bytes);
  if (memory_limit != 0 && (!countable || bytes > memory_limit)) {
    return stream_binary<Scalar>(std::move(file), layout, choice);
  }
  growing_memory memory;
  if (!countable) throw std::bad_alloc();
  memory.reserve(bytes);
  const streamed_source<Scalar> source(std::move(file), layout, choice);
  source.read_into(0, layout.rows, reinterpret_cast<Scalar*>(memory.data()));
  return std::make_unique<memory_source<Scalar>>(std::move(memory), layout.rows, kept.count);
}

template std::unique_ptr<row_source<float>> open_binary<float>(input_file, const binary_layout&, const column_choice&,
                                                               std::size_t);
template std::unique_ptr<row_source<double>> open_binary<double>(input_file, const binary_layout&, const column_choice&,
                                                                 std::size_t);
template std::unique_ptr<row_source<float>> stream_binary<float>(input_file, const binary_layout&,
                                                                 const column_choice&);
template std::unique_ptr<row_source<double>> stream_binary<double>(input_file, const binary_layout&,
                                                                   const column_choice&);

}  // namespace shoal
