// Checkpoints that no fit has written, with the checksum that belongs to them, as what fits of every family go on from.
// The first byte chooses a fit; each eleven bytes after it change a word of what that fit has saved, or a list's
// length.
#include <cstring>
#include <stop_token>

#include "../checkpoint_contents.hpp"
#include "resumed_fits.hpp"

namespace {

using mutated_checkpoint::contents;
using mutated_checkpoint::json;

constexpr const char* lists[] = {"/state", "/best/state", "/objectives", "/changes", "/best/history", "/best/score"};
constexpr std::size_t record_bytes = 11;

// A name that vanishes with the process.
struct file_name {
  std::string text =
      fmt::format("{}/fuzz_restore_{}", ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", ::getpid());
  ~file_name() { ::unlink(text.c_str()); }
};

// What each fit has saved when it is in its second restart.
std::vector<contents> stopped_fits(const std::string& path) {
  std::vector<contents> saved;
  for (const fuzzing::resumed_fit fit : fuzzing::resumed_fits()) {
    ::unlink(path.c_str());
    std::stop_source stop;
    std::size_t reports = 0;
    const shoal::control control{[&](const shoal::progress& now) {
                                   if (++reports > 1 && 2 * now.step > now.steps) stop.request_stop();
                                 },
                                 stop.get_token()};
    bool stopped = false;
    try {
      fit(path, 0, control);
    } catch (const shoal::interrupted&) {
      stopped = true;
    }
    fuzzing::require(stopped, "a fit is stopped on request");
    saved.emplace_back(path);
  }
  return saved;
}

void change(json& fit, const std::uint8_t* record) {
  const json::json_pointer list(lists[record[0] % std::size(lists)]);
  if (!fit.contains(list)) return;
  std::uint16_t place = 0;
  double value = 0;
  std::memcpy(&place, record + 1, sizeof place);
  std::memcpy(&value, record + 3, sizeof value);
  json& words = fit.at(list);
  const std::size_t count = mutated_checkpoint::words_of(words);
  if (record[0] >= 0xF0) {
    words = mutated_checkpoint::of_words(words, place % (2 * count + 2));
  } else if (count > 0) {
    words = mutated_checkpoint::with_word(words, place % count, value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const file_name path;
  static const std::vector<contents> saved = stopped_fits(path.text);
  if (size == 0) return 0;
  const std::size_t chosen = data[0] % saved.size();
  contents changed = saved[chosen];
  for (std::size_t at = 1; at + record_bytes <= size; at += record_bytes) change(changed.fit(), data + at);
  changed.write(path.text);
  try {
    fuzzing::resumed_fits()[chosen](path.text, 1e9, {});
  } catch (const shoal::error& refusal) {
    // Of the checkpoint, or of the rows under the parameters that it held.
    fuzzing::require(*refusal.what() != '\0', "a refusal says why");
  }
  return 0;
}
