#include <shoal/io/whole_file.hpp>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/file.hpp>
#include <shoal/io/output_file.hpp>
#include <shoal/io/printable.hpp>

namespace shoal {

void write_file_atomically(const std::string& path, std::string_view contents) {
  output_file out(path);
  out.write(contents.data(), contents.size());
  out.commit();
}

std::string read_whole_file(const std::string& path, std::size_t limit) {
  const input_file file = open_input(path);
  const auto refuse = [&] {
    throw bad_data(fmt::format("{}: larger than the {} bytes that such a file may have", printable_path(path), limit));
  };
  if (file.size > limit) refuse();
  std::string contents;
  for (;;) {
    const std::size_t before = contents.size();
    // One byte more than the file has shows its end. Of a pipe the size is not known.
    const std::size_t step = file.size >= before && file.regular ? file.size + 1 - before : std::size_t{1} << 16;
    contents.resize(before + step);
    const std::size_t got = read_some(file, contents.data() + before, step);
    contents.resize(before + got);
    if (contents.size() > limit) refuse();
    if (got == 0) return contents;
  }
}

}  // namespace shoal
