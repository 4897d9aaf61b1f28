// Statistics as 64-bit words that can be sent or saved, and what they say of themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <shoal/execution/accumulate_options.hpp>

namespace shoal {

/// What statistics must agree on to be combined.
struct statistics_identity {
  std::string family;                                        ///< at most 8 characters
  std::uint64_t scalar_bytes = 0;                            ///< of the rows: 4 or 8
  std::vector<std::pair<std::string, std::uint64_t>> shape;  ///< named: {"components", 3}, …
  std::uint64_t model = 0;                                   ///< fingerprint of the model that they were made under
};

/// Throws bad_argument that says what differs; `task` reads "combined".
void require_same(const statistics_identity& a, const statistics_identity& b, std::uint64_t total_a,
                  std::uint64_t total_b, std::string_view task);

/// Throws bad_argument when `model`, a fingerprint, is not what the statistics were made under.
void require_model(const statistics_identity& statistics, std::uint64_t model);

/// Throws bad_argument when a part of `rows` rows does not lie in its whole.
void check_part(const row_part& part, std::size_t rows);

/// The words: a mark, the version, the identity, what put() appends, and a checksum.
class statistics_writer {
 public:
  explicit statistics_writer(const statistics_identity& identity);
  void put(std::uint64_t word) { words_.push_back(word); }
  /// A whole number of words.
  void put(std::span<const std::byte> bytes);
  std::string finish();

 private:
  std::vector<std::uint64_t> words_;
};

/// Reads them again, and refuses with bad_data "NAME: not usable statistics: …".
class statistics_reader {
 public:
  /// Checks mark, version, checksum and family; `shape` names the numbers of the shape.
  statistics_reader(std::string name, std::string_view bytes, std::string_view family,
                    std::span<const std::string_view> shape);

  const statistics_identity& identity() const { return identity_; }
  std::uint64_t take();
  /// A word of at most `most`; `what` it counts.
  std::uint64_t take(std::uint64_t most, std::string_view what);
  /// What one put() of bytes appended.
  std::span<const std::byte> take_bytes();
  /// Words that are left.
  std::size_t left() const { return words_.size() - at_; }
  void expect_end() const;
  [[noreturn]] void refuse(std::string_view why) const;

 private:
  std::string name_;
  std::vector<std::uint64_t> words_;
  std::size_t at_ = 0;
  statistics_identity identity_;
};

/// The largest file of statistics that is read.
inline constexpr std::size_t largest_statistics_file = std::size_t{64} << 30;

}  // namespace shoal
