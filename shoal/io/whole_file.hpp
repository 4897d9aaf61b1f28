// Small files, read and written whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shoal {

/// Replaces the file `path` by `contents`, whole or not at all: writes aside, fsyncs, renames, fsyncs the folder.
void write_file_atomically(const std::string& path, std::string_view contents);

/// The contents of a file of at most `limit` bytes. Throws io_error, bad_data when larger.
std::string read_whole_file(const std::string& path, std::size_t limit);

}  // namespace shoal
