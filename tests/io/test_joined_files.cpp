// Several files as one matrix, and one file that several processes write.
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/io/file_names.hpp>
#include <shoal/io/io.hpp>
#include <shoal/io/npy_slices.hpp>

#include "files.hpp"

namespace {

namespace fs = std::filesystem;

class JoinedFiles : public testing::Test {
 protected:
  JoinedFiles() {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~JoinedFiles() override { fs::remove_all(folder); }

  std::string at(const std::string& name) const { return (folder / name).string(); }
  // `rows` rows of 2 columns that count on from `first`.
  template <class Scalar>
  void write(const std::string& name, std::size_t rows, Scalar first) const {
    std::vector<Scalar> values(rows * 2);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<Scalar>(i);
    shoal::write_npy<Scalar>(at(name), shoal::view_source<Scalar>({values.data(), rows, 2}));
  }

  fs::path folder = fs::path(testing::TempDir()) / "shoal_joined_files";
};

TEST_F(JoinedFiles, ComeInTheOrderOfTheirNumbers) {
  for (const char* name : {"part-10.npy", "part-9.npy", "part-1.npy", "part-01.npy", "other.npy"}) {
    write(name, 1, 0.0);
  }
  EXPECT_EQ(shoal::files_named(at("part-*.npy")),
            (std::vector<std::string>{at("part-01.npy"), at("part-1.npy"), at("part-9.npy"), at("part-10.npy")}));
  EXPECT_EQ(shoal::files_named(at("none.npy")), std::vector<std::string>{at("none.npy")});
  EXPECT_THROW(shoal::files_named(at("none-*.npy")), shoal::io_error);
}

// A name may hold a star.
TEST_F(JoinedFiles, AFileOfThatVeryNameIsMeant) {
  write("a*.npy", 3, 0.0);
  write("ab.npy", 5, 0.0);
  EXPECT_EQ(shoal::open_rows<double>(at("a*.npy")).rows->rows(), 3U);
}

TEST_F(JoinedFiles, ReadAsOneMatrix) {
  write("part-1.npy", 3, 0.0);
  write("part-2.npy", 1, 6.0);
  write("part-3.npy", 4, 8.0);
  for (const std::size_t limit : {0, 64}) {
    shoal::read_options options;
    options.memory_limit = limit;
    const auto opened = shoal::open_rows<double>(at("part-?.npy"), options);
    ASSERT_EQ(opened.rows->rows(), 8U);
    ASSERT_EQ(opened.rows->columns(), 2U);
    for (std::size_t first = 0; first <= 8; ++first) {
      for (std::size_t count = 0; first + count <= 8; ++count) {
        shoal::aligned_buffer<double> buffer;
        const auto rows = opened.rows->read(first, count, buffer);
        ASSERT_EQ(rows.rows(), count);
        for (std::size_t i = 0; i < count; ++i) {
          EXPECT_EQ(rows(i, 0), static_cast<double>(2 * (first + i)));
          EXPECT_EQ(rows(i, 1), static_cast<double>(2 * (first + i) + 1));
        }
      }
    }
  }
}

TEST_F(JoinedFiles, KeepTheirValuesScalar) {
  write("f-1.npy", 2, 0.0F);
  write("f-2.npy", 2, 4.0F);
  EXPECT_EQ(shoal::data_file(at("f-*.npy")).natural_scalar(), shoal::scalar::float32);
  write("f-3.npy", 2, 8.0);
  EXPECT_EQ(shoal::data_file(at("f-*.npy")).natural_scalar(), shoal::scalar::float64);
  EXPECT_EQ(shoal::data_file(at("f-*.npy")).describe_start().rows, 6U);
}

TEST_F(JoinedFiles, RefuseOtherColumnsByName) {
  write("part-1.npy", 2, 0.0);
  const std::vector<double> wide(3);
  shoal::write_npy<double>(at("part-2.npy"), shoal::view_source<double>({wide.data(), 1, 3}));
  try {
    shoal::open_rows<double>(at("part-*.npy"));
    FAIL();
  } catch (const shoal::bad_data& refused) {
    EXPECT_EQ(refused.what(), at("part-2.npy") + ": 3 columns, and " + at("part-1.npy") +
                                  " has 2; files that are read together have the same columns");
  }
}

TEST_F(JoinedFiles, ShareTheirLabels) {
  const std::vector<double> one = {1, 7, 2, 5}, two = {3, 5, 4, 6};
  shoal::write_npy<double>(at("l-1.npy"), shoal::view_source<double>({one.data(), 2, 2}));
  shoal::write_npy<double>(at("l-2.npy"), shoal::view_source<double>({two.data(), 2, 2}));
  shoal::read_options options;
  options.label_column = "1";
  const auto opened = shoal::open_rows<double>(at("l-*.npy"), options);
  EXPECT_EQ(opened.label_names, (std::vector<std::string>{"7", "5", "6"}));
  EXPECT_EQ(opened.labels, (std::vector<std::int32_t>{0, 1, 1, 2}));
}

TEST_F(JoinedFiles, SlicesOfSeveralMakeTheFileOfOne) {
  const std::size_t rows = 5000, columns = 3;
  shoal::npy_output<double> one(at("one.npy"), rows, columns);
  for (std::size_t i = 0; i < rows * columns; ++i) one.data()[i] = static_cast<double>(i);
  one.commit();
  const std::size_t cuts[] = {0, 1700, 1701, rows};
  shoal::npy_slices<double> maker(at("several.npy"), rows, columns);
  EXPECT_FALSE(fs::exists(at("several.npy")));
  for (std::size_t part = 0; part < 3; ++part) {
    shoal::npy_slices<double> other(shoal::npy_part{maker.part()}, at("several.npy"), rows, columns);
    for (std::size_t i = cuts[part] * columns; i < cuts[part + 1] * columns; ++i)
      other.data()[i] = static_cast<double>(i);
    other.write(cuts[part], cuts[part + 1]);
  }
  maker.commit();
  EXPECT_FALSE(fs::exists(maker.part()));
  EXPECT_EQ(shoal::read_whole_file(at("several.npy"), 1 << 20), shoal::read_whole_file(at("one.npy"), 1 << 20));
}

TEST_F(JoinedFiles, ASliceOfAFileThatIsNotSeenIsRefused) {
  EXPECT_THROW(shoal::npy_slices<float>(shoal::npy_part{at("elsewhere.part")}, at("out.npy"), 3, 0), shoal::io_error);
}

}  // namespace
