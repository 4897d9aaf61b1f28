// What a terminal obeys, and what turns the direction of text, is shown and not done.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <shoal/io/printable.hpp>

namespace {

using shoal::printable;
using shoal::printable_json;

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("a\tb\nc\r\x1B[31m\x7F"), "a\\tb\\nc\\r\\x1B[31m\\x7F");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\xC2\\x9B31m");
  EXPECT_EQ(printable("\xFF\xFE"), "\\xFF\\xFE");
}

TEST(Printable, EscapesWhatTurnsTheDirectionOfText) {
  EXPECT_EQ(printable("model\u202Enosj.exe"), "model\\u202Enosj.exe");
  for (const char* turn : {"\u061C", "\u200E", "\u200F", "\u202A", "\u202B", "\u202C", "\u202D", "\u202E", "\u2066",
                           "\u2067", "\u2068", "\u2069", "\u2028", "\u2029"}) {
    EXPECT_EQ(printable(turn).substr(0, 2), "\\u") << printable(turn);
    EXPECT_EQ(shoal::misleading_bytes(turn), std::string_view(turn).size());
  }
  // Letters of every direction, and what joins them, are themselves.
  for (const char* text : {"é", "שלום", "مرحبا", "日本語", "👩\u200D🔬", "…"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(shoal::misleading_bytes(text), 0u);
  }
}

TEST(Printable, EscapesJsonWithoutChangingItsValue) {
  const nlohmann::json value = {{"a\u202Eb", "\xC2\x9B\x7F\u2028 é \u200F"}};
  const std::string shown = printable_json(value.dump());
  EXPECT_EQ(nlohmann::json::parse(shown), value);
  EXPECT_NE(shown.find("\\u202e"), std::string::npos) << shown;
  for (const char* hidden : {"\u202E", "\xC2\x9B", "\x7F", "\u2028", "\u200F"}) {
    EXPECT_EQ(shown.find(hidden), std::string::npos) << shown;
  }
  EXPECT_NE(shown.find("é"), std::string::npos);
}

}  // namespace
