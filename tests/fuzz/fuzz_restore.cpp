// Words that no fit has saved, as what fits of every family go on from. The first byte chooses a fit; each eleven bytes
// after it change a word of what that fit has saved, or a list's length.
#include <cstring>
#include <stop_token>

#include "../checkpoint_contents.hpp"
#include "own_file.hpp"
#include "resumed_fits.hpp"

#include <shoal/core/error.hpp>
#include <shoal/io/checkpoint.hpp>

namespace {

constexpr std::size_t record_bytes = 11;

// What a fit has saved when it is in its last restart.
struct saved_fit {
  shoal::fit_identity identity;
  shoal::checkpoint point;
};

saved_fit stopped(const fuzzing::resumed_fit& fit, const std::string& path) {
  ::unlink(path.c_str());
  std::stop_source stop;
  std::size_t reports = 0;
  const shoal::control control{[&](const shoal::progress& now) {
                                 if (++reports > 1 && 2 * now.step > now.steps) stop.request_stop();
                               },
                               stop.get_token()};
  bool stopped = false;
  try {
    fit.run(path, 0, control);
  } catch (const shoal::interrupted&) {
    stopped = true;
  }
  fuzzing::require(stopped, "a fit is stopped on request");
  saved_fit saved;
  const mutated_checkpoint::contents written(path);
  for (const auto& [name, value] : written.body.at("identity").items()) saved.identity.emplace_back(name, value);
  saved.point = shoal::parse_checkpoint(path, shoal::read_whole_file(path, 1 << 20), saved.identity).value();
  return saved;
}

std::vector<saved_fit> stopped_fits(const std::string& path) {
  std::vector<saved_fit> saved;
  for (const auto& fit : fuzzing::resumed_fits()) saved.push_back(stopped(*fit, path));
  return saved;
}

void change(std::vector<double>& words, bool length, std::size_t place, double value) {
  if (length) {
    words.resize(place % (2 * words.size() + 2), 0.5);
  } else if (!words.empty()) {
    words[place % words.size()] = value;
  }
}

void change(shoal::checkpoint& point, const std::uint8_t* record) {
  std::uint16_t place = 0;
  double value = 0;
  std::memcpy(&place, record + 1, sizeof place);
  std::memcpy(&value, record + 3, sizeof value);
  const bool length = record[0] >= 0xF0;
  const auto list = record[0] % 6;
  if (list == 0) change(point.state, length, place, value);
  if (list == 2) change(point.objectives, length, place, value);
  if (list == 3) change(point.changes, length, place, value);
  if (!point.best) return;
  if (list == 1) change(point.best->state, length, place, value);
  if (list == 4) change(point.best->history, length, place, value);
  if (list == 5) point.best->score = value;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// As the fitting loop takes what it has read, makes a step and ends. False when the words are refused.
bool go_on(fuzzing::resumed_fit& fit, const shoal::checkpoint& point) {
  const std::unique_ptr<shoal::stepper> steps = fit.steps();
  try {
    if (point.best) steps->restore(point.best->state);
    if (!point.state.empty()) steps->restore(point.state);
  } catch (const shoal::bad_data& refusal) {
    fuzzing::require(*refusal.what() != '\0', "a refusal says why");
    return false;
  }
  if (point.state.empty()) return true;  // a new start of this restart
  try {
    steps->advance(1);
    const double score = steps->score();
    const std::vector<double> end = steps->save();
    steps->restore(end);
    fuzzing::require(same_bits(steps->save(), end), "what was saved is restored as it was");
    if (point.best && !(score > point.best->score)) steps->restore(point.best->state);
    fit.end(*steps);
  } catch (const shoal::error& refusal) {  // of the rows under the parameters that it held
    fuzzing::require(*refusal.what() != '\0', "a refusal says why");
  }
  return true;
}

// The same by a file, with the checksum that belongs to it: what the words alone are refused for must be refused here.
bool go_on_by_file(const fuzzing::resumed_fit& fit, const std::string& path, const saved_fit& saved) {
  fuzzing::write_file(path, shoal::format_checkpoint(saved.identity, saved.point));
  try {
    fit.run(path, 1e9, {});
    return true;
  } catch (const shoal::error& refusal) {
    fuzzing::require(*refusal.what() != '\0', "a refusal says why");
    return false;
  }
}

}  // namespace

// A file, its locks and renames, the checks of the rows and the loop about the steps take many times as long as a step,
// and depend little on the words: one input in 64 goes that way.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzzing::own_file file("fuzz_restore");
  static const std::vector<saved_fit> saved = stopped_fits(file.path());
  if (size == 0) return 0;
  const std::size_t chosen = data[0] % saved.size();
  saved_fit changed = saved[chosen];
  for (std::size_t at = 1; at + record_bytes <= size; at += record_bytes) change(changed.point, data + at);
  fuzzing::resumed_fit& fit = *fuzzing::resumed_fits()[chosen];
  const bool taken = go_on(fit, changed.point);
  if (fuzzing::number_of(data, size) % 64 == 0) {
    const bool ended = go_on_by_file(fit, file.path(), changed);
    fuzzing::require(taken || !ended, "what a fit refuses it refuses in a file");
  }
  return 0;
}
