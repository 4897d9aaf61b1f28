#include <shoal/estimation/statistics_words.hpp>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/core/word_hash.hpp>
#include <shoal/io/printable.hpp>

namespace shoal {
namespace {

constexpr std::uint64_t newest_version = 1;
constexpr std::size_t word_bytes = sizeof(std::uint64_t);

// Eight characters as a little-endian word: another byte order does not read the mark.
std::uint64_t word_of(std::string_view text) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < std::min(text.size(), word_bytes); ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  }
  return word;
}

std::uint64_t mark() { return word_of("shoalsum"); }

std::uint64_t checksum(std::span<const std::uint64_t> words) {
  word_hash hash;
  for (const std::uint64_t word : words) hash.take(word);
  return hash.value();
}

std::string_view scalar_name(std::uint64_t bytes) { return bytes == 4 ? "float32" : "float64"; }

}  // namespace

void require_same(const statistics_identity& a, const statistics_identity& b, std::uint64_t total_a,
                  std::uint64_t total_b, std::string_view task) {
  std::string differences;
  const auto differ = [&](std::string_view what, const std::string& one, const std::string& other) {
    if (one != other) {
      differences +=
          fmt::format("{}{} is {} in one and {} in the other", differences.empty() ? "" : "; ", what, one, other);
    }
  };
  differ("the scalar", std::string(scalar_name(a.scalar_bytes)), std::string(scalar_name(b.scalar_bytes)));
  for (std::size_t i = 0; i < std::min(a.shape.size(), b.shape.size()); ++i) {
    differ(a.shape[i].first, fmt::to_string(a.shape[i].second), fmt::to_string(b.shape[i].second));
  }
  differ("the model's fingerprint", fmt::format("{:016x}", a.model), fmt::format("{:016x}", b.model));
  if (differences.empty() && total_a != total_b) {
    const auto whole = [](std::uint64_t total) { return total == 0 ? "none" : fmt::format("{} rows", total); };
    differ("the whole that the rows are a part of", whole(total_a), whole(total_b));
  }
  if (differences.empty()) return;
  throw bad_argument(fmt::format("these statistics cannot be {}: {}", task, differences));
}

void require_model(const statistics_identity& statistics, std::uint64_t model) {
  if (statistics.model == model) return;
  throw bad_argument(fmt::format(
      "maximise needs the model that the statistics were accumulated under: its fingerprint is {:016x}; got "
      "a model of {:016x}",
      statistics.model, model));
}

void check_part(const row_part& part, std::size_t rows) {
  if (part.total == 0) {
    if (part.first == 0) return;
    throw bad_argument(fmt::format("a part that begins at row {} needs the number of all rows; got 0", part.first));
  }
  if (part.first <= part.total && rows <= part.total - part.first) return;
  throw bad_argument(fmt::format("a part of {} rows that begins at row {} does not lie in a whole of {} rows", rows,
                                 part.first, part.total));
}

statistics_writer::statistics_writer(const statistics_identity& identity) {
  words_ = {mark(), newest_version, word_of(identity.family), identity.scalar_bytes, identity.model};
  for (const auto& [name, number] : identity.shape) words_.push_back(number);
}

void statistics_writer::put(std::span<const std::byte> bytes) {
  const std::size_t count = bytes.size() / word_bytes, before = words_.size() + 1;
  words_.push_back(count);
  words_.resize(before + count);
  if (count > 0) std::memcpy(words_.data() + before, bytes.data(), count * word_bytes);
}

std::string statistics_writer::finish() {
  words_.push_back(checksum(words_));
  return {reinterpret_cast<const char*>(words_.data()), words_.size() * word_bytes};
}

statistics_reader::statistics_reader(std::string name, std::string_view bytes, std::string_view family,
                                     std::span<const std::string_view> shape)
    : name_(std::move(name)), words_(bytes.size() / word_bytes) {
  if (!words_.empty()) std::memcpy(words_.data(), bytes.data(), words_.size() * word_bytes);
  if (words_.empty() || words_[0] != mark()) refuse("they are not statistics of shoal");
  if (words_.size() < 2 || words_[1] != newest_version) {
    refuse(words_.size() < 2
               ? "they are cut short"
               : fmt::format("their version is {}, and this program reads version {}", words_[1], newest_version));
  }
  if (bytes.size() % word_bytes != 0 || words_.back() != checksum(std::span(words_).first(words_.size() - 1))) {
    refuse("they are damaged or cut short: the checksum does not match");
  }
  words_.pop_back();
  at_ = 2;
  if (const std::uint64_t theirs = take(); theirs != word_of(family)) {
    std::string text;
    for (std::size_t i = 0; i < word_bytes; ++i) {
      if (const char letter = static_cast<char>(theirs >> (8 * i)); letter != 0) text += letter;
    }
    refuse(fmt::format("they are of the family {}; expected {}", printable(text), family));
  }
  identity_.family = family;
  identity_.scalar_bytes = take();
  if (identity_.scalar_bytes != 4 && identity_.scalar_bytes != 8) refuse("their scalar has neither 4 nor 8 bytes");
  identity_.model = take();
  for (const std::string_view each : shape) identity_.shape.emplace_back(each, take());
}

std::uint64_t statistics_reader::take() {
  if (at_ == words_.size()) refuse("they are cut short");
  return words_[at_++];
}

std::uint64_t statistics_reader::take(std::uint64_t most, std::string_view what) {
  const std::uint64_t word = take();
  if (word > most) refuse(fmt::format("there are {} {}, and at most {} can be", word, what, most));
  return word;
}

std::span<const std::byte> statistics_reader::take_bytes() {
  const std::uint64_t count = take(left() - (left() > 0 ? 1 : 0), "words of one value");
  const std::span<const std::uint64_t> found = std::span<const std::uint64_t>(words_).subspan(at_, count);
  at_ += count;
  return std::as_bytes(found);
}

void statistics_reader::expect_end() const {
  if (left() > 0) refuse(fmt::format("{} words follow their end", left()));
}

void statistics_reader::refuse(std::string_view why) const {
  throw bad_data(fmt::format("{}: not usable statistics: {}", printable_path(name_), why));
}

}  // namespace shoal
