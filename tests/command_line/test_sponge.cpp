// shoal sponge, as a user runs it.
#include <cstdint>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <zlib.h>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace {

using namespace shoal_test;
using nlohmann::json;

std::uint32_t number_at(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes.at(at + i));
  return value;
}

// The pixels of a PNG file in red, green and blue with filters 1 and 2, its checksums checked.
std::string pixels_of(const std::string& png, std::size_t width, std::size_t height) {
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  std::string packed;
  for (std::size_t at = 8; at < png.size();) {
    const std::size_t size = number_at(png, at);
    const std::string name = png.substr(at + 4, 4), contents = png.substr(at + 8, size);
    const std::string summed = name + contents;
    EXPECT_EQ(number_at(png, at + 8 + size),
              crc32(0, reinterpret_cast<const Bytef*>(summed.data()), static_cast<uInt>(summed.size())));
    if (name == "IHDR") {
      EXPECT_EQ(number_at(contents, 0), width);
      EXPECT_EQ(number_at(contents, 4), height);
      EXPECT_EQ(contents.substr(8), std::string("\x08\x02\0\0\0", 5));
    }
    if (name == "IDAT") packed += contents;
    at += 12 + size;
  }
  std::string lines(height * (3 * width + 1), '\0');
  uLongf size = lines.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(lines.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                       packed.size()),
            Z_OK);
  EXPECT_EQ(size, lines.size());
  std::string pixels(3 * width * height, '\0');
  for (std::size_t y = 0; y < height; ++y) {
    const char* line = &lines[y * (3 * width + 1)];
    for (std::size_t i = 0; i < 3 * width; ++i) {
      const std::size_t at = 3 * width * y + i;
      const char before = line[0] == 1 ? (i < 3 ? '\0' : pixels[at - 3]) : y == 0 ? '\0' : pixels[at - 3 * width];
      pixels[at] = static_cast<char>(line[1 + i] + before);
    }
  }
  return pixels;
}

TEST(sponge, counts_exactly) {
  const outcome result = run({"sponge", "--order", "20", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["cubes"], "104857600000000000000000000");
  EXPECT_EQ(object["faces"], "209715204611686018427387904");
  EXPECT_EQ(object["volume"]["denominator"], "42391158275216203514294433201");
  EXPECT_NEAR(object["area"]["value"].get<double>(), 1.72496e7, 1e2);
  const outcome text = run({"sponge", "--order", "1"});
  EXPECT_NE(text.out.find("area            8/1 = 8\n"), std::string::npos) << text.out;
}

TEST(sponge, writes_meshes_and_pictures) {
  const scratch_folder folder;
  const outcome mesh = run({"sponge", "--order", "2", "--output", folder / "sponge.stl", "--json"});
  ASSERT_EQ(mesh.status, 0) << mesh.err;
  EXPECT_EQ(fs::file_size(folder / "sponge.stl"), 84u + 100 * 1056);
  const words picture = {"sponge", "--order", "25", "--size", "64x48", "--sky-rays", "2", "--json"};
  const outcome one = run(picture + words{"--picture", folder / "one.png", "--threads", "1"});
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_FALSE(json::parse(one.out).contains("cubes")) << "counts end at order 20";
  ASSERT_EQ(run(picture + words{"--picture", folder / "two.png", "--threads", "3"}).status, 0);
  EXPECT_EQ(read_file(folder / "one.png"), read_file(folder / "two.png"));
  const std::string pixels = pixels_of(read_file(folder / "one.png"), 64, 48);
  EXPECT_EQ(pixels.substr(0, 3), "\xff\xff\xff") << "the background";
  EXPECT_NE(pixels.substr(3 * (24 * 64 + 20), 3), "\xff\xff\xff") << "the sponge";
}

TEST(sponge, draws_an_orbit_and_its_page) {
  const scratch_folder folder;
  const outcome orbit =
      run({"sponge", "--order", "1", "--size", "32x24", "--orbit", "4", "--picture", folder / "turn.png", "--page",
           folder / "turn.html", "--lights", "10,40,0.5;190,20", "--section", "hexagon"});
  ASSERT_EQ(orbit.status, 0) << orbit.err;
  for (const char* name : {"turn-000.png", "turn-001.png", "turn-002.png", "turn-003.png"}) {
    pixels_of(read_file(folder / name), 32, 24);
  }
  EXPECT_FALSE(fs::exists(folder / "turn.png"));
  const words plain = {"sponge", "--order", "0", "--size", "8x8", "--orbit", "1", "--picture", folder / "plain"};
  ASSERT_EQ(run(plain).status, 0);
  EXPECT_TRUE(fs::exists(folder / "plain-000.png"));
  const std::string page = read_file(folder / "turn.html");
  EXPECT_NE(page.find("Menger sponge of order 1"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos) << "nothing is loaded from elsewhere";
  std::size_t frames = 0;
  for (std::size_t at = page.find("iVBOR"); at != std::string::npos; at = page.find("iVBOR", at + 1)) ++frames;
  EXPECT_EQ(frames, 5u) << "four frames, and the first again for pages without scripts";
}

TEST(sponge, wrong_use_is_refused_in_words) {
  const scratch_folder folder;
  const auto refused = [](const words& command, const std::string& expected) {
    const outcome result = run(words{"sponge"} + command);
    EXPECT_EQ(result.status, 2) << result.out;
    EXPECT_NE(result.err.find(expected), std::string::npos) << result.err;
  };
  refused({"--order", "21"}, "order must be at most 20 for exact counts; got 21");
  refused({"--order", "4294967297"}, "order must be at most 20 for exact counts");
  refused({"--order", "4294967297", "--picture", folder / "a.png"}, "order must be at most 32 for a picture");
  refused({"--orbit", "10000", "--picture", folder / "a.png"}, "--orbit: 10000 is not a whole number from 0 to 9999");
  refused({"--order", "7", "--output", folder / "a.stl"}, "order 7 has 2568388608 faces");
  refused({"--order", "6", "--output", folder / "a.glb"}, "the order must be at most 5");
  refused({"--output", folder / "a.txt"}, "must end in .stl, .ply, .obj or .glb");
  refused({"--orbit", "12"}, "--orbit needs --picture FILE.png for its frames, or --page FILE.html to show them");
  refused({"--page", folder / "a.html"}, "--page shows an orbit");
  refused({"--stages"}, "--stages needs --picture FILE.png");
  refused({"--picture", folder / "a.png", "--size", "10"}, "'10' is not WIDTHxHEIGHT");
  refused({"--picture", folder / "a.png", "--distance", "0.5"}, "distance must be from 0.9 to 1000; got 0.5");
  refused({"--picture", folder / "a.png", "--section", "1,1,1"}, "'1,1,1' is not hexagon, nor A,B,C,D of a plane");
  refused({"--picture", folder / "a.png", "--background", "white"}, "six hexadecimal digits");
  refused({"--picture", folder / "a.png", "--points", "--order", "7"}, "points; the order must be at most 6");
  refused({"--device", "gpu"}, "--device: ");
  if (!built_with_cuda()) {
    const outcome result = run({"sponge", "--picture", folder / "a.png", "--device", "cuda"});
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.err.find("or choose --device cpu"), std::string::npos) << result.err;
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
