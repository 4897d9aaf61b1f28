// Writing: arrays, text, whole files or none.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include <cmath>
#include <filesystem>
#include <thread>

#include <shoal/io/output_file.hpp>

#include "files.hpp"

namespace {

using namespace testing_files;

template <class Scalar>
std::vector<Scalar> uneven(std::size_t count) {
  std::vector<Scalar> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = std::ldexp(std::sin(static_cast<Scalar>(i)), static_cast<int>(i % 60) - 30);
  return values;
}

template <class Scalar>
void write_and_read_back() {
  const folder place;
  const auto values = uneven<Scalar>(3 * 70001);
  const shoal::view_source<Scalar> rows({values.data(), 70001, 3});
  shoal::write_npy<Scalar>(place.path("x.npy"), rows);
  shoal::write_csv<Scalar>(place.path("x.csv"), rows, {"a", "b c", "3"});
  EXPECT_TRUE(all_values(*shoal::open_rows<Scalar>(place.path("x.npy")).rows) == values);
  const auto text = shoal::open_rows<Scalar>(place.path("x.csv"));
  EXPECT_EQ(text.column_names, (std::vector<std::string>{"a", "b c", "3"}));
  EXPECT_TRUE(all_values(*text.rows) == values);
  const shoal::view_source<Scalar> strided({values.data(), 70000, 2, 3});
  shoal::write_npy<Scalar>(place.path("s.npy"), strided);
  shoal::write_csv<Scalar>(place.path("s.csv"), strided, {});
  const auto once = all_values(strided);
  EXPECT_TRUE(all_values(*shoal::open_rows<Scalar>(place.path("s.npy")).rows) == once);
  EXPECT_TRUE(all_values(*shoal::open_rows<Scalar>(place.path("s.csv")).rows) == once);
  EXPECT_EQ(place.entries(), 4u);
}

TEST(Write, IsReadBackBitForBit) {
  write_and_read_back<float>();
  write_and_read_back<double>();
}

TEST(Write, QuotesNamesThatNeedIt) {
  const folder place;
  const std::vector<double> values = {1, 2, 3, 4};
  const std::vector<std::string> names = {"a,\"b\"", "2019", " x", "#y"};
  shoal::write_csv<double>(place.path("x.csv"), shoal::view_source<double>({values.data(), 1, 4}), names);
  EXPECT_EQ(contents(place.path("x.csv")), "\"a,\"\"b\"\"\",\"2019\",\" x\",\"#y\"\n1,2,3,4\n");
  const auto opened = shoal::open_rows<double>(place.path("x.csv"));
  EXPECT_EQ(opened.column_names, (std::vector<std::string>{"a,\"b\"", "2019", " x", "#y"}));
  expect_refusal<shoal::bad_argument>(
      [&] {
        shoal::write_csv<double>(place.path("y.csv"), shoal::view_source<double>({values.data(), 1, 4}), {"a"});
      },
      {"1 column names for 4 columns"});
}

TEST(NpyOutput, ShowsAWholeFileOrNone) {
  const folder place;
  const std::string path = place.write("x.npy", "old");
  {
    shoal::npy_output<float> dropped(path, 100, 2);
    dropped.data()[0] = 1;
  }
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(place.entries(), 1u);
  shoal::npy_output<std::int32_t> labels(path, 3, 0);
  shoal::npy_output<std::int32_t> moved(std::move(labels));
  for (int i = 0; i < 3; ++i) moved.data()[i] = i - 1;
  EXPECT_EQ(contents(path), "old");
  moved.commit();
  EXPECT_EQ(place.entries(), 1u);
  EXPECT_EQ(shoal::describe_file(path).element, "int32");
  EXPECT_EQ(all_values(*shoal::open_rows<double>(path).rows), (std::vector<double>{-1, 0, 1}));
  EXPECT_NE(contents(path).find("'shape': (3,)"), std::string::npos);
  shoal::npy_output<double> matrix(place.path("m.npy"), 2, 2);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(matrix.data()) % 64, 0u);
  for (int i = 0; i < 4; ++i) matrix.data()[i] = i;
  matrix.commit();
  EXPECT_TRUE(shoal::open_rows<double>(place.path("m.npy")).rows->resident());
  EXPECT_EQ(contents(place.path("m.npy")).size() % 64, 32u);
}

unsigned mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST(OutputFile, KeepsThePermissionsOfWhatItReplaces) {
  const folder place;
  for (const mode_t mode : {0600, 0640, 0444, 0666}) {
    const std::string path = place.write("old", "old");
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    shoal::write_file_atomically(path, "new");
    EXPECT_EQ(mode_of(path), mode);
    EXPECT_EQ(contents(path), "new");
    std::filesystem::remove(path);
  }
  // Made under another umask, in a process of its own: a process has one for all its threads.
  const pid_t child = ::fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    ::umask(027);
    shoal::write_file_atomically(place.path("fresh"), "new");
    ::_exit(::umask(0) == 027 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(mode_of(place.path("fresh")), 0640u);
}

TEST(OutputFile, RemovesWhatAKilledProgramLeft) {
  const folder place;
  const std::string path = place.path("x");
  const std::string stale = place.write("x.shoal-0.part", "half");
  const std::string in_use = place.write("x.shoal-1.part", "half");
  const std::string foreign = place.write("x.part", "somebody's");
  const int held = ::open(in_use.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  shoal::write_file_atomically(path, "whole");
  EXPECT_FALSE(std::filesystem::exists(stale));
  EXPECT_TRUE(std::filesystem::exists(in_use)) << "its writer is alive";
  EXPECT_EQ(contents(foreign), "somebody's");
  ::close(held);
  shoal::write_file_atomically(path, "whole");
  EXPECT_FALSE(std::filesystem::exists(in_use));
  EXPECT_EQ(place.entries(), 2u);
}

TEST(OutputFile, HasNoNameBeforeItIsWhole) {
  const folder place;
  const int unnamed = ::open(place.path("").c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (unnamed < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
    GTEST_SKIP() << "this file system has no files without names";
  }
  ASSERT_GE(unnamed, 0) << std::strerror(errno);
  ::close(unnamed);
  shoal::output_file file(place.path("x"));
  file.write("half", 4);
  EXPECT_EQ(place.entries(), 0u);
  file.commit();
  EXPECT_EQ(contents(place.path("x")), "half");
  EXPECT_EQ(place.entries(), 1u);
}

TEST(OutputFile, AppendsToAnOpenDescriptor) {
  const folder place;
  const std::string path = place.write("log", "what stood there\n");
  const int log = ::open(path.c_str(), O_WRONLY | O_APPEND);
  const int kept = ::dup(1);
  std::filesystem::create_symlink("/dev/stdout", place.path("link"));
  ASSERT_NE(::dup2(log, 1), -1);
  shoal::write_file_atomically("/dev/stdout", "one\n");
  shoal::write_file_atomically(place.path("link"), "two\n");
  shoal::write_file_atomically(fmt::format("/dev/fd/{}", log), "three\n");
  ::dup2(kept, 1);
  ::close(kept);
  ::close(log);
  EXPECT_EQ(contents(path), "what stood there\none\ntwo\nthree\n");
  EXPECT_EQ(shoal::descriptor_named(path), -1);
  EXPECT_EQ(shoal::descriptor_named("/dev/fd/"), -1);
  EXPECT_EQ(shoal::descriptor_named("/dev/fd/1x"), -1);
}

TEST(NpyOutput, SaysWhatItCouldNotReserve) {
  const folder place;
  expect_refusal<shoal::io_error>([&] { shoal::npy_output<double>(place.path("x.npy"), std::size_t{1} << 52, 8); },
                                  {place.path("x.npy"), "cannot reserve 288230376151711872 bytes"});
  expect_refusal<shoal::bad_argument>([&] { shoal::npy_output<double>(place.path("x.npy"), std::size_t{1} << 60, 64); },
                                      {"larger than any file"});
  EXPECT_EQ(place.entries(), 0u);
  expect_refusal<shoal::io_error>([&] { shoal::npy_output<double>(place.path("none/x.npy"), 1, 1); },
                                  {"cannot create"});
}

TEST(NpyOutput, WritesIntoAPipe) {
  const folder place;
  ASSERT_EQ(::mkfifo(place.path("pipe").c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = contents(place.path("pipe")); });
  {
    shoal::npy_output<float> out(place.path("pipe"), 2, 1);
    out.data()[0] = 1.5f;
    out.data()[1] = -1.5f;
    out.commit();
  }
  reader.join();
  EXPECT_EQ(received.size(), 136u);
  EXPECT_EQ(place.entries(), 1u);
}

TEST(WholeFiles, AreReplacedWhole) {
  const folder place;
  const std::string path = place.path("x.json");
  shoal::write_file_atomically(path, "one");
  shoal::write_file_atomically(path, "two, longer");
  EXPECT_EQ(contents(path), "two, longer");
  EXPECT_EQ(shoal::read_whole_file(path, 11), "two, longer");
  EXPECT_EQ(place.entries(), 1u);
  std::filesystem::create_symlink(path, place.path("link"));
  shoal::write_file_atomically(place.path("link"), "three");
  EXPECT_TRUE(std::filesystem::is_symlink(place.path("link")));
  EXPECT_EQ(contents(path), "three");
  expect_refusal<shoal::io_error>([&] { shoal::write_file_atomically(place.path("none/x"), "x"); },
                                  {place.path("none/x"), "cannot create"});
  expect_refusal<shoal::io_error>([&] { shoal::write_file_atomically(place.path("."), "x"); }, {"cannot write"});
  expect_refusal<shoal::bad_data>([&] { shoal::read_whole_file(path, 4); }, {"larger than the 4 bytes"});
  expect_refusal<shoal::bad_data>([&] { shoal::read_whole_file("/dev/zero", 1000); }, {"larger than the 1000 bytes"});
  expect_refusal<shoal::io_error>([&] { shoal::write_file_atomically("/dev/full", "x"); }, {"/dev/full", "No space"});
}

}  // namespace
