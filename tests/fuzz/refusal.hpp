// What every fuzzer of a file reader checks: any bytes give rows, the same by every way of reading, or a good refusal.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "../io/valid_utf8.hpp"

#include <shoal/core/error.hpp>
#include <shoal/io/open_file.hpp>

/// Temporary files in memory: the disk would be what is tested otherwise.
extern "C" __attribute__((used)) inline int LLVMFuzzerInitialize(int*, char***) {
  if (::access("/dev/shm", W_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 1);
  return 0;
}

namespace fuzzing {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

/// Runs the work. Nothing but the library's own exceptions may come out, each with one printable line that starts with
/// the file's name.
template <class Work>
bool succeeds(const std::string& name, const Work& work) {
  try {
    work();
    return true;
  } catch (const shoal::error& refusal) {
    const std::string message = refusal.what();
    require(message.starts_with(name + ": "), "a refusal starts with the file's name");
    require(message.size() < 2000, "a refusal is short");
    require(testing_files::is_valid_utf8(message), "a refusal is valid UTF-8");
    require(std::none_of(message.begin(), message.end(), [](char c) { return c >= 0 && (c < ' ' || c == 127); }),
            "a refusal has no control characters");
    return false;
  }
}

/// A regular file in memory, the same for every input: to make one takes longer than most readers do.
class input_in_memory {
 public:
  /// The file, with these contents.
  static const input_in_memory& holding(const std::uint8_t* data, std::size_t size) {
    static const input_in_memory file;
    require(::ftruncate(file.descriptor(), static_cast<off_t>(size)) == 0 &&
                ::pwrite(file.descriptor(), data, size, 0) == static_cast<ssize_t>(size),
            "memfd takes the input");
    return file;
  }
  int descriptor() const { return handle_.descriptor(); }

  /// Opened under that name, as if for the first time.
  shoal::opened_file open(const std::string& name) const {
    require(::lseek(descriptor(), 0, SEEK_SET) == 0, "memfd is read again");
    return shoal::recognise_file(shoal::as_input(name, shoal::file_handle(::fcntl(descriptor(), F_DUPFD_CLOEXEC, 0))));
  }

 private:
  shoal::file_handle handle_{::memfd_create("fuzz", MFD_CLOEXEC)};
};

/// A number from the bytes of an input. What is done to some inputs only is chosen by it, the same in every run.
inline std::uint32_t number_of(const std::uint8_t* data, std::size_t size) {
  return static_cast<std::uint32_t>(::crc32_z(0, data, size));
}

/// All rows of the input, or nothing when it is refused.
template <class Scalar>
std::optional<std::vector<Scalar>> rows_of(const std::string& name, const input_in_memory& file,
                                           const shoal::read_options& options, std::size_t piece) {
  std::vector<Scalar> values;
  const bool read = succeeds(name, [&] {
    const auto opened = shoal::read_opened<Scalar>(file.open(name), options);
    const auto& rows = *opened.rows;
    require(rows.rows() > 0 && rows.columns() > 0, "rows are not empty");
    require(opened.labels.size() == (options.label_column.empty() ? 0 : rows.rows()), "each row has its label");
    for (const std::int32_t label : opened.labels) {
      require(label >= 0 && static_cast<std::size_t>(label) < opened.label_names.size(), "each label has its name");
    }
    require(opened.column_names.empty() || opened.column_names.size() == rows.columns(), "each column has its name");
    shoal::aligned_buffer<Scalar> buffer;
    for (std::size_t first = 0; first < rows.rows(); first += piece) {
      const auto view = rows.read(first, std::min(piece, rows.rows() - first), buffer);
      for (std::size_t i = 0; i < view.rows(); ++i)
        values.insert(values.end(), view.row(i), view.row(i) + view.columns());
    }
  });
  if (!read) return std::nullopt;
  return values;
}

/// Reads the input in every way and holds the results to each other. What is refused is refused in most ways by the
/// same lines, and to throw takes longer than to read, so such an input is read in two ways alone: whole, and as its
/// bytes choose.
inline void read_in_every_way(const std::string& name, const std::uint8_t* data, std::size_t size) {
  const auto same = [](const std::optional<std::vector<double>>& a, const std::optional<std::vector<double>>& b) {
    return a.has_value() == b.has_value() &&
           (!a || (a->size() == b->size() && std::memcmp(a->data(), b->data(), a->size() * sizeof(double)) == 0));
  };
  const input_in_memory& file = input_in_memory::holding(data, size);
  const auto read = [&](const shoal::read_options& options, std::size_t piece) {
    return rows_of<double>(name, file, options, piece);
  };
  const auto whole = read({}, 1 << 20);
  const auto chosen = number_of(data, size) % 5;
  const auto turn = [&](std::uint32_t way) { return whole.has_value() || way == chosen; };
  shoal::read_options options;
  if (turn(0)) {
    options.memory_limit = 1;
    require(same(whole, read(options, 3)), "pieces are the same as the whole");
  }
  if (turn(1)) rows_of<float>(name, file, options, 1 << 20);
  if (turn(2)) {
    options.columns = {"1", "0"};
    options.memory_limit = 1;
    const auto swapped = read(options, 1 << 20);
    options.memory_limit = 0;
    require(same(swapped, read(options, 2)), "chosen columns too");
  }
  if (turn(3)) {
    options.columns.clear();
    options.label_column = "0";
    options.memory_limit = 0;
    const auto labelled = read(options, 1 << 20);
    options.memory_limit = 1;
    require(same(labelled, read(options, 5)), "rows with labels too");
  }
  if (turn(4)) {
    const bool described = succeeds(name, [&] {
      const auto description = shoal::describe_opened(file.open(name));
      require(!whole || description.rows * description.columns == whole->size(), "the description has the same shape");
    });
    require(described || !whole, "what can be read can be described");
  }
}

}  // namespace fuzzing
