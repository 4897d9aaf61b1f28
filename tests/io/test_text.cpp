// Text files: layouts, headers, labels, numbers, spilling to disk, and every refusal.
#include <fmt/format.h>

#include <sys/stat.h>
#include <cmath>
#include <thread>

#include "files.hpp"

namespace {

using namespace testing_files;
using shoal::bad_argument;
using shoal::bad_data;
using strings = std::vector<std::string>;
using numbers = std::vector<double>;

shoal::opened_rows<double> open_text(const folder& place, std::string_view text,
                                     const shoal::read_options& options = {}) {
  return shoal::open_rows<double>(place.write("t.csv", text), options);
}

numbers values_of(std::string_view text, std::size_t columns) {
  const folder place;
  const auto opened = open_text(place, text);
  EXPECT_EQ(opened.rows->columns(), columns) << text;
  return all_values(*opened.rows);
}

strings names_of(std::string_view text) {
  const folder place;
  return open_text(place, text).column_names;
}

void refuse(std::string_view text, const strings& parts, const shoal::read_options& options = {}) {
  const folder place;
  strings all = {place.path("t.csv") + ": "};
  all.insert(all.end(), parts.begin(), parts.end());
  expect_refusal<bad_data>([&] { open_text(place, text, options); }, all);
}

TEST(Text, FindsTheDelimiter) {
  const numbers expected = {1, 2.5, -3, 4e5, 0.5, 6};
  EXPECT_EQ(values_of("1,2.5,-3\n4e5,.5,6\n", 3), expected);
  EXPECT_EQ(values_of("1\t2.5\t-3\n4e5\t.5\t6\n", 3), expected);
  EXPECT_EQ(values_of("1;2.5;-3\n4e5;.5;6\n", 3), expected);
  EXPECT_EQ(values_of("1 2.5 -3\n4e5 .5 6\n", 3), expected);
  EXPECT_EQ(values_of("  1   2.5 -3  \n\t4e5 .5\t 6", 3), expected);
  EXPECT_EQ(values_of("1 , 2.5 ,-3 \n 4e5,.5 , 6\n", 3), expected);
  EXPECT_EQ(values_of("1\t 2.5\t-3\n4e5 \t.5\t6\n", 3), expected);
  EXPECT_EQ(values_of("7\n8\n9\n", 1), (numbers{7, 8, 9}));
}

TEST(Text, PrefersTheDelimiterThatEveryLineHasEquallyOften) {
  EXPECT_EQ(names_of("a, b;c\n1;2\n3;4\n"), (strings{"a, b", "c"}));
  EXPECT_EQ(names_of("a\tb, c\n1\t2\n"), (strings{"a", "b, c"}));
  EXPECT_EQ(names_of("\"a;x\",b\n1,2\n"), (strings{"a;x", "b"}));
}

TEST(Text, ReadsHeadersWithAndWithoutQuotes) {
  EXPECT_EQ(names_of("eruptions,waiting\n3.6,79\n"), (strings{"eruptions", "waiting"}));
  EXPECT_EQ(names_of(" \"a, \"\"b\"\"\" , c \n3.6,79\n"), (strings{"a, \"b\"", "c"}));
  EXPECT_EQ(names_of("\xEF\xBB\xBFx,y\r\n1,2\r\n"), (strings{"x", "y"}));
  EXPECT_EQ(names_of("x y\n1 2\n"), (strings{"x", "y"}));
  EXPECT_EQ(names_of("id,\"2019\",\"2020\"\n1,5,6\n"), (strings{"id", "2019", "2020"}));
  EXPECT_EQ(names_of("\"NA\",b\n1,5\n"), (strings{"NA", "b"}));
  EXPECT_EQ(names_of("\"2019\",\"2020\"\n5,6\n"), (strings{"2019", "2020"}));
  EXPECT_EQ(names_of(",a,b\n0,5,6\n"), (strings{"", "a", "b"}));
  EXPECT_TRUE(names_of("1,2\n3,4\n").empty());
  EXPECT_EQ(values_of("\"1\",\"2\"\n\"3\",\"4\"\n", 2), (numbers{1, 2, 3, 4}));
  EXPECT_EQ(values_of("a,b\n\"1\",2\n3,\" 4 \"\n", 2), (numbers{1, 2, 3, 4}));
}

// A row that went wrong must not vanish as a header.
TEST(Text, RefusesAFirstRowThatMixesWordsWithNumbersOrMissingValues) {
  refuse("NA,1.0,2.0\n1,2,3\n4,5,6\n", {"line 1, column 0", "\"NA\" is not a number", "missing values are not read"});
  refuse("1.0,NA,2.0\n1,2,3\n", {"line 1, column 1", "\"NA\"", "missing values"});
  refuse("\n# made\n1.0 x 2.0\n1 2 3\n", {"line 3, column 1", "\"x\" is not a number", "names", "quotes"});
  refuse("id,2019,2020\n1,5,6\n", {"line 1, column 0", "\"id\" is not a number", "quotes"});
  for (const std::string word : {"NA", "n/a", "NaN", "null", "None", "<NA>", "missing", "?", "-", "."}) {
    refuse(word + ",b,c\n1,2,3\n", {"line 1, column 0", "\"" + word + "\" is not a "});
    refuse("a,b," + word + "\n1,2,3\n", {"line 1, column 0", "\"a\" is not a number", "missing values in quotes"});
  }
  refuse("\"NA\",\"x\"\n\"1\",\"2\"\n", {"line 1, column 0", "\"NA\" is not a number"});
  refuse(",1.0,2.0\n1,2,3\n", {"line 1, column 0", "empty"});
}

TEST(Text, SkipsCommentsAndEmptyLinesAtTheTopAndEmptyLinesAtTheEnd) {
  EXPECT_EQ(values_of("# made by hand\n\n  # 2 columns\n1 2\n3 4\n\n \t\n\r\n", 2), (numbers{1, 2, 3, 4}));
  EXPECT_EQ(values_of("#x\r\n1,2\r\n3,4\r\n", 2), (numbers{1, 2, 3, 4}));
}

TEST(Text, ReadsNumbersExactly) {
  EXPECT_EQ(values_of("+1e5,+.5,-0,1E-3,5.,0.1\n", 6), (numbers{1e5, 0.5, -0.0, 1e-3, 5, 0.1}));
  EXPECT_EQ(values_of("123456789012345678901234567890 1e-400 -1e-500 4.9406564584124654e-324\n", 4),
            (numbers{123456789012345678901234567890.0, 0, -0.0, 4.9406564584124654e-324}));
  const std::string zeros(400, '0');
  EXPECT_EQ(values_of("3e-324 2e-324 0." + zeros + "12 12" + zeros + "e-401 0e999 1e-99999999999999999999\n", 6),
            (numbers{4.9406564584124654e-324, 0, 0, 1.2, 0, 0}));
  std::string text;
  numbers expected;
  std::uint64_t state = 1;
  for (int i = 0; i < 3000; ++i) {
    double value = 0;
    do {
      state = state * 6364136223846793005u + 1442695040888963407u;
      std::memcpy(&value, &state, sizeof value);
    } while (!std::isfinite(value));
    expected.push_back(value);
    text += fmt::format("{:.17g}\n", value);
  }
  EXPECT_EQ(values_of(text, 1), expected);
}

TEST(Text, RefusesFieldsThatAreNoFiniteNumbers) {
  refuse("a,b\n1,2\n3,x4\n", {"line 3", "column 1 (\"b\")", "\"x4\" is not a number"});
  refuse("1,2\n3,4y\n", {"line 2", "column 1 (counted from 0)", "\"4y\""});
  refuse("1,2\n3,\n", {"line 2", "column 1", "empty", "missing"});
  refuse("1,2\n,4\n", {"line 2", "column 0", "empty"});
  refuse("1,2\nnan,4\n", {"line 2", "column 0", "\"nan\" is not a finite number"});
  refuse("1,2\n3,-Infinity\n", {"line 2", "column 1", "\"-Infinity\" is not a finite"});
  refuse("inf 1\n2 3\n", {"line 1", "column 0", "\"inf\""});
  refuse("1,2\n3,1e999\n", {"line 2", "\"1e999\" is too large for float64"});
  refuse("1,2\n3,0x10\n", {"\"0x10\" is not a number"});
  refuse("1,2\n3,++4\n", {"\"++4\" is not a number"});
  refuse("1,2\n3,+-4\n", {"\"+-4\" is not a number"});
  refuse("1,2\n3,+\n", {"\"+\" is not a number"});
  refuse("1,2\n3,NA\n", {"\"NA\" is not a number"});
  refuse("1;2\n3;4,5\n", {"\"4,5\" is not a number"});
  refuse("1 2\n3 4 # note\n", {"line 2 has 4 fields, expected 2 as on line 1"});
  refuse(std::string("1,2\n3,\0004\n", 9), {"line 2", "\\x00"});
  refuse("1,2\n3,\xff\xfe\x01\n", {"line 2", "\\xFF\\xFE\\x01"});
  refuse("1,2\n3," + std::string(100000, 'z') + "\n", {"line 2", "zzz…\""});
  refuse("1,2\n3,\"4\n", {"line 2, field 2", "quote is not closed"});
  refuse("a\xff,b\n1,2\n3,q\n4,5\n", {"column 1 (\"b\")"});
}

TEST(Text, RefusesValuesThatFloat32CannotHold) {
  const folder place;
  const std::string path = place.write("t.csv", "1,2\n3,1e39\n");
  expect_refusal<bad_data>([&] { shoal::open_rows<float>(path); }, {"line 2, column 1", "too large for float32"});
  EXPECT_EQ(all_values(*shoal::open_rows<double>(path).rows)[3], 1e39);
}

TEST(Text, RefusesRaggedRows) {
  refuse("a,b,c\n1,2,3\n4,5\n", {"line 3 has 2 fields, expected 3 as on line 1"});
  refuse("1,2\n3,4,5\n", {"line 2 has 3 fields, expected 2 as on line 1"});
  refuse("# top\n\n1 2\n3\n", {"line 4 has 1 field, expected 2 as on line 3"});
  refuse("1,2\n\n3,4\n", {"line 2 is empty", "line 3"});
  refuse("a,b\n\n\n1,2\n", {"line 1"});
}

TEST(Text, RefusesFilesWithoutRows) {
  refuse("", {"empty (0 bytes)"});
  refuse("\n\n", {"no row"});
  refuse("# only\n# comments\n", {"no row"});
  refuse("a,b\n", {"only a header", "a,b"});
  refuse("a,b\n\n\n", {"only a header"});
}

TEST(Text, RefusesOtherFormatsByName) {
  refuse(std::string("PK\x03\x04zzzz", 8), {"byte 0", "zip", ".npz"});
  refuse(std::string("\xFF\xFE"
                     "1\0,\0",
                     6),
         {"UTF-16"});
  refuse(std::string("\x28\xB5\x2F\xFDzz", 6), {"zstd"});
  refuse("BZh91AY", {"bzip2"});
  refuse(std::string("\x89HDF\r\n\x1a\n", 8), {"HDF5"});
  refuse("PAR1xxxx", {"Parquet"});
}

TEST(Text, RefusesALineWithoutEnd) {
  std::string text = "1,2\n";
  text += std::string((std::size_t{16} << 20) + 100, '3');
  refuse(text, {"line 2", "longer than 16777216 bytes"});
}

TEST(Text, ReadsLinesLongerThanTheBuffer) {
  std::string text;
  numbers expected;
  for (int row = 0; row < 3; ++row) {
    for (int i = 0; i < 100000; ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : ",", row * i);
      expected.push_back(row * i);
    }
    text += '\n';
  }
  EXPECT_EQ(values_of(text, 100000), expected);
}

TEST(Text, SplitsOffALabelColumn) {
  const folder place;
  const std::string text = "x,species,y\n1,setosa,2\n3,\"virginica, blue\",4\n5,setosa,6\n7, setosa ,8\n9,,10\n";
  for (const std::string label : {"species", "1"}) {
    shoal::read_options options;
    options.label_column = label;
    const auto opened = open_text(place, text, options);
    EXPECT_EQ(opened.column_names, (strings{"x", "y"}));
    EXPECT_EQ(all_values(*opened.rows), (numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    EXPECT_EQ(opened.label_names, (strings{"setosa", "virginica, blue", ""}));
    EXPECT_EQ(opened.labels, (std::vector<std::int32_t>{0, 1, 0, 0, 2}));
  }
  // Without a header, words in the same column of the first two lines are labels, not names.
  shoal::read_options last;
  last.label_column = "2";
  const auto bare = open_text(place, "1,2,a\n3,4,b\n5,6,a", last);
  EXPECT_TRUE(bare.column_names.empty());
  EXPECT_EQ(bare.rows->rows(), 3u);
  EXPECT_EQ(bare.labels, (std::vector<std::int32_t>{0, 1, 0}));
  const auto spaced = open_text(place, "1 2 a\n3 4 b\n5 6 a\n", last);
  EXPECT_EQ(all_values(*spaced.rows), (numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(spaced.label_names, (strings{"a", "b"}));
}

TEST(Text, ChoosesColumns) {
  const folder place;
  const std::string text = "a,b,c,d,\"7\"\n0,1,2,3,4\n10,11,12,13,14\n";
  const auto chosen = [&](const strings& columns, const std::string& label = "") {
    shoal::read_options options;
    options.columns = columns;
    options.label_column = label;
    const auto opened = open_text(place, text, options);
    const numbers all = all_values(*opened.rows);
    return std::pair(opened.column_names,
                     numbers(all.begin(), all.begin() + static_cast<long>(opened.rows->columns())));
  };
  EXPECT_EQ(chosen({"c", "a"}), std::pair(strings{"c", "a"}, numbers{2, 0}));
  EXPECT_EQ(chosen({"1..3"}), std::pair(strings{"b", "c", "d"}, numbers{1, 2, 3}));
  EXPECT_EQ(chosen({"3", "0..1"}), std::pair(strings{"d", "a", "b"}, numbers{3, 0, 1}));
  EXPECT_EQ(chosen({"7"}), std::pair(strings{"7"}, numbers{4}));
  EXPECT_EQ(chosen({"0..3"}, "c"), std::pair(strings{"a", "b", "d"}, numbers{0, 1, 3}));

  const auto refuse_columns = [&](const strings& columns, const std::string& label, const strings& parts) {
    shoal::read_options options;
    options.columns = columns;
    options.label_column = label;
    expect_refusal<bad_argument>([&] { open_text(place, text, options); }, parts);
  };
  refuse_columns({"e"}, "", {"no column \"e\"", "the columns are a, b, c, d, 7 (or 0..4)"});
  refuse_columns({"a", "0"}, "", {"column 0 (\"a\") is chosen twice"});
  refuse_columns({"0..2", "c"}, "", {"column 2 (\"c\") is chosen twice"});
  refuse_columns({"5"}, "", {"no column \"5\""});
  refuse_columns({"2..5"}, "", {"range of columns 2..5", "0..4"});
  refuse_columns({"3..2"}, "", {"range of columns 3..2"});
  refuse_columns({"-1"}, "", {"no column \"-1\""});
  refuse_columns({"a\n\xff"}, "", {"no column \"a\\n\\xFF\""});
  refuse_columns({"a"}, "zz", {"no column \"zz\""});
  refuse_columns({"a", "b"}, "b", {"\"b\" cannot be both"});

  shoal::read_options only;
  only.label_column = "0";
  expect_refusal<bad_data>([&] { open_text(place, "1\n2\n", only); }, {"no column is left"});
  shoal::read_options near;
  near.columns = {"waitin"};
  expect_refusal<bad_argument>([&] { open_text(place, "eruptions,waiting\n1,2\n", near); },
                               {"did you mean \"waiting\"?"});
  shoal::read_options twice;
  twice.columns = {"x"};
  expect_refusal<bad_argument>([&] { open_text(place, "x,x\n1,2\n", twice); }, {"several columns are named \"x\""});
  expect_refusal<bad_argument>([&] { open_text(place, "1,2\n3,4\n", twice); }, {"no names", "0..1"});
}

TEST(Text, IgnoresWhatItDoesNotKeep) {
  const folder place;
  shoal::read_options options;
  options.columns = {"x", "y"};
  const auto opened = open_text(place, "x,when,y\n1,2026-01-01,2\n3,\"yesterday, noon\",4\n5,,6\n", options);
  EXPECT_EQ(all_values(*opened.rows), (numbers{1, 2, 3, 4, 5, 6}));
}

TEST(Text, SpillsToDiskAboveTheMemoryLimit) {
  const folder place;
  std::string text = "a,b,c\n";
  for (int i = 0; i < 200000; ++i) text += fmt::format("{},{},{}\n", i, 0.5 * i, -i);
  const std::string path = place.write("t.csv", text);
  const std::size_t bytes = 200000 * 3 * sizeof(float);
  const auto whole = shoal::open_rows<float>(path);
  EXPECT_TRUE(whole.rows->resident());
  const auto expected = all_values(*whole.rows);
  for (const std::size_t limit : {std::size_t{1}, std::size_t{100000}, bytes / 2, bytes - 1, bytes}) {
    shoal::read_options options;
    options.memory_limit = limit;
    const auto opened = shoal::open_rows<float>(path, options);
    EXPECT_EQ(opened.rows->resident(), limit >= bytes) << limit;
    EXPECT_EQ(opened.rows->rows(), 200000u);
    EXPECT_TRUE(all_values(*opened.rows, 999) == expected) << limit;
  }
  EXPECT_EQ(place.entries(), 1u);
}

class environment {
 public:
  environment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~environment() { old_.empty() ? ::unsetenv(name_) : ::setenv(name_, old_.c_str(), 1); }

 private:
  const char* name_;
  std::string old_;
};

TEST(Text, NamesTheFolderThatCannotTakeTheSpill) {
  const folder place;
  const std::string path = place.write("t.csv", "1,2\n3,4\n");
  shoal::read_options options;
  options.memory_limit = 1;
  const environment nowhere("TMPDIR", place.path("absent"));
  expect_refusal<shoal::io_error>([&] { shoal::open_rows<float>(path, options); },
                                  {place.path("absent"), "temporary file", "TMPDIR"});
}

TEST(Text, ReadsFromAPipe) {
  const folder place;
  const std::string path = place.path("pipe");
  const auto through_pipe = [&](const std::string& contents, const shoal::read_options& options = {}) {
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::thread writer([&] { place.write("pipe", contents); });
    const auto opened = shoal::open_rows<double>(path, options);
    writer.join();
    EXPECT_EQ(all_values(*opened.rows), (numbers{1, 2, 3, 4}));
    std::filesystem::remove(path);
  };
  through_pipe("x y\n1 2\n3 4\n");
  through_pipe(npy(dictionary("<f4", "(2, 2)"), bytes_of(std::vector<float>{1, 2, 3, 4})));
  shoal::read_options options;
  options.memory_limit = 1;
  through_pipe("x y\n1 2\n3 4\n", options);
  through_pipe(npy(dictionary("<f4", "(2, 2)", true), bytes_of(std::vector<float>{1, 3, 2, 4})), options);
}

TEST(Text, ReadsStandardInput) {
  const folder place;
  const auto with_input = [&](const std::string& contents, const auto& work) {
    const std::string path = place.write("in", contents);
    const int kept = ::dup(0);
    ASSERT_NE(std::freopen(path.c_str(), "rb", stdin), nullptr);
    work();
    ::dup2(kept, 0);
    ::close(kept);
  };
  with_input("1,2\n3,4\n", [] {
    shoal::data_file file("-");
    EXPECT_EQ(file.natural_scalar(), shoal::scalar::float64);
    EXPECT_EQ(all_values(*file.read<double>().rows), (numbers{1, 2, 3, 4}));
  });
  with_input(npy(dictionary("<i2", "(2, 1)"), bytes_of(std::vector<std::int16_t>{5, 6})), [] {
    EXPECT_EQ(all_values(*shoal::open_rows<double>("-").rows), (numbers{5, 6}));
  });
  with_input("1,2\nx,4\n", [] {
    expect_refusal<bad_data>([] { shoal::open_rows<double>("-"); }, {"standard input: line 2, column 0"});
  });
}

// Each file is opened once: a second opening of a FIFO would wait for another writer for ever.
TEST(Files, ThatAreFifosAreOpenedOnce) {
  const folder place;
  const auto through_fifo = [&](const std::string& name, const std::string& contents, const auto& work) {
    const std::string path = place.path(name);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::jthread writer([&] { std::ofstream(path, std::ios::binary) << contents; });
    shoal::data_file file(path);
    work(file);
  };
  through_fifo("text", "a,b\n1,2\n3,4\n", [](shoal::data_file& file) {
    EXPECT_EQ(file.natural_scalar(), shoal::scalar::float64);
    EXPECT_EQ(file.describe_start().column_names, (strings{"a", "b"}));
    EXPECT_EQ(all_values(*file.read<double>().rows), (numbers{1, 2, 3, 4}));
  });
  through_fifo("npy", npy(dictionary("<f4", "(2, 2)"), bytes_of(std::vector<float>{1, 2, 3, 4})),
               [](shoal::data_file& file) {
                 EXPECT_EQ(file.natural_scalar(), shoal::scalar::float32);
                 EXPECT_EQ(file.describe_start().rows, 2u);
                 EXPECT_EQ(all_values(*file.read<float>().rows), (std::vector<float>{1, 2, 3, 4}));
               });
}

TEST(Text, RefusesAFileThatGrowsWhileItIsRead) {
  const folder place;
  const std::string path = place.write("t.csv", "1,2\n3,4\n");
  shoal::data_file file(path);
  std::ofstream(path, std::ios::app) << "5,6.2";
  expect_refusal<shoal::io_error>([&] { file.read<double>(); }, {path, "changed while it was read"});
}

TEST(Text, IsDescribedWithoutBeingAllNumbers) {
  const folder place;
  const auto description = shoal::describe_file(place.write("t.csv", "name,x\nanna,1\nbert,2\ncarl,\n\n"));
  EXPECT_EQ(description.format, "text");
  EXPECT_EQ(description.rows, 3u);
  EXPECT_EQ(description.columns, 2u);
  EXPECT_TRUE(description.header);
  EXPECT_FALSE(description.compressed);
  EXPECT_EQ(description.column_names, (strings{"name", "x"}));
  expect_refusal<bad_data>([&] { shoal::describe_file(place.write("r.csv", "1,2\n3\n")); }, {"line 2 has 1 field"});
}

}  // namespace
