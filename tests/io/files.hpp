// Small files for tests, and the messages of what they provoke.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "valid_utf8.hpp"

#include <shoal/core/error.hpp>
#include <shoal/io/io.hpp>

namespace testing_files {

// A folder that vanishes with the test.
class folder {
 public:
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "shoal-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    path_ = name;
  }
  folder(const folder&) = delete;
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, std::string_view contents) const {
    std::ofstream out(path(name), std::ios::binary);
    out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    return path(name);
  }
  std::size_t entries() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

 private:
  std::string path_;
};

inline std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class Element>
std::string bytes_of(const std::vector<Element>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Element)};
}

// A .npy file with any dictionary and any version.
inline std::string npy(const std::string& dictionary, std::string_view data, int major = 1, int minor = 0) {
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  std::string header = dictionary;
  while ((8 + length_bytes + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += static_cast<char>(minor);
  for (std::size_t i = 0; i < length_bytes; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return file + header + std::string(data);
}

inline std::string dictionary(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}

template <class Scalar>
std::vector<Scalar> all_values(const shoal::row_source<Scalar>& rows, std::size_t piece = 0) {
  std::vector<Scalar> values;
  shoal::aligned_buffer<Scalar> buffer;
  if (piece == 0) piece = rows.rows();
  for (std::size_t first = 0; first < rows.rows(); first += piece) {
    const auto view = rows.read(first, std::min(piece, rows.rows() - first), buffer);
    EXPECT_EQ(view.columns(), rows.columns());
    for (std::size_t i = 0; i < view.rows(); ++i)
      values.insert(values.end(), view.row(i), view.row(i) + view.columns());
  }
  return values;
}

// The work must throw Error, with one line of valid UTF-8 that holds every part.
template <class Error, class Work>
void expect_refusal(const Work& work, const std::vector<std::string>& parts) {
  try {
    work();
    ADD_FAILURE() << "nothing was thrown; expected \"" << (parts.empty() ? std::string() : parts.back()) << '"';
  } catch (const Error& failure) {
    const std::string message = failure.what();
    for (const std::string& part : parts) {
      EXPECT_NE(message.find(part), std::string::npos) << "message: " << message << "\nlacks:   " << part;
    }
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_TRUE(is_valid_utf8(message)) << message;
    EXPECT_LT(message.size(), 1200u);
  } catch (const std::exception& other) {
    ADD_FAILURE() << "another exception: " << other.what();
  }
}

}  // namespace testing_files
