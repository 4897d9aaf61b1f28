// Compressed files: members, padding, damage and bombs.
#include <algorithm>

#include <fmt/format.h>
#include <zlib.h>

#include <shoal/io/byte_source.hpp>

#include "files.hpp"

namespace {

using namespace testing_files;
using shoal::bad_data;
using numbers = std::vector<double>;

std::string packed(std::string_view text, int level = 6) {
  z_stream stream{};
  deflateInit2(&stream, level, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string out(compressBound(text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

numbers read(const std::string& path) { return all_values(*shoal::open_rows<double>(path).rows); }

TEST(Gzip, IsFoundByItsFirstBytesWhateverTheName) {
  const folder place;
  for (const std::string name : {"x.csv.gz", "x.gz", "x.csv", "x"}) {
    const std::string path = place.write(name, packed("a,b\n1,2\n3,4\n"));
    EXPECT_EQ(read(path), (numbers{1, 2, 3, 4}));
    EXPECT_TRUE(shoal::describe_file(path).compressed);
    EXPECT_EQ(shoal::data_file(path).natural_scalar(), shoal::scalar::float64);
  }
}

TEST(Gzip, HoldsBinaryFilesToo) {
  const folder place;
  const std::string array = npy(dictionary("<f4", "(2, 2)"), bytes_of(std::vector<float>{1, 2, 3, 4}));
  const std::string path = place.write("x.npy.gz", packed(array));
  EXPECT_EQ(read(path), (numbers{1, 2, 3, 4}));
  EXPECT_EQ(shoal::data_file(path).natural_scalar(), shoal::scalar::float32);
  EXPECT_EQ(shoal::describe_file(path).format, "npy");
  expect_refusal<bad_data>([&] { read(place.write("t.npy.gz", packed(array.substr(0, array.size() - 4)))); },
                           {"truncated", "144 bytes", "has 140"});
  // Far more bytes than the header announces are not laid down at all.
  expect_refusal<bad_data>([&] { read(place.write("m.npy.gz", packed(array + std::string(50 << 20, '\0')))); },
                           {"bytes follow the array"});
  const std::string vectors = bytes_of(std::vector<std::uint32_t>{1, 0x3f800000, 1, 0x40000000});
  EXPECT_EQ(read(place.write("x.fvecs.gz", packed(vectors))), (numbers{1, 2}));
}

TEST(Gzip, MayHaveSeveralMembersAndPadding) {
  const folder place;
  const std::string both = packed("1,2\n3,") + packed("") + packed("4\n5,6\n");
  EXPECT_EQ(read(place.write("x.gz", both)), (numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read(place.write("x.gz", both + std::string(700, '\0'))), (numbers{1, 2, 3, 4, 5, 6}));
}

TEST(Gzip, RefusesDamageWithItsPosition) {
  const folder place;
  std::string text;
  for (int i = 0; i < 20000; ++i) text += fmt::format("{},{}\n", i, i * i % 977);
  const std::string whole = packed(text);
  const auto refuse = [&](const std::string& contents, const std::vector<std::string>& parts) {
    const std::string path = place.write("x.csv.gz", contents);
    std::vector<std::string> all = {path + ": "};
    all.insert(all.end(), parts.begin(), parts.end());
    expect_refusal<bad_data>([&] { read(path); }, all);
  };
  for (const std::size_t size : {std::size_t{2}, std::size_t{5}, std::size_t{10}, whole.size() / 2, whole.size() - 1}) {
    refuse(whole.substr(0, size), {fmt::format("byte {}", size), "truncated"});
  }
  std::string flipped = whole;
  flipped[whole.size() - 6] ^= 1;  // in the checksum
  refuse(flipped, {"damaged", "incorrect data check"});
  flipped = whole;
  flipped[whole.size() - 1] ^= 1;  // in the length
  refuse(flipped, {"damaged", "incorrect length check"});
  flipped = whole;
  flipped[3] = '\xff';  // reserved flags
  refuse(flipped, {"damaged", "header"});
  refuse(whole + "tail", {fmt::format("byte {}", whole.size()), "follow its end"});
  refuse(whole + std::string(3, '\0') + whole, {"follow its end"});
  refuse("1,2\n3,4\n", {"not gzip data", "1,2\\n3,4\\n"});
  refuse(packed(""), {"unpack to nothing"});
}

// The same member again and again, without end.
class endless_members final : public shoal::byte_source {
 public:
  explicit endless_members(std::string member) : member_(std::move(member)) {}
  std::size_t read(std::byte* out, std::size_t size) override {
    const std::size_t taken = std::min(size, member_.size() - at_);
    std::memcpy(out, member_.data() + at_, taken);
    at_ = (at_ + taken) % member_.size();
    return taken;
  }

 private:
  std::string member_;
  std::size_t at_ = 0;
};

TEST(Gzip, RefusesABomb) {
  const shoal::gzip_bounds bounds{64 << 20, 200};
  auto source = shoal::make_gzip_bytes(
      "bomb.gz", std::make_unique<endless_members>(packed(std::string(8 << 20, '\0'), 9)), bounds);
  std::vector<std::byte> buffer(1 << 20);
  std::uint64_t total = 0;
  expect_refusal<bad_data>(
      [&] {
        while (total <= 2 * bounds.free_bytes) total += source->read(buffer.data(), buffer.size());
      },
      {"bomb.gz: byte ", "more than 200 times their size", "--unpacked-limit"});
  EXPECT_GE(total, bounds.free_bytes - buffer.size());
}

// A megabyte of a bomb fills 70 MiB, not a disk; who means it says so.
TEST(Gzip, BoundsWhatASmallFileUnpacksTo) {
  const folder place;
  std::string line;
  for (int i = 0; i < 1000; ++i) line += "1,1\n";
  std::string table;
  for (int i = 0; i < 300; ++i) table += line;
  const std::string path = place.write("bomb.csv.gz", packed(table, 9));
  ASSERT_LT(std::filesystem::file_size(path) * 100, table.size());
  EXPECT_EQ(shoal::open_rows<double>(path).rows->rows(), 300'000u);
  shoal::read_options options;
  options.unpacked_limit = 1 << 19;
  expect_refusal<bad_data>([&] { shoal::open_rows<double>(path, options); },
                           {path, "more than 100 times their size and the 524288", "--unpacked-limit"});
  for (const std::uint64_t enough : {std::uint64_t{0}, std::uint64_t{table.size()}}) {
    options.unpacked_limit = enough;
    EXPECT_EQ(shoal::open_rows<double>(path, options).rows->rows(), 300'000u);
  }
}

TEST(Gzip, LetsOrdinaryDataGrowWithoutBound) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += fmt::format("{},{}\n", i, i * i % 977);
  auto source = shoal::make_gzip_bytes("x.gz", std::make_unique<endless_members>(packed(text)), {1 << 20, 200});
  std::vector<std::byte> buffer(1 << 20);
  for (int i = 0; i < 30; ++i) EXPECT_GT(source->read(buffer.data(), buffer.size()), 0u);
}

}  // namespace
