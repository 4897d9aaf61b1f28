// .npy files: every element type, order and version; every refusal; memory, pieces and threads.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "files.hpp"

namespace {

using namespace testing_files;
using shoal::bad_argument;
using shoal::bad_data;
using shoal::io_error;

template <class Scalar>
std::vector<Scalar> read(const std::string& path, const shoal::read_options& options = {}) {
  return all_values(*shoal::open_rows<Scalar>(path, options).rows);
}

template <class Element>
void round_trip(const std::string& code, const std::string& name, const std::vector<Element>& values) {
  const folder place;
  const std::string shape = fmt::format("({}, 2)", values.size() / 2);
  for (const int version : {1, 2, 3}) {
    const std::string path = place.write("x.npy", npy(dictionary(code, shape), bytes_of(values), version));
    std::vector<double> expected;
    std::vector<float> expected_single;
    for (const Element value : values) {
      expected.push_back(static_cast<double>(value));
      expected_single.push_back(static_cast<float>(value));
    }
    EXPECT_EQ(read<double>(path), expected) << name;
    EXPECT_EQ(read<float>(path), expected_single) << name;
    shoal::read_options piecewise;
    piecewise.memory_limit = 1;
    EXPECT_EQ(read<double>(path, piecewise), expected) << name;
    EXPECT_EQ(read<float>(path, piecewise), expected_single) << name;

    std::vector<Element> columns;
    for (std::size_t j = 0; j < 2; ++j)
      for (std::size_t i = j; i < values.size(); i += 2) columns.push_back(values[i]);
    const std::string turned = place.write("f.npy", npy(dictionary(code, shape, true), bytes_of(columns), version));
    EXPECT_EQ(read<double>(turned), expected) << name;
    EXPECT_EQ(read<double>(turned, piecewise), expected) << name;
    const auto description = shoal::describe_file(turned);
    EXPECT_EQ(description.element, name);
    EXPECT_EQ(description.order, "Fortran");
    EXPECT_EQ(description.rows, values.size() / 2);
    EXPECT_EQ(description.columns, 2u);
    EXPECT_EQ(shoal::describe_file(path).order, "C");
  }
}

template <class Integer>
std::vector<Integer> extremes() {
  return {std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max(), 0, 1, 7, 100};
}

TEST(Npy, ReadsEveryRealElementTypeInBothOrdersAndAllVersions) {
  round_trip<std::int8_t>("|i1", "int8", extremes<std::int8_t>());
  round_trip<std::int16_t>("<i2", "int16", extremes<std::int16_t>());
  round_trip<std::int32_t>("<i4", "int32", extremes<std::int32_t>());
  round_trip<std::int64_t>("<i8", "int64", extremes<std::int64_t>());
  round_trip<std::uint8_t>("|u1", "uint8", extremes<std::uint8_t>());
  round_trip<std::uint16_t>("<u2", "uint16", extremes<std::uint16_t>());
  round_trip<std::uint32_t>("<u4", "uint32", extremes<std::uint32_t>());
  round_trip<std::uint64_t>("<u8", "uint64", extremes<std::uint64_t>());
  round_trip<float>("<f4", "float32", {0.1f, -3e38f, 1e-45f, 0.0f, 1.0f, 16777217.0f});
  round_trip<double>("<f8", "float64", {0.1, -3e38, 1e-45, 0.0, 1.0, 16777217.0});
  round_trip<std::uint8_t>("|b1", "bool", {0, 1, 1, 0, 1, 1});
}

TEST(Npy, TakesEveryNonzeroByteForTrue) {
  const folder place;
  const std::string path = place.write("b.npy", npy(dictionary("|b1", "(3,)"), std::string("\x00\x02\xff", 3)));
  EXPECT_EQ(read<double>(path), (std::vector<double>{0, 1, 1}));
}

TEST(Npy, ReadsHalfPrecisionExactly) {
  const folder place;
  // One, the largest, the smallest normal and subnormal, minus zero, a third, infinity.
  const std::vector<std::uint16_t> bits = {0x3C00, 0x7BFF, 0x0400, 0x0001, 0x8000, 0x3555, 0x7C00, 0xC000};
  const std::vector<double> expected = {
      1, 65504, 0x1p-14, 0x1p-24, -0.0, 0.333251953125, std::numeric_limits<double>::infinity(), -2};
  const std::string path = place.write("h.npy", npy(dictionary("<f2", "(8,)"), bytes_of(bits)));
  EXPECT_EQ(read<double>(path), expected);
  EXPECT_TRUE(std::signbit(read<float>(path)[4]));
  const std::vector<std::uint16_t> nan = {0x7E01, 0xFC01};
  for (const double value : read<double>(place.write("n.npy", npy(dictionary("<f2", "(2,)"), bytes_of(nan))))) {
    EXPECT_TRUE(std::isnan(value));
  }
}

TEST(Npy, HoldsRowsThatNoChangeOfTheFileReaches) {
  const folder place;
  std::vector<float> values(600);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const std::string path = place.write("x.npy", npy(dictionary("<f4", "(200, 3)"), bytes_of(values)));
  shoal::read_options run;
  run.columns = {"1..2"};
  const auto opened = shoal::open_rows<float>(path);
  const auto some = shoal::open_rows<float>(path, run);
  EXPECT_TRUE(opened.rows->resident());
  // A map would end the program by SIGBUS here.
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(all_values(*opened.rows), values);
  shoal::aligned_buffer<float> buffer;
  EXPECT_EQ(some.rows->read(5, 2, buffer)(1, 1), 20.0f);

  place.write("x.npy", npy(dictionary("<f4", "(200, 3)"), bytes_of(values)));
  shoal::read_options limited;
  limited.memory_limit = 200 * 3 * sizeof(float) - 1;
  EXPECT_FALSE(shoal::open_rows<float>(path, limited).rows->resident());
  limited.memory_limit += 1;
  EXPECT_TRUE(shoal::open_rows<float>(path, limited).rows->resident());
  EXPECT_FALSE(shoal::open_rows<double>(path, limited).rows->resident());
}

TEST(Npy, ReadsAHeaderThatLeavesElementsUnaligned) {
  const folder place;
  std::string file = "\x93NUMPY\x01";
  file += '\0';
  const std::string header = dictionary("<f8", "(2, 1)") + "\n";
  file += static_cast<char>(header.size());
  file += '\0';
  file += header + bytes_of(std::vector<double>{1.5, -2.5});
  ASSERT_NE((10 + header.size()) % 8, 0u);
  EXPECT_EQ(read<double>(place.write("u.npy", file)), (std::vector<double>{1.5, -2.5}));
}

TEST(Npy, ReadsTheSamePieceByPieceAsInMemory) {
  const folder place;
  for (const std::size_t rows : {1, 7, 511, 512, 513, 20011}) {
    std::vector<std::int16_t> values(rows * 5);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int16_t>(i * 2654435761u >> 7);
    const std::string shape = fmt::format("({}, 5)", rows);
    for (const bool fortran : {false, true}) {
      const std::string path = place.write("x.npy", npy(dictionary("<i2", shape, fortran), bytes_of(values)));
      for (const std::vector<std::string>& columns :
           {std::vector<std::string>{}, {"4", "0", "2"}, {"1..3"}, {"3"}, {"4", "3"}}) {
        shoal::read_options whole;
        whole.columns = columns;
        shoal::read_options pieces = whole;
        pieces.memory_limit = 1;
        const auto expected = read<float>(path, whole);
        const auto source = shoal::open_rows<float>(path, pieces).rows;
        EXPECT_FALSE(source->resident());
        for (const std::size_t piece : {rows, std::size_t{1} + rows / 3, std::size_t{512}}) {
          EXPECT_EQ(all_values(*source, piece), expected);
        }
        if (columns.size() == 3) {
          const std::size_t at = fortran ? 4 * rows : 4;
          EXPECT_EQ(expected[0], static_cast<float>(values[at]));
        }
      }
    }
  }
}

TEST(Npy, IsReadFromSeveralThreadsAtOnce) {
  const folder place;
  constexpr std::size_t rows = 30000;
  std::vector<std::int32_t> values(rows * 3);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i);
  for (const bool fortran : {false, true}) {
    const std::string path = place.write("x.npy", npy(dictionary("<i4", "(30000, 3)", fortran), bytes_of(values)));
    shoal::read_options options;
    options.memory_limit = 1;
    const auto source = shoal::open_rows<double>(path, options).rows;
    const auto expected = all_values(*source);
    std::vector<std::thread> threads;
    std::vector<int> wrong(4);
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        shoal::aligned_buffer<double> buffer;
        for (std::size_t step = 0; step < 40; ++step) {
          const std::size_t first = (t * 7919 + step * 104729) % (rows - 700);
          const auto view = source->read(first, 700, buffer);
          for (std::size_t i = 0; i < 700; ++i)
            for (std::size_t j = 0; j < 3; ++j) wrong[t] += view(i, j) != expected[(first + i) * 3 + j];
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(4));
  }
}

TEST(Npy, OpensAFileLargerThanMemoryAndReadsOneRow) {
  const folder place;
  const std::uint64_t rows = std::uint64_t{1} << 28;  // 8 GiB of float32, all but a row of them a hole
  const std::string path = place.write("sparse.npy", npy(dictionary("<f4", fmt::format("({}, 8)", rows)), ""));
  const std::uint64_t offset = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, offset + rows * 32);
  const std::vector<float> row = {1, 2, 3, 4, 5, 6, 7, 8};
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(offset + (rows - 2) * 32))
      .write(bytes_of(row).data(), 32);
  shoal::read_options options;
  options.memory_limit = std::size_t{64} << 20;
  const auto source = shoal::open_rows<float>(path, options).rows;
  EXPECT_EQ(source->rows(), rows);
  EXPECT_FALSE(source->resident());
  shoal::aligned_buffer<float> buffer;
  const auto view = source->read(rows - 3, 3, buffer);
  EXPECT_EQ(view(0, 0), 0.0f);
  EXPECT_EQ(view(1, 7), 8.0f);
  EXPECT_EQ(view(2, 0), 0.0f);
}

TEST(Npy, RefusesAFileThatChangesWhileItIsRead) {
  const folder place;
  const std::string contents = npy(dictionary("<f8", "(1000, 2)"), bytes_of(std::vector<double>(2000, 1.0)));
  shoal::read_options options;
  options.memory_limit = 1;
  shoal::aligned_buffer<double> buffer;
  const std::string path = place.write("x.npy", contents);
  const auto shorter = shoal::open_rows<double>(path, options).rows;
  EXPECT_NO_THROW(shorter->read(0, 10, buffer));
  std::filesystem::resize_file(path, 1000);
  expect_refusal<io_error>([&] { shorter->read(0, 10, buffer); },
                           {path, "changed while it was read", "has 1000 bytes"});
  expect_refusal<io_error>([&] { shorter->read(500, 10, buffer); }, {path, "byte 8128", "ended"});

  place.write("x.npy", contents);
  const auto other = shoal::open_rows<double>(path, options).rows;
  EXPECT_NO_THROW(other->read(0, 10, buffer));
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(-4, std::ios::end).write("\0\0\0\0", 4);
  // The clock of the file system may be too coarse to have moved since.
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  expect_refusal<io_error>([&] { other->read(0, 10, buffer); }, {path, "changed while it was read"});
}

TEST(Npy, RefusesElementsThatAreNoRealNumbersByName) {
  const folder place;
  const auto refuse = [&](const std::string& descr, const std::vector<std::string>& parts) {
    const std::string path = place.write(
        "x.npy", npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': (1, 2), }", std::string(64, 'x')));
    std::vector<std::string> all = {path};
    all.insert(all.end(), parts.begin(), parts.end());
    expect_refusal<bad_data>([&] { read<double>(path); }, all);
    expect_refusal<bad_data>([&] { shoal::describe_file(path); }, all);
    expect_refusal<bad_data>([&] { shoal::data_file(path).natural_scalar(); }, all);
  };
  refuse("'|O'", {"'|O'", "Python objects", "astype"});
  refuse("'<c16'", {"complex"});
  refuse("'<U10'", {"strings"});
  refuse("'|S3'", {"strings"});
  refuse("'|V8'", {"records"});
  refuse("'<M8[ns]'", {"dates"});
  refuse("'<m8[s]'", {"dates"});
  refuse("'<f16'", {"'<f16'", "float64"});
  refuse("''", {"''"});
  refuse("'<\xff\xfe'", {"\\xFF\\xFE"});
  refuse("[('x', '<f4'), ('y', '<f4')]", {"structured"});
  refuse("'>f4'", {"big-endian", "astype('<f4')"});
  refuse("'>i8'", {"big-endian", "astype('<i8')"});
}

TEST(Npy, RefusesDamagedHeaders) {
  const folder place;
  const auto refuse = [&](const std::string& contents, const std::vector<std::string>& parts) {
    const std::string path = place.write("x.npy", contents);
    std::vector<std::string> all = {path + ": "};
    all.insert(all.end(), parts.begin(), parts.end());
    expect_refusal<bad_data>([&] { read<float>(path); }, all);
  };
  refuse("", {"empty"});
  refuse("1,2,3\n", {"not a .npy file", "1,2,3\\n"});
  refuse("\x93NUMPY\x01", {"truncated", "expected 10 bytes", "has 7"});
  refuse(std::string("\x93NUMPY\x02\x00\x10\x00", 10), {"truncated", "expected 12"});
  refuse(std::string("\x93NUMPY\x01\x00\x50\x00{'descr'", 18), {"truncated", "expected 90", "has 18"});
  refuse(std::string("\x93NUMPY\x04\x00\x50\x00", 10), {"byte 6", "version 4.0"});
  refuse(std::string("\x93NUMPY\x01\x01\x50\x00", 10), {"byte 6", "version 1.1"});
  refuse(std::string("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12), {"byte 8", "2147483647", "allowed"});
  refuse(npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", "1234"), {"fortran_order"});
  refuse(npy("{'descr': '<f4', 'fortran_order': False, }", "1234"), {"lacks"});
  refuse(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 'x'}", "1234"), {"unknown entry 'more'"});
  refuse(npy("{'descr: 1", "1234"), {"damaged"});
  refuse(npy("[1, 2]", "1234"), {"damaged", "'{'"});
  refuse(npy("{'descr': '<f4' 'shape': (1,)}", "1234"), {"damaged"});
  refuse(npy(dictionary("<f4", "(-1, 2)"), "1234"), {"damaged", "integers"});
  refuse(npy(dictionary("<f4", "(99999999999999999999, 2)"), "1234"), {"64 bits"});
}

TEST(Npy, RefusesShapesThatAreNoMatrix) {
  const folder place;
  const auto refuse = [&](const std::string& shape, const std::vector<std::string>& parts) {
    const std::string path = place.write("x.npy", npy(dictionary("<f4", shape), "12345678"));
    expect_refusal<bad_data>([&] { read<float>(path); }, parts);
  };
  refuse("()", {"shape ()"});
  refuse("(1, 2, 1)", {"shape (1, 2, 1)"});
  refuse("(0, 2)", {"empty", "0 rows x 2 columns"});
  refuse("(2, 0)", {"empty", "2 rows x 0 columns"});
  refuse("(0,)", {"empty"});
  refuse("(4611686018427387904, 4)", {"larger than any file"});
  refuse("(9223372036854775807, 1)", {"larger than any file"});
  refuse("(3, 2)", {"truncated", "3 rows x 2 columns", "are 152 bytes", "has 136"});
  refuse("(1, 1)", {"bytes follow", "are 132 bytes", "has 136"});
}

TEST(Npy, TakesAOneDimensionalArrayForOneColumn) {
  const folder place;
  const std::string path = place.write("x.npy", npy(dictionary("<f4", "(3L,)"), bytes_of(std::vector<float>{1, 2, 3})));
  const auto opened = shoal::open_rows<float>(path);
  EXPECT_EQ(opened.rows->rows(), 3u);
  EXPECT_EQ(opened.rows->columns(), 1u);
  EXPECT_TRUE(opened.column_names.empty());
}

TEST(Npy, SplitsOffALabelColumn) {
  const folder place;
  const std::string path = place.write(
      "x.npy", npy(dictionary("<f8", "(4, 3)"), bytes_of(std::vector<double>{1, 7, 2, 3, 7, 4, 5, 0.5, 6, 7, 7, 8})));
  for (const std::size_t limit : {0, 1}) {
    shoal::read_options options;
    options.label_column = "1";
    options.memory_limit = limit;
    const auto opened = shoal::open_rows<double>(path, options);
    EXPECT_EQ(all_values(*opened.rows), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(opened.label_names, (std::vector<std::string>{"7", "0.5"}));
    EXPECT_EQ(opened.labels, (std::vector<std::int32_t>{0, 0, 1, 0}));
  }
}

TEST(Npy, KnowsTheNaturalScalar) {
  const folder place;
  EXPECT_EQ(shoal::data_file(place.write("a.npy", npy(dictionary("<f4", "(1,)"), "1234"))).natural_scalar(),
            shoal::scalar::float32);
  EXPECT_EQ(shoal::data_file(place.write("b.npy", npy(dictionary("<f8", "(1,)"), "12345678"))).natural_scalar(),
            shoal::scalar::float64);
  EXPECT_EQ(shoal::data_file(place.write("c.npy", npy(dictionary("<i2", "(1,)"), "12"))).natural_scalar(),
            shoal::scalar::float64);
  EXPECT_EQ(shoal::data_file(place.write("d.csv", "1,2\n")).natural_scalar(), shoal::scalar::float64);
}

TEST(Files, AreRefusedWhenTheyCannotBeOpened) {
  const folder place;
  expect_refusal<io_error>([&] { read<float>(place.path("absent.npy")); }, {place.path("absent.npy"), "cannot open"});
  expect_refusal<io_error>([&] { read<float>(place.path(".")); }, {"directory"});
  expect_refusal<io_error>([&] { read<float>(place.path("no\xff\n.csv")); }, {"no\\xFF\\n.csv", "cannot open"});
}

}  // namespace
