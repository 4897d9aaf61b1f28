// Text in a report: escaped, cut to a length, and numbers as people read them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::report {

/// Valid UTF-8 that XML allows: each byte that is not part of a valid sequence, and each control or non-character,
/// becomes U+FFFD; what turns the direction of the text around it becomes \uNNNN; tab, line feed and carriage return
/// stay.
std::string clean(std::string_view text);

/// clean(), with & < > " ' replaced by references, for element content and quoted attributes alike.
std::string escape(std::string_view text);

/// clean(), cut to at most `characters` code points, the last of them "…" when something was cut. `characters` ≥ 1.
std::string shorten(std::string_view text, std::size_t characters);

/// Code points in a valid UTF-8 string.
std::size_t length(std::string_view text);

/// A whole number in groups of three digits: 1,000,000.
std::string count(std::size_t value);

/// "1 row", "1,234,567 rows".
std::string counted(std::size_t value, std::string_view noun);

/// A number of at most `digits` significant digits, with a true minus sign and powers written ×10ⁿ.
std::string number(double value, int digits = 5);

/// A number of at most seven significant digits; from 10,000 on a whole number in groups of three digits.
std::string grouped(double value);

/// grouped(), but seven significant digits and a power where groups would be more than three: for where room is short.
std::string brief(double value);

/// 0.24 becomes "24.0 %"; a share too small for one decimal keeps two digits.
std::string percent(double share);

/// Blanks that bring the decimal points of right-aligned numbers below each other: for each text what goes behind it,
/// in code points of the longest fraction with its point. Texts that are not numbers get none.
std::vector<std::size_t> behind_points(const std::vector<std::string>& column);

/// A duration in the unit that suits it: 12 ms, 3.4 s, 2 min 05 s.
std::string duration(double seconds);

/// An exponent in superscript digits: −12 becomes ⁻¹².
std::string superscript(int exponent);

}  // namespace shoal::report
