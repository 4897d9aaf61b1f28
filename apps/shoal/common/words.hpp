// The words of a command line: numbers, sizes, lists, and the nearest word to one that was mistyped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "report/text.hpp"

namespace shoal::app {

/// A whole number in decimal ("272", "1e6"). Throws bad_argument that begins with `option` when `text` is anything
/// else or lies outside [least, most].
std::uint64_t parse_count(std::string_view option, std::string_view text, std::uint64_t least = 0,
                          std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// A finite number of at least `least`; strictly above it when `open`.
double parse_number(std::string_view option, std::string_view text, double least, bool open = false);

/// Bytes: "1000000", "64MiB", "1.5GiB", "2GB". KiB and K are 1024 bytes, kB is 1000; letters of either case.
std::size_t parse_bytes(std::string_view option, std::string_view text);

/// Numbers of at least one: "1..20", "1,2,5", "1..4,8,16", in ascending order and each once.
std::vector<std::size_t> parse_counts(std::string_view option, std::string_view text);

/// Names or numbers between commas; a name that holds a comma goes between double quotes.
std::vector<std::string> parse_names(std::string_view option, std::string_view text);

/// The candidate that a mistyped word most likely meant, or nothing when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "; did you mean 'X'?" for the nearest candidate, or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

/// The text as lines of valid UTF-8 without control characters: file names and contents may hold anything, messages
/// may not.
std::string printable_lines(std::string_view text);

/// "1,234,567", for people.
std::string grouped(std::uint64_t number);

using report::counted;

/// "64.0 MiB", for people.
std::string bytes_text(double bytes);

/// "0.123 s", "2 min 05 s", "3 h 12 min", for people.
std::string duration_text(double seconds);

}  // namespace shoal::app
