// Runs the program as a user does: a process with words, and what it leaves behind.
#pragma once

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace shoal_test {

namespace fs = std::filesystem;

/// What is typed after the program's name.
using words = std::vector<std::string>;
words operator+(words first, const words& second);

/// How a run ended and what it wrote.
struct outcome {
  int status = -1;  ///< exit status, or −1 when a signal ended it
  int signal = 0;   ///< the signal that ended it, or 0
  std::string out;
  std::string err;
};

struct spawn_options {
  words launcher;                     ///< a program, by its whole path, and its words, that starts this one
  std::string program;                ///< another than shoal; empty: shoal
  fs::path standard_input;            ///< a file; empty: nothing to read
  bool standard_output_full = false;  ///< standard output is /dev/full
  bool standard_output_closed = false;
  std::uint64_t file_size_limit = 0;  ///< largest file that the program may write; 0: no limit
  words environment;                  ///< NAME=VALUE, beside what the test itself has
  unsigned seconds = 0;               ///< after which SIGALRM ends the program; 0: never
};

/// A program that is running.
class process {
 public:
  process(const words& command, const spawn_options& options = {});
  ~process();
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  void send(int signal) const;
  pid_t id() const { return pid_; }
  bool running();
  /// Stops the program where it is until SIGCONT or SIGKILL; false when it has ended before.
  bool hold();
  outcome wait();

 private:
  void reap(int options);

  pid_t pid_ = -1;
  bool ended_ = false;
  int raw_status_ = 0;
  fs::path out_;
  fs::path err_;
};

/// Runs to the end.
outcome run(const words& command, const spawn_options& options = {});

/// Whether the program was built for CUDA devices, as the tests were.
constexpr bool built_with_cuda() { return SHOAL_BUILT_WITH_CUDA; }

/// A folder of the test's own that goes with it.
class scratch_folder {
 public:
  scratch_folder();
  ~scratch_folder();
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string read_file(const fs::path& path);
void write_file(const fs::path& path, const std::string& contents);

/// A .npy file as this test reads it: little-endian float32, float64 or int32 in C order, as doubles.
struct npy_array {
  std::string element;  ///< "<f8", "<f4", "<i4"
  std::vector<std::size_t> shape;
  std::vector<double> values;
};
npy_array read_npy(const fs::path& path);
void write_npy(const fs::path& path, const std::vector<double>& values, std::size_t rows, std::size_t columns,
               bool float32 = false);

/// Whether the text is valid UTF-8 without control characters but newlines.
bool is_clean_text(const std::string& text);

}  // namespace shoal_test
