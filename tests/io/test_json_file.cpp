// JSON files: exact numbers, and the place of every fault.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include <shoal/io/json_file.hpp>

#include "files.hpp"

namespace {

using namespace testing_files;
using shoal::bad_argument;
using shoal::bad_data;
using shoal::json_file;
using numbers = std::vector<double>;

void refuse(const std::string& text, const auto& work, const std::vector<std::string>& parts) {
  std::vector<std::string> all = {"m.json: "};
  all.insert(all.end(), parts.begin(), parts.end());
  expect_refusal<bad_data>(
      [&] {
        const json_file file = json_file::parse("m.json", text);
        work(file.root());
      },
      all);
}

const auto nothing = [](const shoal::json_element&) {};

TEST(JsonFile, RefusesWhatIsNotJsonWithItsByte) {
  refuse("", nothing, {"empty"});
  refuse("{\"a\": 1,}", nothing, {"byte 8", "not valid JSON"});
  refuse("{\"a\": nan}", nothing, {"byte 7"});
  refuse("[1, 2", nothing, {"byte 5", "end of input"});
  refuse("[1] tail", nothing, {"byte 5"});
  refuse("[1e999]", nothing, {"not valid JSON", "1e999"});
  refuse("\"\xff\xfe\"", nothing, {"byte 1"});
  refuse("\"a\nb\"", nothing, {"control character"});
  refuse("\x1f\x8b\x08", nothing, {"byte 0"});
  refuse(std::string(100000, '['), nothing, {"byte 64", "nested more than 64 deep"});
  refuse("{\"x\": " + std::string(100, '[') + std::string(100, ']') + "}", nothing, {"byte 69", "nested"});
  EXPECT_NO_THROW(json_file::parse("m.json", "[\"" + std::string(1000, '[') + "\\\"[[[\"]"));
}

TEST(JsonFile, NamesTheElementThatIsWrong) {
  const std::string text =
      R"({"means": [[1, 2], [3, null]], "k": 2.5, "n": -1, "s": "x\u0001", "b": 1, "deep": {"list": [1, "a"]}})";
  refuse(text,
         [](auto root) {
           root.member("means").numbers({2, 2});
         },
         {"means[1][1]: expected a finite number, got null"});
  refuse(text,
         [](auto root) {
           root.member("means").numbers({3, 2});
         },
         {"means: expected an array of 3, got an array of 2"});
  refuse(text, [](auto root) { root.member("means").numbers({2, 3}); }, {"means[0]: expected an array of 3"});
  refuse(text, [](auto root) { root.member("means").numbers({2}); },
         {"means[0]: expected a finite number, got an array of 2"});
  refuse(text, [](auto root) { root.member("k").numbers({2}); }, {"k: expected an array of 2, got 2.5"});
  refuse(text, [](auto root) { root.member("k").integer(0, 9); }, {"k: expected an integer from 0 to 9, got 2.5"});
  refuse(text, [](auto root) { root.member("n").integer(0, 9); }, {"n: expected an integer from 0 to 9, got -1"});
  refuse(text, [](auto root) { root.member("b").boolean(); }, {"b: expected true or false, got 1"});
  refuse(text, [](auto root) { root.member("s").finite_number(); }, {"s: expected a finite number, got \"x\\u0001\""});
  refuse(text, [](auto root) { root.member("b").text(); }, {"b: expected a string, got 1"});
  refuse(text, [](auto root) { root.member("deep").member("list").texts(2); },
         {"deep.list[0]: expected a string, got 1"});
  refuse(text, [](auto root) { root.member("deep").member("list").texts(3); },
         {"deep.list: expected an array of 3 strings"});
  refuse(text, [](auto root) { root.member("absent"); }, {"the member \"absent\" is missing"});
  refuse(text, [](auto root) { root.member("deep").member("x"); }, {"deep: the member \"x\" is missing"});
  refuse(text, [](auto root) { root.member("means").member("x"); }, {"means: expected an object, got an array of 2"});
  refuse(text, [](auto root) { root.member("deep").array_size(); }, {"deep: expected an array, got an object"});
  refuse(text, [](auto root) { root.member("means").at(2); }, {"means: expected an element 2"});
  refuse("[1]", [](auto root) { root.member("x"); }, {"expected an object, got an array of 1"});
  refuse("{\"k\": 18446744073709551616}", [](auto root) { root.member("k").integer(0, ~0ull); },
         {"k: expected an integer"});
}

TEST(JsonFile, RefusesAnotherFormatAndUnknownVersions) {
  const auto check = [](const std::string& text) {
    return json_file::parse("m.json", text).require_format("shoal/gmm", 2);
  };
  EXPECT_EQ(check(R"({"format": "shoal/gmm", "version": 2})"), 2u);
  EXPECT_EQ(check(R"({"format": "shoal/gmm", "version": 1})"), 1u);
  expect_refusal<bad_data>([&] { check(R"({"format": "shoal/kmeans", "version": 1})"); },
                           {"format: expected \"shoal/gmm\", got \"shoal/kmeans\""});
  expect_refusal<bad_data>([&] { check(R"({"format": "shoal/gmm", "version": 3})"); },
                           {"version 3 is unknown", "up to 2"});
  expect_refusal<bad_data>([&] { check(R"({"format": "shoal/gmm", "version": 0})"); }, {"version 0 is unknown"});
  expect_refusal<bad_data>([&] { check(R"({"format": "shoal/gmm", "version": "1"})"); },
                           {"version: expected an integer"});
  expect_refusal<bad_data>([&] { check(R"({"format": "shoal/gmm"})"); }, {"\"version\" is missing"});
  expect_refusal<bad_data>([&] { check(R"({})"); }, {"\"format\" is missing"});
  expect_refusal<bad_data>([&] { check("[]"); }, {"expected an object"});
}

TEST(JsonFile, BoundsTheSizeOfFiles) {
  const folder place;
  const std::string path = place.write("m.json", "[1, 2, 3]");
  EXPECT_EQ(json_file::read(path, 9).root().numbers({3}), (numbers{1, 2, 3}));
  expect_refusal<bad_data>([&] { json_file::read(path, 8); }, {path, "larger than the 8 bytes"});
  expect_refusal<shoal::io_error>([&] { json_file::read(place.path("none")); }, {"cannot open"});
}

// What memory a document may take follows from its length: 200 MB of small values took 3.2 GiB.
TEST(JsonFile, BoundsWhatIsBuiltOfIt) {
  const auto list = [](const std::string& value, std::size_t count) {
    std::string text = "[" + value;
    for (std::size_t i = 1; i < count; ++i) text += "," + value;
    return text + "]";
  };
  constexpr std::size_t many = (1 << 20) + 100;
  for (const char* value : {"[]", "{}", "null", "\"\""}) {
    expect_refusal<bad_data>([&] { json_file::parse("m.json", list(value, many)); },
                             {"m.json: more than 1048576 values that are not in lists of numbers"});
  }
  // A list that turns out to hold other things counts as those.
  expect_refusal<bad_data>([&] { json_file::parse("m.json", list("1", many).replace(2 * many, 1, ",null]")); },
                           {"more than 1048576 values"});
  // Numbers take the memory of the parameters that they are.
  EXPECT_EQ(json_file::parse("m.json", list("1", many)).root().numbers({many}), numbers(many, 1.0));
  EXPECT_EQ(json_file::parse("m.json", list("[1,0.25,-1]", 300'000)).root().numbers({300'000, 3}).size(), 900'000u);
  EXPECT_EQ(json_file::parse("m.json", list("\"a name of some length\"", many)).root().array_size(), many);
  std::string members = "{\"m\": 1";
  for (int i = 0; i < 1024; ++i) members += fmt::format(", \"m{}\": 1", i);
  expect_refusal<bad_data>([&] { json_file::parse("m.json", members + "}"); }, {"more than 1024 members"});
}

TEST(JsonFile, HoldsListsOfNumbersAndOfOtherThings) {
  const json_file file = json_file::parse("m.json", R"({"a": [1, [2, 3], 4.5], "b": [], "c": [-1], "c": [7, true]})");
  EXPECT_EQ(file.root().member("a").at(0).finite_number(), 1);
  EXPECT_EQ(file.root().member("a").at(1).numbers({2}), (numbers{2, 3}));
  EXPECT_EQ(file.root().member("a").at(2).finite_number(), 4.5);
  EXPECT_EQ(file.root().member("b").array_size(), 0u);
  EXPECT_EQ(file.root().member("c").at(0).finite_number(), 7) << "of two members with one name the last counts";
  EXPECT_TRUE(file.root().member("c").at(1).boolean());
}

TEST(JsonWriter, KeepsEveryBitOfEveryDouble) {
  numbers values = {0.0,
                    -0.0,
                    0.1,
                    1.0 / 3,
                    1e22,
                    1e23,
                    123456789012345678.0,
                    5e-324,
                    -2.2250738585072011e-308,
                    std::numeric_limits<double>::max(),
                    std::numeric_limits<double>::lowest(),
                    9007199254740993.0,
                    1e17,
                    18446744073709551615.0,
                    36893488147419103232.0};
  std::uint64_t state = 7;
  while (values.size() < 20000) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double value = std::bit_cast<double>(state);
    if (std::isfinite(value)) values.push_back(value);
  }
  const std::size_t half = values.size() / 2;
  const std::string text = shoal::json_writer().numbers("x", values, {2, half}).number("y", -0.0).finish();
  const json_file file = json_file::parse("m.json", text);
  const numbers read = file.root().member("x").numbers({2, half});
  ASSERT_EQ(read.size(), values.size());
  EXPECT_EQ(std::memcmp(read.data(), values.data(), values.size() * sizeof(double)), 0);
  EXPECT_TRUE(std::signbit(file.root().member("y").finite_number()));
}

TEST(JsonWriter, WritesWhatReadersRead) {
  const std::string text = shoal::json_writer()
                               .text("name", "a \"quoted\"\n\xff name")
                               .texts("list", std::vector<std::string>{"x", "y"})
                               .integer("seed", ~std::uint64_t{0})
                               .boolean("done", true)
                               .json("more", R"({"z": [1]})")
                               .numbers("flat", numbers{1, 2}, {2})
                               .numbers("cube", numbers{1, 2, 3, 4}, {1, 2, 2})
                               .finish();
  const json_file file = json_file::parse("m.json", text);
  const auto root = file.root();
  EXPECT_EQ(root.member("name").text(), "a \"quoted\"\n\xEF\xBF\xBD name");
  EXPECT_EQ(root.member("list").texts(2), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(root.member("seed").integer(0, ~std::uint64_t{0}), ~std::uint64_t{0});
  EXPECT_TRUE(root.member("done").boolean());
  EXPECT_EQ(root.member("more").member("z").at(0).finite_number(), 1);
  EXPECT_EQ(root.member("cube").numbers({1, 2, 2}), (numbers{1, 2, 3, 4}));
  EXPECT_FALSE(root.optional_member("absent"));
  EXPECT_EQ(shoal::json_writer().finish(), "{}\n");
}

TEST(JsonWriter, RefusesWhatJsonCannotHold) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_refusal<bad_argument>([&] { shoal::json_writer().number("x", nan); }, {"x", "not finite"});
  expect_refusal<bad_argument>([&] { shoal::json_writer().numbers("x", numbers{1, nan}, {2}); }, {"x", "element 1"});
  expect_refusal<bad_argument>([&] { shoal::json_writer().numbers("x", numbers{1}, {2}); }, {"x", "shape"});
  expect_refusal<bad_argument>([&] { shoal::json_writer().json("x", "{"); }, {"x", "not valid JSON"});
}

}  // namespace
