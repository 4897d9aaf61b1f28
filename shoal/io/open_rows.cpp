// What kind of file it is, and the reader for it.
#include <shoal/io/open_rows.hpp>

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/binary_source.hpp>
#include <shoal/io/byte_source.hpp>
#include <shoal/io/file_names.hpp>
#include <shoal/io/joined_rows.hpp>
#include <shoal/io/label_list.hpp>
#include <shoal/io/npy_format.hpp>
#include <shoal/io/open_file.hpp>
#include <shoal/io/printable.hpp>
#include <shoal/io/text_source.hpp>

namespace shoal {
namespace {

constexpr std::size_t sniffed_bytes = npy_header_limit + 12;

// The longest vector that a .fvecs, .bvecs or .ivecs file may hold: beyond it the file is something else.
constexpr std::uint32_t largest_dimension = std::uint32_t{1} << 24;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

file_format format_of(const std::string& path, std::span<const std::byte> start, bool compressed) {
  const std::string_view text = as_text(start);
  std::string_view name = path;
  if (name.ends_with(".gz")) {
    if (!compressed) {
      throw bad_data(fmt::format("{}: byte 0: not gzip data, though its name ends in .gz: it starts with \"{}\"",
                                 printable_path(path), printable(text.substr(0, 8))));
    }
    name.remove_suffix(3);
  }
  if (text.starts_with(npy_magic) || name.ends_with(".npy")) return file_format::npy;
  if (name.ends_with(".fvecs")) return file_format::fvecs;
  if (name.ends_with(".bvecs")) return file_format::bvecs;
  if (name.ends_with(".ivecs")) return file_format::ivecs;
  return file_format::text;
}

element_type vector_element(file_format format) {
  if (format == file_format::fvecs) return element_type::float32;
  return format == file_format::bvecs ? element_type::uint8 : element_type::int32;
}

std::uint32_t read_dimension(const std::byte* at) {
  std::uint32_t dimension = 0;
  std::memcpy(&dimension, at, sizeof dimension);
  return dimension;
}

binary_layout npy_binary_layout(const input_file& file, std::span<const std::byte> start) {
  const std::string name = printable_path(file.path);
  const npy_layout header = parse_npy_header(name, start);
  if (file.size != header.end) {
    throw bad_data(fmt::format("{}: {}: {} rows x {} columns of {} and the header are {} bytes, the file has {}", name,
                               file.size < header.end ? "truncated" : "bytes follow the array", header.rows,
                               header.columns, element_name(header.element), header.end, file.size));
  }
  binary_layout layout;
  layout.element = header.element;
  layout.rows = header.rows;
  layout.columns = header.columns;
  layout.offset = header.offset;
  layout.fortran_order = header.fortran_order;
  layout.record_bytes = header.columns * element_size(header.element);
  return layout;
}

// A file whose size does not fit its first row: either a row of another dimension or an end that is missing. Short rows
// are looked at a megabyte at a time.
[[noreturn]] void fail_vectors(const input_file& file, const binary_layout& layout) {
  const std::string name = printable_path(file.path);
  constexpr std::size_t header = sizeof(std::uint32_t);
  const std::size_t batch = std::max<std::size_t>(1, (std::size_t{1} << 20) / layout.record_bytes);
  std::vector<std::byte> bytes;
  for (std::size_t first = 0; first <= layout.rows; first += batch) {
    const std::uint64_t start = std::uint64_t{first} * layout.record_bytes;
    // Of a long row the dimension alone.
    const std::size_t wanted = batch == 1 ? header : batch * layout.record_bytes;
    bytes.resize(std::min<std::uint64_t>(wanted, file.size - start));
    read_exactly(file, start, bytes.data(), bytes.size());
    for (std::size_t row = first; row < first + batch && row <= layout.rows; ++row) {
      const std::size_t within = (row - first) * layout.record_bytes;
      if (within + header > bytes.size()) break;
      if (const std::uint32_t dimension = read_dimension(bytes.data() + within); dimension != layout.columns) {
        throw bad_data(fmt::format("{}: byte {}: row {} has dimension {}, the first row has {}", name, start + within,
                                   row, dimension, layout.columns));
      }
    }
  }
  const std::uint64_t at = std::uint64_t{layout.rows} * layout.record_bytes;
  throw bad_data(fmt::format("{}: byte {}: row {} is truncated: expected {} bytes, the file has {} more", name, at,
                             layout.rows, layout.record_bytes, file.size - at));
}

binary_layout vectors_binary_layout(const input_file& file, file_format format, std::span<const std::byte> start) {
  const std::string name = printable_path(file.path);
  if (start.size() < 4) {
    throw bad_data(fmt::format("{}: truncated: a dimension takes 4 bytes, the file has {}", name, start.size()));
  }
  const std::uint32_t dimension = read_dimension(start.data());
  if (dimension == 0 || dimension > largest_dimension) {
    throw bad_data(fmt::format("{}: byte 0: the first row claims dimension {}; expected 1 to {} (little-endian)", name,
                               dimension, largest_dimension));
  }
  binary_layout layout;
  layout.element = vector_element(format);
  layout.columns = dimension;
  layout.record_header = 4;
  layout.record_bytes = 4 + dimension * element_size(layout.element);
  layout.rows = file.size / layout.record_bytes;
  if (file.size % layout.record_bytes != 0) fail_vectors(file, layout);
  return layout;
}

// Binary data that come through a pipe or compressed are laid down once, so that rows can be read in any order.
void lay_down(opened_file& opened) {
  std::uint64_t limit = ~std::uint64_t{0};
  if (opened.format == file_format::npy) {
    limit = parse_npy_header(printable_path(opened.path), opened.bytes->peek(sniffed_bytes)).end;
  }
  temporary_file aside;
  constexpr std::size_t at_a_time = std::size_t{1} << 16;
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(at_a_time);
  // One byte more than announced is enough to see that there is too much.
  while (aside.size() <= limit) {
    const std::size_t got = opened.bytes->read(buffer.get(), at_a_time);
    if (got == 0) break;
    aside.write(buffer.get(), got);
  }
  opened.bytes.reset();
  opened.file = aside.release(opened.path);
}

std::string label_text(double value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

void read_labels(const input_file& file, const binary_layout& layout, std::size_t column, label_list& labels) {
  column_choice choice;
  choice.all = false;
  choice.kept = {column};
  const auto source = stream_binary<double>(duplicate(file), layout, choice);
  aligned_buffer<double> buffer;
  constexpr std::size_t piece = 1 << 14;
  for (std::size_t first = 0; first < layout.rows; first += piece) {
    const auto rows = source->read(first, std::min(piece, layout.rows - first), buffer);
    for (std::size_t i = 0; i < rows.rows(); ++i) labels.add(label_text(rows(i, 0)));
  }
}

// Turns what the standard library throws for want of memory into a message that says what to do.
template <class Work>
auto with_memory_message(const std::string& path, const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw out_of_memory(
      fmt::format("{}: its rows do not fit in memory; set a memory limit (--memory-limit) to read them "
                  "piece by piece",
                  printable_path(path)));
}

}  // namespace

opened_file recognise_file(input_file file, std::uint64_t unpacked_limit) {
  opened_file opened;
  const std::string path = file.path;
  opened.path = path;
  opened.file = std::move(file);
  const bool regular = opened.file.regular;
  if (regular) {
    opened.start.resize(std::min<std::uint64_t>(sniffed_bytes, opened.file.size));
    read_exactly(opened.file, 0, opened.start.data(), opened.start.size());
    ::posix_fadvise(opened.file.handle.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
    opened.compressed = as_text(opened.start).starts_with(gzip_magic);
    if (!opened.compressed && !opened.start.empty()) opened.format = format_of(path, opened.start, false);
    if (!opened.compressed && opened.format != file_format::text) return opened;
  }
  opened.bytes = std::make_unique<peeked_bytes>(make_file_bytes(std::move(opened.file)));
  const auto magic = opened.bytes->peek(gzip_magic.size());
  if (magic.empty()) throw bad_data(fmt::format("{}: the file is empty (0 bytes)", printable_path(path)));
  opened.compressed = as_text(magic).starts_with(gzip_magic);
  if (opened.compressed) {
    gzip_bounds bounds;
    bounds.free_bytes = unpacked_limit == 0 ? std::numeric_limits<std::uint64_t>::max() : unpacked_limit;
    opened.bytes =
        std::make_unique<peeked_bytes>(make_gzip_bytes(printable_path(path), std::move(opened.bytes), bounds));
  }
  // A pipe may hand over a table row by row, so only what is needed is awaited.
  std::span<const std::byte> start = opened.bytes->peek(npy_magic.size());
  opened.format = format_of(path, start, opened.compressed);
  if (opened.format != file_format::text) start = opened.bytes->peek(sniffed_bytes);
  opened.start.assign(start.begin(), start.end());
  if (start.empty()) {
    throw bad_data(fmt::format("{}: the gzip data unpack to nothing", printable_path(path)));
  }
  return opened;
}

text_start& first_lines(opened_file& opened) {
  if (opened.text == nullptr) opened.text = std::make_unique<text_start>(opened.path, std::move(opened.bytes));
  return *opened.text;
}

const binary_layout& layout_of(opened_file& opened) {
  if (!opened.layout) {
    if (opened.bytes != nullptr) lay_down(opened);
    opened.layout = opened.format == file_format::npy ? npy_binary_layout(opened.file, opened.start)
                                                      : vectors_binary_layout(opened.file, opened.format, opened.start);
  }
  return *opened.layout;
}

template <class Scalar>
opened_rows<Scalar> read_opened(opened_file opened, const read_options& options) {
  const std::string path = opened.path;
  return with_memory_message(path, [&] {
    if (opened.format == file_format::text) return read_text<Scalar>(first_lines(opened), options);
    const binary_layout layout = layout_of(opened);
    const column_choice choice = choose_columns(printable_path(path), layout.columns, {}, options);
    opened_rows<Scalar> result;
    if (choice.label) {
      label_list labels;
      read_labels(opened.file, layout, *choice.label, labels);
      result.label_names = std::move(labels.names);
      result.labels = std::move(labels.labels);
    }
    result.rows = open_binary<Scalar>(std::move(opened.file), layout, choice, options.memory_limit);
    return result;
  });
}

template opened_rows<float> read_opened<float>(opened_file, const read_options&);
template opened_rows<double> read_opened<double>(opened_file, const read_options&);

scalar natural_scalar_of(const opened_file& opened) {
  if (opened.format == file_format::fvecs) return scalar::float32;
  if (opened.format != file_format::npy) return scalar::float64;
  const npy_layout header = parse_npy_header(printable_path(opened.path), opened.start);
  return header.element == element_type::float32 ? scalar::float32 : scalar::float64;
}

file_description describe_start(opened_file& opened) {
  file_description description;
  if (opened.format == file_format::text) {
    description = first_lines(opened).describe();
  } else {
    const binary_layout& layout = layout_of(opened);
    description.format = opened.format == file_format::npy     ? "npy"
                         : opened.format == file_format::fvecs ? "fvecs"
                         : opened.format == file_format::bvecs ? "bvecs"
                                                               : "ivecs";
    description.element = element_name(layout.element);
    if (opened.format == file_format::npy) description.order = layout.fortran_order ? "Fortran" : "C";
    description.rows = layout.rows;
    description.columns = layout.columns;
  }
  description.compressed = opened.compressed;
  return description;
}

file_description describe_opened(opened_file opened) {
  if (opened.format != file_format::text) return describe_start(opened);
  file_description description = describe_text(first_lines(opened));
  description.compressed = opened.compressed;
  return description;
}

data_file::data_file(const std::string& path, std::uint64_t unpacked_limit) {
  for (const std::string& name : files_named(path)) {
    opened_file file = recognise_file(open_input(name), unpacked_limit);
    if (opened_ == nullptr) {
      opened_ = std::make_unique<opened_file>(std::move(file));
    } else {
      opened_->following.push_back(std::move(file));
    }
  }
}
data_file::~data_file() = default;
data_file::data_file(data_file&&) noexcept = default;
data_file& data_file::operator=(data_file&&) noexcept = default;

scalar data_file::natural_scalar() const {
  const bool narrow = natural_scalar_of(*opened_) == scalar::float32 &&
                      std::all_of(opened_->following.begin(), opened_->following.end(),
                                  [](const opened_file& each) { return natural_scalar_of(each) == scalar::float32; });
  return narrow ? scalar::float32 : scalar::float64;
}

file_description data_file::describe_start() {
  file_description all = shoal::describe_start(*opened_);
  for (opened_file& file : opened_->following) all.rows += shoal::describe_start(file).rows;
  return all;
}

template <class Scalar>
opened_rows<Scalar> data_file::read(const read_options& options) {
  std::vector<opened_file> files = std::move(opened_->following);
  if (files.empty()) return read_opened<Scalar>(std::move(*opened_), options);
  files.insert(files.begin(), std::move(*opened_));
  read_options each = options;
  if (options.memory_limit != 0) each.memory_limit = std::max<std::size_t>(1, options.memory_limit / files.size());
  opened_rows<Scalar> all;
  label_list labels;
  std::vector<std::unique_ptr<row_source<Scalar>>> parts;
  const std::string first = printable_path(files.front().path);
  for (opened_file& file : files) {
    const std::string name = printable_path(file.path);
    opened_rows<Scalar> part = read_opened<Scalar>(std::move(file), each);
    if (parts.empty()) all.column_names = part.column_names;
    if (!parts.empty() && part.rows->columns() != parts.front()->columns()) {
      throw bad_data(fmt::format("{}: {} columns, and {} has {}; files that are read together have the same columns",
                                 name, part.rows->columns(), first, parts.front()->columns()));
    }
    if (part.column_names != all.column_names) {
      throw bad_data(fmt::format("{}: other column names than {} has: '{}' and '{}'", name, first,
                                 fmt::join(part.column_names, ", "), fmt::join(all.column_names, ", ")));
    }
    for (const std::int32_t label : part.labels) labels.add(part.label_names[static_cast<std::size_t>(label)]);
    parts.push_back(std::move(part.rows));
  }
  all.label_names = std::move(labels.names);
  all.labels = std::move(labels.labels);
  all.rows = std::make_unique<joined_rows<Scalar>>(std::move(parts));
  return all;
}

template opened_rows<float> data_file::read<float>(const read_options&);
template opened_rows<double> data_file::read<double>(const read_options&);

template <class Scalar>
opened_rows<Scalar> open_rows(const std::string& path, const read_options& options) {
  return data_file(path, options.unpacked_limit).read<Scalar>(options);
}

template opened_rows<float> open_rows<float>(const std::string&, const read_options&);
template opened_rows<double> open_rows<double>(const std::string&, const read_options&);

file_description describe_file(const std::string& path) { return describe_opened(recognise_file(open_input(path))); }

}  // namespace shoal
