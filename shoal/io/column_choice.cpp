#include <shoal/io/column_choice.hpp>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/printable.hpp>

namespace shoal {
namespace {

constexpr std::size_t names_shown = 20;

std::optional<std::size_t> parse_number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Levenshtein distance, for "did you mean".
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

class column_resolver {
 public:
  column_resolver(const std::string& name, std::size_t columns, std::span<const std::string> names)
      : name_(name), columns_(columns), names_(names) {}

  // A name comes before a number: a file may call its columns 2019, 2020.
  std::size_t resolve(const std::string& wanted) const {
    const auto found = std::find(names_.begin(), names_.end(), wanted);
    if (found != names_.end()) {
      if (std::find(found + 1, names_.end(), wanted) != names_.end()) {
        throw bad_argument(
            fmt::format("{}: several columns are named \"{}\"; choose by number, from 0", name_, printable(wanted)));
      }
      return static_cast<std::size_t>(found - names_.begin());
    }
    const auto number = parse_number(wanted);
    if (number && *number < columns_) return *number;
    throw bad_argument(
        fmt::format("{}: there is no column \"{}\"{}; {}", name_, printable(wanted), nearest(wanted), known()));
  }

  std::optional<std::pair<std::size_t, std::size_t>> range(const std::string& wanted) const {
    if (std::find(names_.begin(), names_.end(), wanted) != names_.end()) return std::nullopt;
    const std::size_t dots = wanted.find("..");
    if (dots == std::string::npos) return std::nullopt;
    const auto first = parse_number(std::string_view(wanted).substr(0, dots));
    const auto last = parse_number(std::string_view(wanted).substr(dots + 2));
    if (!first || !last) return std::nullopt;
    if (*first > *last || *last >= columns_) {
      throw bad_argument(fmt::format("{}: there is no range of columns {}; the columns are numbered 0..{}", name_,
                                     wanted, columns_ - 1));
    }
    return std::pair{*first, *last};
  }

 private:
  std::string nearest(const std::string& wanted) const {
    std::size_t least = std::max<std::size_t>(1, wanted.size() / 3) + 1;
    std::string_view best;
    if (wanted.size() > 200) return {};
    for (const std::string& candidate : names_) {
      if (candidate.size() > 200) continue;
      const std::size_t distance = edit_distance(wanted, candidate);
      if (distance < least) {
        least = distance;
        best = candidate;
      }
    }
    return best.empty() ? std::string() : fmt::format(" (did you mean \"{}\"?)", printable(best));
  }

  std::string known() const {
    if (names_.empty()) return fmt::format("the columns have no names and are numbered 0..{}", columns_ - 1);
    std::string list;
    for (std::size_t i = 0; i < std::min(names_.size(), names_shown); ++i) {
      list += fmt::format("{}{}", i == 0 ? "" : ", ", printable(names_[i]));
    }
    return fmt::format("the columns are {}{} (or 0..{})", list, names_.size() > names_shown ? ", …" : "", columns_ - 1);
  }

  const std::string& name_;
  std::size_t columns_;
  std::span<const std::string> names_;
};

}  // namespace

column_choice choose_columns(const std::string& name, std::size_t columns, std::span<const std::string> names,
                             const read_options& options) {
  const column_resolver resolver(name, columns, names);
  column_choice choice;
  if (!options.label_column.empty()) choice.label = resolver.resolve(options.label_column);
  if (options.columns.empty() && !choice.label) return choice;

  choice.all = false;
  std::vector<bool> taken(columns);
  const auto keep = [&](std::size_t column) {
    if (taken[column]) {
      const std::string called = names.empty() ? std::string() : fmt::format(" (\"{}\")", printable(names[column]));
      throw bad_argument(fmt::format("{}: column {}{} is chosen twice", name, column, called));
    }
    taken[column] = true;
    choice.kept.push_back(column);
  };
  if (options.columns.empty()) {
    for (std::size_t column = 0; column < columns; ++column) {
      if (column != choice.label) keep(column);
    }
  }
  for (const std::string& wanted : options.columns) {
    if (const auto range = resolver.range(wanted)) {
      // The label column inside a range is left out: "all of these but the label" is what the user means.
      for (std::size_t column = range->first; column <= range->second; ++column) {
        if (column != choice.label) keep(column);
      }
      continue;
    }
    const std::size_t column = resolver.resolve(wanted);
    if (column == choice.label) {
      throw bad_argument(
          fmt::format("{}: column \"{}\" cannot be both a feature and the label", name, printable(wanted)));
    }
    keep(column);
  }
  if (choice.kept.empty()) {
    throw bad_data(fmt::format("{}: no column is left for the features once the label column is taken out", name));
  }
  return choice;
}

std::vector<std::string> kept_names(const column_choice& choice, std::span<const std::string> names) {
  if (choice.all || names.empty()) return {names.begin(), names.end()};
  std::vector<std::string> kept;
  for (const std::size_t column : choice.kept) kept.push_back(names[column]);
  return kept;
}

}  // namespace shoal
