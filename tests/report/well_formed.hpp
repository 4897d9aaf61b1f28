// A small checker of XML well-formedness for what the report writes.
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::report::tests {

/// An empty string when every element is closed in order, every attribute is quoted and given once, every reference is
/// known and no bare < or & stands in text; else what is wrong, with the text around it. `html` also takes the doctype
/// and meta elements, which have no end.
class well_formed_checker {
 public:
  explicit well_formed_checker(std::string_view text, bool html = false) : text_(text), html_(html) {}

  std::string check() {
    while (at_ < text_.size()) {
      const std::string wrong = text_[at_] == '<' ? markup() : character();
      if (!wrong.empty()) return wrong + " near: " + std::string(text_.substr(at_ > 40 ? at_ - 40 : 0, 120));
    }
    if (!open_.empty()) return "<" + open_.back() + "> is not closed";
    return elements_ == 0 ? "there is no element" : "";
  }

  std::size_t elements() const { return elements_; }

 private:
  std::string character() {
    if (text_[at_] == '&') return reference();
    if (static_cast<unsigned char>(text_[at_]) < 0x20 && text_[at_] != '\n' && text_[at_] != '\t') return "control";
    if (open_.empty() && std::isspace(static_cast<unsigned char>(text_[at_])) == 0) return "text outside the root";
    ++at_;
    return {};
  }

  std::string reference() {
    for (const std::string_view known : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"})
      if (text_.substr(at_, known.size()) == known) {
        at_ += known.size();
        return {};
      }
    return "unknown reference";
  }

  std::string name() {
    std::string out;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-'))
      out += text_[at_++];
    return out;
  }

  std::string markup() {
    constexpr std::string_view doctype = "<!DOCTYPE html>";
    if (html_ && at_ == 0 && text_.starts_with(doctype)) {
      at_ = doctype.size();
      return {};
    }
    ++at_;
    if (at_ < text_.size() && text_[at_] == '/') return end_tag();
    const std::string element = name();
    if (element.empty()) return "a bare <";
    if (open_.empty() && elements_ > 0) return "a second root";
    ++elements_;
    std::set<std::string> seen;
    for (;;) {
      const bool space = skip_space();
      if (at_ >= text_.size()) return "the text ends in a tag";
      if (text_[at_] == '>') {
        ++at_;
        if (!(html_ && element == "meta")) open_.push_back(element);
        return {};
      }
      if (text_.substr(at_, 2) == "/>") {
        at_ += 2;
        return {};
      }
      const std::string attribute = name();
      if (attribute.empty() || !space) return "a broken attribute";
      if (!seen.insert(attribute).second) return "the attribute " + attribute + " twice";
      if (text_.substr(at_, 2) != "=\"") return "an attribute without a quoted value";
      for (at_ += 2; at_ < text_.size() && text_[at_] != '"';) {
        if (text_[at_] == '<') return "a < in an attribute";
        const std::string wrong = text_[at_] == '&' ? reference() : (++at_, "");
        if (!wrong.empty()) return wrong;
      }
      ++at_;
    }
  }

  std::string end_tag() {
    ++at_;
    const std::string element = name();
    if (open_.empty() || open_.back() != element) return "</" + element + "> closes nothing";
    if (at_ >= text_.size() || text_[at_] != '>') return "a broken end tag";
    ++at_;
    open_.pop_back();
    return {};
  }

  bool skip_space() {
    const std::size_t before = at_;
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ > before;
  }

  std::string_view text_;
  bool html_;
  std::size_t at_ = 0;
  std::size_t elements_ = 0;
  std::vector<std::string> open_;
};

inline std::string well_formed(std::string_view text, bool html = false) {
  return well_formed_checker(text, html).check();
}

/// How often `part` stands in `text`.
inline std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

}  // namespace shoal::report::tests
