// Checkpoints that no fit has written, with the right checksum: every one must be refused or lead to an end.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/core/progress.hpp>

#include "checkpoint_contents.hpp"

namespace mutated_checkpoint {

/// Runs a fit whose options have these seconds between two checkpoints.
using fit_function = std::function<void(const shoal::control& control, double checkpoint_seconds)>;

/// A file in memory where there is such a folder: thousands of fits wait for it to be on disk.
inline std::string file_named(const std::string& name) {
  const std::string memory = "/dev/shm/";
  return (access(memory.c_str(), W_OK) == 0 ? memory : testing::TempDir()) + name + std::to_string(getpid());
}

/// Stops a fit at its report number `reports`, so that it leaves its checkpoint.
inline void interrupt(const fit_function& fit, std::size_t reports) {
  std::stop_source stop;
  std::size_t seen = 0;
  const shoal::control control{[&](const shoal::progress&) {
                                 if (++seen == reports) stop.request_stop();
                               },
                               stop.get_token()};
  EXPECT_THROW(fit(control, 0), shoal::interrupted);
}

/// What resuming throws; empty when the fit ends. Anything but a message of shoal is a failure.
inline std::string thrown_by(const fit_function& fit, const std::string& what) {
  try {
    fit({}, 1e9);
  } catch (const shoal::error& failure) {
    return failure.what();
  } catch (const std::exception& failure) {
    ADD_FAILURE() << what << ": " << failure.what();
  }
  return {};
}

/// `fit` runs a fit with the checkpoint `path`. Its checkpoint after `reports` reports is changed word by word.
inline void expect_safe(const std::string& path, const fit_function& fit, std::size_t reports) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double values[] = {nan, inf, -1, 0, 0.5, 3, 1e19, -1e308, 1e308, 4e-320};
  constexpr std::size_t most_words = 40;  // of a list that are tried
  std::filesystem::remove(path);
  interrupt(fit, reports);
  const contents whole(path);
  std::size_t refused = 0, ended = 0;
  const auto resume = [&](const contents& changed, const std::string& what) {
    alarm(60);  // for one fit of some milliseconds
    changed.write(path);
    const std::string thrown = thrown_by(fit, what);
    ++(thrown.empty() ? ended : refused);
    return thrown;
  };
  const auto refuse = [&](const contents& changed, const std::string& what) {
    const std::string thrown = resume(changed, what);
    EXPECT_NE(thrown.find(path + ": not a usable checkpoint: "), std::string::npos) << what << ": '" << thrown << "'";
    EXPECT_NE(thrown.find("Remove the file to start anew"), std::string::npos) << what << ": " << thrown;
  };
  std::vector<json::json_pointer> lists;
  for (const char* const name : {"/objectives", "/changes", "/state", "/best/state", "/best/history", "/best/score"}) {
    if (contents(whole).fit().contains(json::json_pointer(name))) lists.emplace_back(name);
  }
  EXPECT_GE(lists.size(), 3u);
  for (const json::json_pointer& list : lists) {
    const std::string name = list.to_string();
    const std::size_t words = words_of(contents(whole).fit().at(list));
    const std::size_t stride = std::max<std::size_t>(1, (words + most_words - 1) / most_words);
    for (std::size_t i = 0; i < words; i += i < 8 || i + 8 >= words ? 1 : stride) {
      for (const double value : values) {
        contents changed = whole;
        changed.fit().at(list) = with_word(changed.fit().at(list), i, value);
        resume(changed, fmt::format("{} word {} is {}", name, i, value));
      }
    }
    if (!name.ends_with("state")) continue;
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{3}, words - 1, words + 1, 2 * words}) {
      contents changed = whole;
      changed.fit().at(list) = of_words(changed.fit().at(list), count);
      refuse(changed, fmt::format("{} of {} words", name, count));
    }
    contents changed = whole;
    changed.fit().at(list) = "";
    refuse(changed, name + " is empty");
  }
  // Several words at a time, of any bits: as many checkpoints as SHOAL_MUTATIONS says.
  std::mt19937_64 random(1);
  const char* const wanted = std::getenv("SHOAL_MUTATIONS");
  for (long i = wanted == nullptr ? 200 : std::atol(wanted); i > 0; --i) {
    contents changed = whole;
    std::string what = "random words:";
    for (std::size_t word = random() % 4 + 1; word > 0; --word) {
      json& list = changed.fit().at(lists[random() % lists.size()]);
      const std::size_t words = words_of(list);
      if (words == 0) continue;
      const std::size_t at = random() % words;
      const double value = random() % 2 == 0 ? values[random() % std::size(values)] : std::bit_cast<double>(random());
      list = with_word(list, at, value);
      what += fmt::format(" {} is {}", at, value);
    }
    resume(changed, what);
  }
  for (const std::size_t restart : {std::size_t{7}, std::size_t{1} << 62}) {
    contents changed = whole;
    changed.fit()["restart"] = restart;
    refuse(changed, "another restart");
  }
  contents finished = whole;
  finished.fit()["finished"] = true;
  refuse(finished, "finished");
  contents older = whole;
  older.head["version"] = 1;
  refuse(older, "another version");
  older = whole;
  older.head["program"] = "shoal 0.0.9";
  refuse(older, "another program");
  resume(whole, "unchanged");
  EXPECT_GT(ended, 0u);
  EXPECT_GT(refused, ended / 20);
  alarm(0);
  std::filesystem::remove(path);
}

}  // namespace mutated_checkpoint
