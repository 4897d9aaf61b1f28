// Mesh files, read back byte by byte and held to the mesh in memory.
#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <shoal/core/error.hpp>
#include <shoal/geometry/geometry.hpp>

using namespace shoal::geometry;

namespace {

std::string written(mesh_format format, unsigned order, mesh_file_size* size = nullptr) {
  const std::string path = testing::TempDir() + "sponge_of_test_mesh_file";
  const mesh_file_size said = write_mesh(path, format, order);
  if (size != nullptr) *size = said;
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  return bytes;
}

template <class Value>
Value at(const std::string& bytes, std::size_t place) {
  Value value;
  std::memcpy(&value, bytes.data() + place, sizeof value);
  return value;
}

template <class Value>
std::vector<Value> values_at(const std::string& bytes, std::size_t place, std::size_t count) {
  std::vector<Value> values(count);
  std::memcpy(values.data(), bytes.data() + place, count * sizeof(Value));
  return values;
}

}  // namespace

TEST(MeshFile, FormatsAreNamedByTheirEndings) {
  EXPECT_EQ(mesh_format_of("a/b.stl"), mesh_format::stl);
  EXPECT_EQ(mesh_format_of("b.glb"), mesh_format::glb);
  EXPECT_EQ(mesh_format_of("b.gltf"), std::nullopt);
}

TEST(MeshFile, StlHasTheTriangles) {
  for (unsigned order = 0; order <= 2; ++order) {
    const mesh expected = make_mesh(order);
    mesh_file_size size;
    const std::string bytes = written(mesh_format::stl, order, &size);
    const std::size_t faces = expected.directions.size();
    ASSERT_EQ(bytes.size(), 84 + 100 * faces);
    EXPECT_EQ(size.bytes, bytes.size());
    ASSERT_EQ(at<std::uint32_t>(bytes, 80), 2 * faces);
    EXPECT_FALSE(bytes.starts_with("solid"));
    for (std::size_t face = 0; face < faces; ++face) {
      constexpr std::size_t corners[2][3] = {{0, 1, 2}, {0, 2, 3}};
      for (std::size_t half = 0; half < 2; ++half) {
        const std::size_t begin = 84 + 50 * (2 * face + half);
        const auto normal = at<std::array<float, 3>>(bytes, begin);
        EXPECT_EQ(normal[axis_of(expected.directions[face])], is_forward(expected.directions[face]) ? 1 : -1);
        for (std::size_t i = 0; i < 3; ++i) {
          const float* vertex = &expected.vertices[3 * expected.faces[4 * face + corners[half][i]]];
          const auto place = at<std::array<float, 3>>(bytes, begin + 12 + 12 * i);
          ASSERT_TRUE(place[0] == vertex[0] && place[1] == vertex[1] && place[2] == vertex[2]);
        }
      }
    }
  }
}

TEST(MeshFile, PlyHasTheMesh) {
  for (unsigned order = 0; order <= 3; ++order) {
    const mesh expected = make_mesh(order);
    mesh_file_size size;
    const std::string bytes = written(mesh_format::ply, order, &size);
    EXPECT_EQ(size.bytes, bytes.size());
    const std::string end = "end_header\n";
    const std::size_t begin = bytes.find(end) + end.size();
    EXPECT_NE(bytes.find("element vertex " + count_sponge(order).vertices + "\n"), std::string::npos);
    EXPECT_NE(bytes.find("element face " + count_sponge(order).faces + "\n"), std::string::npos);
    EXPECT_EQ(values_at<float>(bytes, begin, expected.vertices.size()), expected.vertices);
    const std::size_t list = begin + 4 * expected.vertices.size();
    ASSERT_EQ(bytes.size(), list + 17 * expected.directions.size());
    for (std::size_t face = 0; face < expected.directions.size(); ++face) {
      ASSERT_EQ(bytes[list + 17 * face], 4);
      for (std::size_t i = 0; i < 4; ++i) {
        ASSERT_EQ(at<std::uint32_t>(bytes, list + 17 * face + 1 + 4 * i), expected.faces[4 * face + i]);
      }
    }
  }
}

TEST(MeshFile, GlbHasTheMesh) {
  const mesh expected = make_mesh(2);
  mesh_file_size size;
  const std::string bytes = written(mesh_format::glb, 2, &size);
  EXPECT_EQ(size.bytes, bytes.size());
  EXPECT_EQ(bytes.substr(0, 4), "glTF");
  EXPECT_EQ(at<std::uint32_t>(bytes, 4), 2u);
  ASSERT_EQ(at<std::uint32_t>(bytes, 8), bytes.size());
  const std::size_t described = at<std::uint32_t>(bytes, 12);
  EXPECT_EQ(described % 4, 0u);
  const auto description = nlohmann::json::parse(bytes.substr(20, described));
  const std::size_t begin = 20 + described + 8;
  EXPECT_EQ(at<std::uint32_t>(bytes, begin - 8), description["buffers"][0]["byteLength"].get<std::size_t>());
  EXPECT_EQ(bytes.substr(begin - 4, 3), "BIN");
  EXPECT_EQ(description["accessors"][0]["count"], expected.vertices.size() / 3);
  EXPECT_EQ(values_at<float>(bytes, begin, expected.vertices.size()), expected.vertices);
  const std::size_t list = begin + description["bufferViews"][1]["byteOffset"].get<std::size_t>();
  ASSERT_EQ(bytes.size(), list + 24 * expected.directions.size());
  for (std::size_t face = 0; face < expected.directions.size(); ++face) {
    const std::uint32_t* corners = &expected.faces[4 * face];
    ASSERT_EQ(values_at<std::uint32_t>(bytes, list + 24 * face, 6),
              (std::vector<std::uint32_t>{corners[0], corners[1], corners[2], corners[0], corners[2], corners[3]}));
  }
}

TEST(MeshFile, ObjHasTheMesh) {
  const mesh expected = make_mesh(2);
  mesh_file_size size;
  std::istringstream text(written(mesh_format::obj, 2, &size));
  EXPECT_GE(size.bytes, text.str().size());
  std::vector<float> vertices;
  std::vector<std::uint32_t> faces;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line.substr(1));
    if (line[0] == 'v') {
      for (float place; words >> place;) vertices.push_back(place);
    } else if (line[0] == 'f') {
      for (std::uint32_t corner; words >> corner;) faces.push_back(corner - 1);
    }
  }
  EXPECT_EQ(vertices, expected.vertices);
  EXPECT_EQ(faces, expected.faces);
}

TEST(MeshFile, AnOrderThatAFormatCannotHoldIsRefusedWithItsSize) {
  EXPECT_EQ(size_of_mesh_file(mesh_format::stl, 5).bytes, 84u + 100u * 6531072u);
  const std::vector<std::pair<mesh_format, unsigned>> most = {
      {mesh_format::stl, 6}, {mesh_format::ply, 7}, {mesh_format::obj, 7}, {mesh_format::glb, 5}};
  for (const auto& [format, order] : most) {
    EXPECT_NO_THROW(size_of_mesh_file(format, order));
    try {
      write_mesh("/dev/null", format, order + 1);
      FAIL() << order;
    } catch (const shoal::bad_argument& refusal) {
      const std::string text = refusal.what();
      EXPECT_NE(text.find(count_sponge(order + 1).faces + " faces"), std::string::npos) << text;
      EXPECT_NE(text.find("bytes"), std::string::npos) << text;
      EXPECT_TRUE(text.ends_with("at most " + std::to_string(order))) << text;
    }
  }
}

// 6.5 million faces and 5.5 million vertices, which would be 170 MB as arrays.
TEST(MeshFile, NeedsLittleMemory) {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_EQ(write_mesh("/dev/null", mesh_format::ply, 5).faces, 6531072u);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 20 * 1024) << "kilobytes";
}

// A write that fails on its own thread ends the walk with its message.
TEST(MeshFile, AFullDiskIsTold) {
  try {
    write_mesh("/dev/full", mesh_format::stl, 4);
    FAIL();
  } catch (const shoal::io_error& failure) {
    EXPECT_NE(std::string(failure.what()).find("/dev/full: cannot write"), std::string::npos) << failure.what();
  }
}

TEST(MeshFile, StopsWhenItIsAskedAndLeavesNothing) {
  const std::string path = testing::TempDir() + "sponge_that_was_stopped.ply";
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(write_mesh(path, mesh_format::ply, 3, shoal::control{{}, stop.get_token()}), shoal::interrupted);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(MeshFile, ADiskWithoutRoomIsToldBeforeTheWork) {
  const mesh_file_size size = size_of_mesh_file(mesh_format::obj, 7);
  for (const std::filesystem::path& folder :
       {std::filesystem::path(testing::TempDir()), std::filesystem::path("/dev/shm")}) {
    std::error_code code;
    const std::filesystem::space_info room = std::filesystem::space(folder, code);
    // Twice: others may remove their files meanwhile.
    if (code || room.available >= size.bytes / 2) continue;
    const std::string path = (folder / "sponge_without_room.obj").string();
    try {
      write_mesh(path, mesh_format::obj, 7);
      FAIL();
    } catch (const shoal::io_error& refusal) {
      const std::string text = refusal.what();
      EXPECT_NE(text.find("order 7 has 2568388608 faces"), std::string::npos) << text;
      EXPECT_NE(text.find(std::to_string(size.bytes) + " bytes"), std::string::npos) << text;
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    return;
  }
  GTEST_SKIP() << "every disk here has room for " << size.bytes << " bytes";
}
