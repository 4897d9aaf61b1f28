#include <shoal/execution/default_threads.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/processors.hpp>

namespace shoal {
namespace {

std::atomic<std::size_t> set_here{0};

constexpr std::string_view blanks = " \t";

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

// What a variable says, or 0 where it is not set or empty.
std::size_t threads_in(const char* variable, bool list) {
  const char* const set = std::getenv(variable);
  const std::string_view whole = trimmed(set == nullptr ? "" : set);
  if (whole.empty()) return 0;
  const std::string_view text = trimmed(list ? whole.substr(0, whole.find(',')) : whole);
  std::size_t threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads == 0 || threads > most_threads) {
    throw bad_argument(
        fmt::format("the environment variable {} must be a number of threads between 1 and {}, or not be set; "
                    "got '{}'",
                    variable, most_threads, whole));
  }
  return threads;
}

}  // namespace

std::size_t default_threads() {
  if (const std::size_t threads = set_here.load()) return threads;
  if (const std::size_t threads = threads_in("SHOAL_THREADS", false)) return threads;
  if (const std::size_t threads = threads_in("OMP_NUM_THREADS", true)) return threads;
  return usable_processors();
}

void set_default_threads(std::size_t threads) {
  if (threads > most_threads) {
    throw bad_argument(
        fmt::format("threads must be between 1 and {}, or 0 for the default; got {}", most_threads, threads));
  }
  set_here = threads;
}

}  // namespace shoal
