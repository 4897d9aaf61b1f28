#include <shoal/io/text_source.hpp>

#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/column_choice.hpp>
#include <shoal/io/label_list.hpp>
#include <shoal/io/printable.hpp>
#include <shoal/io/row_store.hpp>
#include <shoal/io/text_layout.hpp>

namespace shoal {
namespace {

constexpr std::size_t skipped = static_cast<std::size_t>(-1);
constexpr std::size_t labelled = static_cast<std::size_t>(-2);

// Calls row(numbered line as view, number) for each line of data and refuses empty lines between them.
template <class Row>
void for_each_row(line_reader& lines, const std::vector<numbered_line>& ahead, const Row& row) {
  std::size_t blank = 0;
  const auto visit = [&](std::string_view line, std::size_t number) {
    if (is_blank(line)) {
      if (blank == 0) blank = number;
      return;
    }
    if (blank != 0) {
      throw bad_data(
          fmt::format("{}: line {} is empty, but rows follow on line {}; remove it", lines.name(), blank, number));
    }
    row(line, number);
  };
  for (const numbered_line& line : ahead) visit(line.text, line.number);
  std::string_view line;
  while (lines.next(line)) visit(line, lines.number());
}

[[noreturn]] void fail_ragged(const std::string& name, const text_layout& layout, std::size_t number,
                              std::size_t fields) {
  throw bad_data(fmt::format("{}: line {} has {} field{}, expected {} as on line {}", name, number, fields,
                             fields == 1 ? "" : "s", layout.columns, layout.first_line));
}

// Turns the fields of lines into scalars.
template <class Scalar>
class row_parser {
 public:
  row_parser(const std::string& name, const text_layout& layout, const column_choice& choice, bool infinite_values,
             label_list& labels)
      : name_(name),
        layout_(layout),
        infinite_values_(infinite_values),
        labels_(labels),
        place_(layout.columns, skipped) {
    for (std::size_t column = 0; column < layout.columns; ++column) {
      if (choice.all) place_[column] = column;
    }
    for (std::size_t j = 0; j < choice.kept.size(); ++j) place_[choice.kept[j]] = j;
    if (choice.label) place_[*choice.label] = labelled;
  }

  void parse(std::string_view line, std::size_t number, Scalar* out) {
    const bool done = layout_.delimiter == ' ' ? parse_plain<true>(line, out) : parse_plain<false>(line, out);
    if (!done) parse_with_care(line, number, out);
  }

 private:
  // The quick way through a line without quotes and without faults. False as soon as something is unusual: then the
  // careful way reads the whole line again, and finds out what to say.
  template <bool white_space>
  bool parse_plain(std::string_view line, Scalar* out) {
    const char delimiter = layout_.delimiter;
    const char* at = line.data();
    std::string_view label;
    bool has_label = false;
    const char* const end = at + line.size();
    const auto skip_space = [&] {
      while (at != end && (*at == ' ' || *at == '\t') && (white_space || *at != delimiter)) ++at;
    };
    for (std::size_t column = 0; column < layout_.columns; ++column) {
      skip_space();
      if (at == end || *at == '"') return false;
      const std::size_t place = place_[column];
      if (place < labelled) {
        double value = 0;
        if (parse_number(at, end, value, at) != number_status::ok) return false;
        out[place] = static_cast<Scalar>(value);
        if (!std::isfinite(out[place])) return false;
        skip_space();
      } else {
        const char* const begin = at;
        while (at != end && !(white_space ? *at == ' ' || *at == '\t' : *at == delimiter)) ++at;
        if (place == labelled) {
          label = trimmed({begin, static_cast<std::size_t>(at - begin)});
          has_label = true;
        }
        if (white_space) skip_space();
      }
      if (column + 1 == layout_.columns) {
        if (at == end && has_label) labels_.add(label);
        return at == end;
      }
      if constexpr (white_space) {
        if (at == end || (at[-1] != ' ' && at[-1] != '\t')) return false;
      } else {
        if (at == end || *at != delimiter) return false;
        ++at;
      }
    }
    return false;
  }

  void parse_with_care(std::string_view line, std::size_t number, Scalar* out) {
    line_.text.assign(line);
    line_.number = number;
    const std::vector<text_field> fields = split_fields(name_, line_, layout_.delimiter);
    if (fields.size() != layout_.columns) fail_ragged(name_, layout_, number, fields.size());
    const std::string* label = nullptr;
    for (std::size_t column = 0; column < fields.size(); ++column) {
      if (place_[column] < labelled) out[place_[column]] = number_in(fields[column].text, number, column);
      if (place_[column] == labelled) label = &fields[column].text;
    }
    if (label != nullptr) labels_.add(*label);
  }

  Scalar number_in(std::string_view field, std::size_t number, std::size_t column) const {
    field = trimmed(field);  // spaces within quotes
    if (field.empty()) fail(number, column, "the field is empty; rows with missing values are not read");
    double value = 0;
    const char* stop = nullptr;
    const char* end = field.data() + field.size();
    const number_status status = parse_number(field.data(), end, value, stop);
    if (status == number_status::malformed || stop != end) {
      const bool first = !layout_.header && number == layout_.first_line;
      fail(number, column,
           fmt::format("\"{}\" is not a number{}", printable(field),
                       means_missing(field) ? ": rows with missing values are not read"
                       : first ? "; if this line names the columns, put numbers and words for missing values in quotes"
                               : ""));
    }
    if (status == number_status::not_finite) {
      if (infinite_values_ && std::isinf(value)) return static_cast<Scalar>(value);
      fail(number, column, fmt::format("\"{}\" is not a finite number", printable(field)));
    }
    const auto scalar = static_cast<Scalar>(value);
    if (status == number_status::too_large || !std::isfinite(scalar)) {
      fail(number, column,
           fmt::format("\"{}\" is too large for {}", printable(field),
                       std::is_same_v<Scalar, float> ? "float32; read it as float64" : "float64"));
    }
    return scalar;
  }

  [[noreturn]] void fail(std::size_t number, std::size_t column, const std::string& message) const {
    const std::string called =
        layout_.names.empty() ? std::string("counted from 0") : fmt::format("\"{}\"", printable(layout_.names[column]));
    throw bad_data(fmt::format("{}: line {}, column {} ({}): {}", name_, number, column, called, message));
  }

  const std::string& name_;
  const text_layout& layout_;
  const bool infinite_values_;
  label_list& labels_;
  std::vector<std::size_t> place_;  // of each column in a row: an index, skipped or labelled
  numbered_line line_;
};

}  // namespace

text_start::text_start(std::string path, std::unique_ptr<byte_source> bytes)
    : path_(std::move(path)),
      bytes_(std::move(bytes)),
      lines_(printable_path(path_), *bytes_),
      layout_(detect_layout(lines_, ahead_)) {}

file_description text_start::describe() const {
  file_description description;
  description.format = "text";
  description.element = "text";
  description.columns = layout_.columns;
  description.header = layout_.header;
  description.column_names = layout_.names;
  return description;
}

template <class Scalar>
opened_rows<Scalar> read_text(text_start& start, const read_options& options) {
  const text_layout& layout = start.layout_;
  const column_choice choice = choose_columns(start.lines_.name(), layout.columns, layout.names, options);
  label_list labels;
  row_parser<Scalar> parser(start.lines_.name(), layout, choice, options.infinite_values, labels);
  row_store<Scalar> store(start.path_, choice.all ? layout.columns : choice.kept.size(), options.memory_limit);
  for_each_row(start.lines_, start.ahead_, [&](std::string_view line, std::size_t number) {
    parser.parse(line, number, store.next_row());
    store.add_row();
  });
  opened_rows<Scalar> opened;
  opened.rows = store.finish();
  opened.column_names = kept_names(choice, layout.names);
  opened.label_names = std::move(labels.names);
  opened.labels = std::move(labels.labels);
  return opened;
}

template opened_rows<float> read_text<float>(text_start&, const read_options&);
template opened_rows<double> read_text<double>(text_start&, const read_options&);

file_description describe_text(text_start& start) {
  file_description description = start.describe();
  numbered_line copy;
  for_each_row(start.lines_, start.ahead_, [&](std::string_view line, std::size_t number) {
    copy.text.assign(line);
    copy.number = number;
    const std::size_t fields = split_fields(start.lines_.name(), copy, start.layout_.delimiter).size();
    if (fields != start.layout_.columns) fail_ragged(start.lines_.name(), start.layout_, number, fields);
    ++description.rows;
  });
  return description;
}

}  // namespace shoal
