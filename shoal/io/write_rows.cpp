// Writing rows to files.
#include <sys/mman.h>
#include <unistd.h>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/file.hpp>
#include <shoal/io/npy_format.hpp>
#include <shoal/io/output_file.hpp>
#include <shoal/io/printable.hpp>
#include <shoal/io/row_store.hpp>
#include <shoal/io/text_layout.hpp>
#include <shoal/io/write_rows.hpp>

namespace shoal {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;

// Calls write(rows) for consecutive pieces of about a megabyte.
template <class Scalar, class Write>
void for_each_piece(const row_source<Scalar>& rows, const Write& write) {
  const std::size_t row_bytes = std::max<std::size_t>(1, rows.columns() * sizeof(Scalar));
  const std::size_t piece = std::max<std::size_t>(1, piece_bytes / row_bytes);
  aligned_buffer<Scalar> buffer;
  for (std::size_t first = 0; first < rows.rows(); first += piece) {
    write(rows.read(first, std::min(piece, rows.rows() - first), buffer));
  }
}

// Names that would read as numbers are quoted too, so that the header is known for one.
std::string quoted_field(const std::string& text) {
  double value = 0;
  const char* stop = nullptr;
  const bool number = parse_number(text.data(), text.data() + text.size(), value, stop) != number_status::malformed;
  const bool plain = !text.empty() && !number && text.find_first_of(",;\t\"\r\n #") == std::string::npos;
  if (plain) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c == '\n' || c == '\r' ? ' ' : c;  // a line is a row
  }
  return quoted + '"';
}

}  // namespace

template <class Element>
struct npy_output<Element>::state {
  output_file file;
  std::size_t header_bytes = 0;
  std::size_t bytes = 0;
  std::byte* map = nullptr;
  growing_memory memory;  // in place of the map, for a pipe or a device

  explicit state(const std::string& path) : file(path) {}
  state(const state&) = delete;
  ~state() {
    if (map != nullptr) ::munmap(map, bytes);
  }
};

template <class Element>
npy_output<Element>::npy_output(std::string path, std::size_t rows, std::size_t columns)
    : state_(std::make_unique<state>(path)) {
  const std::string header = make_npy_header(element_of<Element>, rows, columns);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(rows, columns == 0 ? 1 : columns, &bytes) ||
      __builtin_mul_overflow(bytes, sizeof(Element), &bytes) || __builtin_add_overflow(bytes, header.size(), &bytes) ||
      bytes > static_cast<std::size_t>(std::numeric_limits<off_t>::max())) {
    throw bad_argument(
        fmt::format("{}: {} rows x {} columns are larger than any file", printable_path(path), rows, columns));
  }
  state_->header_bytes = header.size();
  state_->bytes = bytes;
  std::byte* start = nullptr;
  if (state_->file.regular()) {
    // Space is taken now: a full disk is an error here, not a signal while the map is written.
    const int problem = ::posix_fallocate(state_->file.descriptor(), 0, static_cast<off_t>(bytes));
    if (problem != 0) throw_io_error(path, fmt::format("cannot reserve {} bytes", bytes), problem);
    void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, state_->file.descriptor(), 0);
    if (mapped == MAP_FAILED) throw_io_error(path, fmt::format("cannot map {} bytes", bytes), errno);
    start = state_->map = static_cast<std::byte*>(mapped);
  } else {
    state_->memory.reserve(bytes);
    start = state_->memory.data();
  }
  std::copy_n(reinterpret_cast<const std::byte*>(header.data()), header.size(), start);
}

template <class Element>
npy_output<Element>::~npy_output() = default;
template <class Element>
npy_output<Element>::npy_output(npy_output&&) noexcept = default;
template <class Element>
npy_output<Element>& npy_output<Element>::operator=(npy_output&&) noexcept = default;

template <class Element>
Element* npy_output<Element>::data() {
  std::byte* start = state_->map != nullptr ? state_->map : state_->memory.data();
  return reinterpret_cast<Element*>(start + state_->header_bytes);
}

template <class Element>
void npy_output<Element>::commit() {
  if (state_->map == nullptr) state_->file.write(state_->memory.data(), state_->bytes);
  state_->file.commit();
}

template class npy_output<float>;
template class npy_output<double>;
template class npy_output<std::int32_t>;

template <class Scalar>
void write_npy(const std::string& path, const row_source<Scalar>& rows) {
  output_file file(path);
  const std::string header = make_npy_header(element_of<Scalar>, rows.rows(), rows.columns());
  file.write(header.data(), header.size());
  for_each_piece(rows, [&](matrix_view<const Scalar> piece) {
    if (piece.row_stride() == piece.columns()) {
      file.write(piece.data(), piece.rows() * piece.columns() * sizeof(Scalar));
      return;
    }
    std::vector<Scalar> packed;
    packed.reserve(piece.rows() * piece.columns());
    for (std::size_t i = 0; i < piece.rows(); ++i)
      packed.insert(packed.end(), piece.row(i), piece.row(i) + piece.columns());
    file.write(packed.data(), packed.size() * sizeof(Scalar));
  });
  file.commit();
}

template <class Scalar>
void write_csv(const std::string& path, const row_source<Scalar>& rows, const std::vector<std::string>& column_names) {
  if (!column_names.empty() && column_names.size() != rows.columns()) {
    throw bad_argument(
        fmt::format("{}: {} column names for {} columns", printable_path(path), column_names.size(), rows.columns()));
  }
  output_file file(path);
  std::string text;
  for (std::size_t j = 0; j < column_names.size(); ++j) {
    text += j == 0 ? "" : ",";
    text += quoted_field(column_names[j]);
  }
  if (!column_names.empty()) text += '\n';
  for_each_piece(rows, [&](matrix_view<const Scalar> piece) {
    for (std::size_t i = 0; i < piece.rows(); ++i) {
      for (std::size_t j = 0; j < piece.columns(); ++j) {
        char digits[32];
        char* end = std::to_chars(digits, digits + sizeof digits, piece(i, j)).ptr;
        *end = j + 1 == piece.columns() ? '\n' : ',';
        text.append(digits, static_cast<std::size_t>(end + 1 - digits));
      }
    }
    file.write(text.data(), text.size());
    text.clear();
  });
  file.commit();
}

template void write_npy<float>(const std::string&, const row_source<float>&);
template void write_npy<double>(const std::string&, const row_source<double>&);
template void write_csv<float>(const std::string&, const row_source<float>&, const std::vector<std::string>&);
template void write_csv<double>(const std::string&, const row_source<double>&, const std::vector<std::string>&);

}  // namespace shoal
