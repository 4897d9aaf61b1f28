// Starting and reaping processes, and reading .npy files by hand.
#include "program.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace shoal_test {
namespace {

fs::path new_file() {
  std::string name = (fs::temp_directory_path() / "shoal-output-XXXXXX").string();
  const int descriptor = mkstemp(name.data());
  if (descriptor == -1) throw std::system_error(errno, std::generic_category(), name);
  close(descriptor);
  return name;
}

}  // namespace

words operator+(words first, const words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

process::process(const words& command, const spawn_options& options) : out_(new_file()), err_(new_file()) {
  std::vector<std::string> arguments = options.launcher;
  arguments.push_back(options.program.empty() ? SHOAL_PROGRAM : options.program);
  arguments.insert(arguments.end(), command.begin(), command.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  words variables = options.environment;
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  for (char** variable = environ; *variable != nullptr; ++variable) environment.push_back(*variable);
  environment.push_back(nullptr);
  const std::string in = options.standard_input.empty() ? "/dev/null" : options.standard_input.string();
  const std::string out = options.standard_output_full ? "/dev/full" : out_.string();
  pid_ = fork();
  if (pid_ == -1) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ != 0) return;
  // Only calls that are safe after fork() until the program takes over.
  const int in_descriptor = open(in.c_str(), O_RDONLY);
  const int out_descriptor = open(out.c_str(), O_WRONLY | O_TRUNC);
  const int err_descriptor = open(err_.c_str(), O_WRONLY | O_TRUNC);
  if (in_descriptor == -1 || out_descriptor == -1 || err_descriptor == -1) _exit(125);
  dup2(in_descriptor, 0);
  dup2(out_descriptor, 1);
  dup2(err_descriptor, 2);
  for (const int descriptor : {in_descriptor, out_descriptor, err_descriptor}) close(descriptor);
  if (options.standard_output_closed) close(1);
  if (options.file_size_limit != 0) {
    const rlimit limit{options.file_size_limit, options.file_size_limit};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  alarm(options.seconds);  // the program that takes over keeps it
  execve(pointers[0], pointers.data(), environment.data());
  _exit(126);
}

process::~process() {
  if (!ended_) {
    kill(pid_, SIGKILL);
    reap(0);
  }
  std::error_code code;
  fs::remove(out_, code);
  fs::remove(err_, code);
}

void process::send(int signal) const { kill(pid_, signal); }

void process::reap(int options) {
  if (ended_) return;
  pid_t got = -1;
  do {
    got = waitpid(pid_, &raw_status_, options);
  } while (got == -1 && errno == EINTR);
  ended_ = got == pid_ && !WIFSTOPPED(raw_status_);
}

bool process::running() {
  reap(WNOHANG);
  return !ended_;
}

bool process::hold() {
  send(SIGSTOP);
  reap(WUNTRACED);
  return !ended_;
}

outcome process::wait() {
  reap(0);
  outcome result;
  if (WIFEXITED(raw_status_)) result.status = WEXITSTATUS(raw_status_);
  if (WIFSIGNALED(raw_status_)) result.signal = WTERMSIG(raw_status_);
  result.out = read_file(out_);
  result.err = read_file(err_);
  return result;
}

outcome run(const words& command, const spawn_options& options) { return process(command, options).wait(); }

scratch_folder::scratch_folder() {
  std::string name = (fs::temp_directory_path() / "shoal-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
  path_ = name;
}

scratch_folder::~scratch_folder() {
  std::error_code code;
  fs::remove_all(path_, code);
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("no file " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const fs::path& path, const std::string& contents) {
  std::ofstream file(path, std::ios::binary);
  file << contents;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

npy_array read_npy(const fs::path& path) {
  const std::string bytes = read_file(path);
  if (bytes.compare(0, 6, "\x93NUMPY") != 0) throw std::runtime_error(path.string() + " is no .npy file");
  const auto major = static_cast<unsigned char>(bytes.at(6));
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, major == 1 ? 2 : 4);
  const std::size_t begin = (major == 1 ? 10 : 12);
  const std::string header = bytes.substr(begin, length);
  npy_array array;
  const std::size_t descr = header.find("'descr': '") + 10;
  array.element = header.substr(descr, header.find('\'', descr) - descr);
  if (header.find("'fortran_order': False") == std::string::npos) throw std::runtime_error("not in C order");
  const std::size_t shape = header.find("'shape': (") + 10;
  std::istringstream numbers(header.substr(shape, header.find(')', shape) - shape));
  std::size_t count = 1;
  for (std::string number; std::getline(numbers, number, ',');) {
    if (number.find_first_of("0123456789") == std::string::npos) continue;
    array.shape.push_back(std::stoull(number));
    count *= array.shape.back();
  }
  const auto read_as = [&]<class Element>(Element) {
    if (bytes.size() != begin + length + count * sizeof(Element)) throw std::runtime_error("wrong size");
    for (std::size_t i = 0; i < count; ++i) {
      Element value;
      std::memcpy(&value, bytes.data() + begin + length + i * sizeof(Element), sizeof(Element));
      array.values.push_back(static_cast<double>(value));
    }
  };
  if (array.element == "<f8") {
    read_as(double{});
  } else if (array.element == "<f4") {
    read_as(float{});
  } else if (array.element == "<i4") {
    read_as(std::int32_t{});
  } else {
    throw std::runtime_error("element " + array.element);
  }
  return array;
}

void write_npy(const fs::path& path, const std::vector<double>& values, std::size_t rows, std::size_t columns,
               bool float32) {
  std::string header = std::string("{'descr': '") + (float32 ? "<f4" : "<f8") +
                       "', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " + std::to_string(columns) +
                       "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() % 256);
  bytes += static_cast<char>(header.size() / 256);
  bytes += header;
  for (const double value : values) {
    const auto narrow = static_cast<float>(value);
    bytes.append(float32 ? reinterpret_cast<const char*>(&narrow) : reinterpret_cast<const char*>(&value),
                 float32 ? sizeof narrow : sizeof value);
  }
  write_file(path, bytes);
}

bool is_clean_text(const std::string& text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0x7f || (byte < 0x20 && c != '\n')) return false;
  }
  try {
    // The strict handler of the JSON library refuses what is not UTF-8.
    [[maybe_unused]] const std::string dumped = nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

}  // namespace shoal_test
