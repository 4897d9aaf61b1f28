// Runs a fuzzer where there is no libFuzzer: inputs from folders, mutated at random. It knows nothing of which code an
// input reaches, so that it finds less in the same number of runs.
//   fuzz_READER [-seed=N] [-runs=N] [-max_total_time=SECONDS] [-max_len=BYTES] FOLDER…
// Prints "stat::number_of_executed_units: N" at the end, as libFuzzer does with -print_final_stats=1. Other options of
// libFuzzer are passed over. Each input is written to fuzz_READER.input before it is run, and stays there when it
// fails.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int*, char***);

namespace {

using bytes = std::vector<std::uint8_t>;
using generator = std::mt19937_64;

std::size_t below(generator& random, std::size_t end) { return static_cast<std::size_t>(random() % end); }

void insert(bytes& input, std::size_t at, const std::uint8_t* from, std::size_t count) {
  input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), from, from + count);
}

// Words that readers of files look for, or stumble over.
const std::vector<std::string> words = {"0",  "-1",   "nan", "inf",  "1e999", "18446744073709551615",
                                        "\n", "\r\n", ",",   "{",    "}",     "[",
                                        "]",  "\"",   "\\u", "null", "'",     "(",
                                        ")",  "\t",   ";",   "True", "\xff",  "<f8"};

void mutate_once(bytes& input, const std::vector<bytes>& corpus, generator& random) {
  const std::size_t size = input.size(), at = size == 0 ? 0 : below(random, size);
  switch (below(random, 9)) {
    case 0:
      if (size > 0) input[at] ^= static_cast<std::uint8_t>(1u << below(random, 8));
      break;
    case 1:
      if (size > 0) input[at] = static_cast<std::uint8_t>(random());
      break;
    case 2:  // a part is lost
      input.erase(input.begin() + static_cast<std::ptrdiff_t>(at),
                  input.begin() + static_cast<std::ptrdiff_t>(std::min(size, at + 1 + below(random, 16))));
      break;
    case 3:  // the end is lost
      input.resize(at);
      break;
    case 4: {
      const std::string& word = words[below(random, words.size())];
      insert(input, at, reinterpret_cast<const std::uint8_t*>(word.data()), word.size());
      break;
    }
    case 5: {  // a part comes twice
      const bytes part(input.begin() + static_cast<std::ptrdiff_t>(at),
                       input.begin() + static_cast<std::ptrdiff_t>(std::min(size, at + 1 + below(random, 64))));
      insert(input, size == 0 ? 0 : below(random, size), part.data(), part.size());
      break;
    }
    case 6: {  // of another input
      const bytes& other = corpus[below(random, corpus.size())];
      if (other.empty()) break;
      const std::size_t from = below(random, other.size());
      insert(input, at, other.data() + from, std::min(other.size() - from, 1 + below(random, 64)));
      break;
    }
    case 7: {  // a whole number
      const std::uint64_t values[] = {0,       1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, ~std::uint64_t{0},
                                      random()};
      const std::uint64_t value = values[below(random, std::size(values))];
      if (size >= 8) std::memcpy(input.data() + below(random, size - 7), &value, std::size_t{1} << below(random, 4));
      break;
    }
    default:  // a digit
      for (std::size_t i = at; i < size; ++i) {
        if (input[i] >= '0' && input[i] <= '9') {
          input[i] = static_cast<std::uint8_t>('0' + below(random, 10));
          break;
        }
      }
  }
}

std::uint64_t value_of(const std::string& argument) {
  return std::strtoull(argument.substr(argument.find('=') + 1).c_str(), nullptr, 10);
}

// Before an input is run, for whoever looks after a crash. Overwritten in place: to make a file takes longer than most
// runs.
class last_input {
 public:
  explicit last_input(std::string path)
      : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_CREAT | O_RDWR | O_TRUNC, 0600)) {}
  ~last_input() {
    ::close(descriptor_);
    std::filesystem::remove(path_);
  }
  last_input(const last_input&) = delete;
  last_input& operator=(const last_input&) = delete;
  void keep(const bytes& input) const {
    if (::ftruncate(descriptor_, static_cast<off_t>(input.size())) != 0 ||
        ::pwrite(descriptor_, input.data(), input.size(), 0) != static_cast<ssize_t>(input.size())) {
      std::perror(path_.c_str());
      std::exit(2);
    }
  }

 private:
  std::string path_;
  int descriptor_;
};

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seed = 1, runs = ~std::uint64_t{0}, seconds = 60, most_bytes = 4096;
  std::vector<bytes> corpus;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("-seed=")) seed = value_of(argument);
    if (argument.starts_with("-runs=")) runs = value_of(argument);
    if (argument.starts_with("-max_total_time=")) seconds = value_of(argument);
    if (argument.starts_with("-max_len=")) most_bytes = value_of(argument);
    if (argument.starts_with("-")) continue;
    for (const auto& entry : std::filesystem::directory_iterator(argument)) {
      std::ifstream file(entry.path(), std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "usage: %s [-seed=N] [-runs=N] [-max_total_time=SECONDS] [-max_len=BYTES] FOLDER…\n", argv[0]);
    return 2;
  }
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  generator random(seed);
  const last_input kept(std::filesystem::path(argv[0]).filename().string() + ".input");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::uint64_t done = 0;
  for (; done < runs && std::chrono::steady_clock::now() < end; ++done) {
    bytes input = corpus[done < corpus.size() ? done : below(random, corpus.size())];
    if (done >= corpus.size()) {
      for (std::size_t n = 1 + below(random, 6); n > 0; --n) mutate_once(input, corpus, random);
    }
    if (input.size() > most_bytes) input.resize(most_bytes);
    kept.keep(input);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("stat::number_of_executed_units: %llu\n", static_cast<unsigned long long>(done));
}
