// The lines of a text file, and how their fields are laid out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <shoal/io/byte_source.hpp>

namespace shoal {

/// A longer line is refused: it is no table.
inline constexpr std::size_t line_limit = std::size_t{16} << 20;

/// Lines one after another, without their ends ("\n" or "\r\n") and without a byte order mark.
class line_reader {
 public:
  line_reader(std::string name, byte_source& source) : name_(std::move(name)), source_(source) {}

  /// The next line; the view is good until the next call. False at the end of the file.
  bool next(std::string_view& line);

  /// The number of the line that next() gave, from 1.
  std::size_t number() const { return number_; }
  /// The name of the file, as messages print it.
  const std::string& name() const { return name_; }

 private:
  bool fill();

  std::string name_;
  byte_source& source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t number_ = 0;
  bool filled_ = false;  // by the last read: more may follow
  bool finished_ = false;
};

struct numbered_line {
  std::string text;
  std::size_t number = 0;
};

/// What the first lines of a text file say about the others.
struct text_layout {
  char delimiter = ' ';  ///< ',', '\t', ';', or ' ' for any run of spaces and tabs
  bool header = false;
  std::size_t columns = 0;
  std::size_t first_line = 0;      ///< the line that decided the number of columns
  std::vector<std::string> names;  ///< of the columns, with a header
};

/// Reads past empty lines and "#" comments at the top, then looks at the next lines. `ahead` receives the lines of data
/// that were read on the way. Throws bad_data when there is no row of data.
text_layout detect_layout(line_reader& lines, std::vector<numbered_line>& ahead);

struct text_field {
  std::string text;  ///< without quotes and without spaces around it
  bool quoted = false;
};

/// All fields of a line. Throws bad_data when a quote is not closed.
std::vector<text_field> split_fields(const std::string& name, const numbered_line& line, char delimiter);

enum class number_status { ok, malformed, not_finite, too_large };

/// Reads the number at the start of [begin, end) and sets `stop` behind it.
number_status parse_number(const char* begin, const char* end, double& value, const char*& stop);

/// `text` without the spaces and tabs around it.
std::string_view trimmed(std::string_view text);

/// True for a word that stands for a missing value, such as NA, null or ?.
bool means_missing(std::string_view field);

/// True for a line of nothing but white space.
bool is_blank(std::string_view line);

}  // namespace shoal
