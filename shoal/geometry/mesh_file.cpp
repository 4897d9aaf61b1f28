#include <shoal/geometry/mesh_file.hpp>

#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/geometry/mesh_bytes.hpp>
#include <shoal/geometry/sponge_counts.hpp>
#include <shoal/geometry/surface.hpp>

namespace shoal::geometry {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are put together and written as memory holds them");

constexpr std::uint64_t stl_header = 84, stl_triangle = 50;
constexpr unsigned corners_of_triangles[2][3] = {{0, 1, 2}, {0, 2, 3}};
constexpr std::uint64_t most_numbered = std::numeric_limits<std::uint32_t>::max();

constexpr std::pair<std::string_view, mesh_format> endings[] = {
    {".stl", mesh_format::stl}, {".ply", mesh_format::ply}, {".obj", mesh_format::obj}, {".glb", mesh_format::glb}};

std::string ply_header(const surface_size& size) {
  return fmt::format(
      "ply\nformat binary_little_endian 1.0\ncomment Menger sponge\nelement vertex {}\nproperty float x\n"
      "property float y\nproperty float z\nelement face {}\nproperty list uchar uint vertex_indices\nend_header\n",
      size.vertices, size.faces);
}

// The JSON chunk of a glTF file. The node turns z upward, where glTF has y.
std::string glb_description(const surface_size& size) {
  const std::uint64_t vertex_bytes = 12 * size.vertices, index_bytes = 24 * size.faces;
  std::string text = fmt::format(
      R"({{"asset":{{"version":"2.0","generator":"shoal"}},"scene":0,"scenes":[{{"nodes":[0]}}],)"
      R"("nodes":[{{"mesh":0,"rotation":[-0.70710678,0,0,0.70710678]}}],)"
      R"("meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}},"indices":1}}]}}],)"
      R"("buffers":[{{"byteLength":{0}}}],"bufferViews":[{{"buffer":0,"byteLength":{1},"target":34962}},)"
      R"({{"buffer":0,"byteOffset":{1},"byteLength":{2},"target":34963}}],)"
      R"("accessors":[{{"bufferView":0,"componentType":5126,"count":{3},"type":"VEC3","min":[0,0,0],"max":[1,1,1]}},)"
      R"({{"bufferView":1,"componentType":5125,"count":{4},"type":"SCALAR"}}]}})",
      vertex_bytes + index_bytes, vertex_bytes, index_bytes, size.vertices, 6 * size.faces);
  text.resize((text.size() + 3) / 4 * 4, ' ');
  return text;
}

std::uint64_t most_obj_bytes(unsigned order, const surface_size& size) {
  const std::uint64_t digits = std::to_string(size.vertices).size();
  const std::uint64_t place = order == 0 ? 1 : std::numeric_limits<float>::max_digits10 + 7;  // 1.2345678e-05
  return 64 + size.vertices * (2 + 3 * (place + 1)) + size.faces * (2 + 4 * (digits + 1));
}

// Calls step(z) for each layer, and asks between them whether to go on.
template <class Step>
void for_each_layer(const sponge_rows& cells, const control& control, const Step& step) {
  for (std::uint64_t z = 0; z < cells.cells(); ++z) {
    if (control.stop.stop_requested()) throw interrupted("interrupted; no file was written");
    step(z);
  }
}

// The two triangles of a face, whose x are filled in for each face of a row.
std::array<char, 2 * stl_triangle> stl_faces(direction looks, const float* y, const float* z) {
  std::array<char, 2 * stl_triangle> made{};
  std::array<float, 3> normal{};
  normal[axis_of(looks)] = is_forward(looks) ? 1.0f : -1.0f;
  char* at = made.data();
  for (const auto& triangle : corners_of_triangles) {
    at = store(at, normal);
    for (const unsigned corner : triangle) {
      const std::uint8_t* step = face_corners[static_cast<unsigned>(looks)][corner];
      at = store(at, std::array<float, 3>{0, y[step[1]], z[step[2]]});
    }
    at = store(at, std::uint16_t{0});
  }
  return made;
}

void write_stl(mesh_bytes& out, const sponge_rows& cells, const surface_size& size, const control& control) {
  std::string header = "Menger sponge";  // it must not begin with "solid", which means text
  header.resize(stl_header - 4);
  out.append(header);
  out.taken(store(out.room(4), static_cast<std::uint32_t>(2 * size.faces)));
  const std::vector<float> places = places_of_planes(cells.cells());
  face_rows rows(cells);
  for_each_layer(cells, control, [&](std::uint64_t z) {
    rows.for_each_row(z, [&](direction looks, std::uint32_t y, std::span<const std::uint32_t> xs) {
      const auto faces = stl_faces(looks, &places[y], &places[z]);
      // Of the six corners those on the far side in x, which are the same for a row.
      std::array<std::uint32_t, 6> steps;
      for (std::size_t i = 0; i < 6; ++i) {
        steps[i] = face_corners[static_cast<unsigned>(looks)][corners_of_triangles[i / 3][i % 3]][0];
      }
      char* at = out.room(faces.size() * xs.size());
      for (const std::uint32_t x : xs) {
        std::memcpy(at, faces.data(), faces.size());
        for (std::size_t i = 0; i < 6; ++i) store(at + 12 + 50 * (i / 3) + 12 * (i % 3), places[x + steps[i]]);
        at += faces.size();
      }
      out.taken(at);
    });
  });
}

// Calls write(at, place_x, y, z) for each vertex, which returns where its bytes end.
template <class Write>
void write_vertices(mesh_bytes& out, const sponge_rows& cells, std::size_t longest, const control& control,
                    const Write& write) {
  vertex_plane plane(cells);
  const auto write_plane = [&](std::uint64_t z) {
    plane.move_to(z);
    for (std::uint64_t y = 0; y < plane.rows(); ++y) {
      const std::span<const std::uint32_t> xs = plane.xs(y);
      char* at = out.room(longest * xs.size());
      for (const std::uint32_t x : xs) at = write(at, x, y, z);
      out.taken(at);
    }
  };
  for_each_layer(cells, control, write_plane);
  write_plane(cells.cells());
}

using square = std::array<std::uint64_t, 2>;  // four numbers, as corner_numbers has them

// Calls write(at, corners) for the vertices of each face, which returns where its bytes end.
template <class Write>
void write_squares(mesh_bytes& out, const sponge_rows& cells, std::size_t longest, const control& control,
                   const Write& write) {
  vertex_numbers numbers(cells);
  face_rows rows(cells);
  for_each_layer(cells, control, [&](std::uint64_t z) {
    numbers.climb(z);
    rows.for_each_row(z, [&](direction looks, std::uint32_t y, std::span<const std::uint32_t> xs) {
      const corner_numbers corners = numbers.corners(looks, y);
      char* at = out.room(longest * xs.size());
      for (const std::uint32_t x : xs) at = write(at, corners.at(x));
      out.taken(at);
    });
  });
}

// Vertices of PLY and glTF.
void write_places(mesh_bytes& out, const sponge_rows& cells, const control& control) {
  const std::vector<float> places = places_of_planes(cells.cells());
  write_vertices(out, cells, 12, control, [&](char* at, std::uint32_t x, std::uint64_t y, std::uint64_t z) {
    return store(store(at, places[x]), std::array<float, 2>{places[y], places[z]});
  });
}

void write_ply(mesh_bytes& out, const sponge_rows& cells, const surface_size& size, const control& control) {
  out.append(ply_header(size));
  write_places(out, cells, control);
  write_squares(out, cells, 17, control, [](char* at, const square& corners) {
    *at = 4;
    return store(at + 1, corners);
  });
}

void write_glb(mesh_bytes& out, const sponge_rows& cells, const surface_size& size, const control& control) {
  const std::string description = glb_description(size);
  const auto described = static_cast<std::uint32_t>(description.size());
  const auto bytes = static_cast<std::uint32_t>(12 * size.vertices + 24 * size.faces);
  out.taken(
      store(out.room(20), std::array<std::uint32_t, 5>{0x46546c67, 2, 28 + described + bytes, described, 0x4e4f534a}));
  out.append(description);
  out.taken(store(out.room(8), std::array<std::uint32_t, 2>{bytes, 0x004e4942}));
  write_places(out, cells, control);
  write_squares(out, cells, 24, control, [](char* at, const square& corners) {
    const std::uint64_t third_and_first = (corners[1] & most_numbered) | corners[0] << 32;
    return store(store(store(at, corners[0]), third_and_first), corners[1]);
  });
}

void write_obj(mesh_bytes& out, const sponge_rows& cells, const control& control) {
  constexpr std::size_t longest = 64;
  out.append("# Menger sponge\n");
  std::vector<std::string> places;
  for (const float place : places_of_planes(cells.cells())) places.push_back(fmt::format(" {}", place));
  write_vertices(out, cells, longest, control, [&](char* at, std::uint32_t x, std::uint64_t y, std::uint64_t z) {
    *at++ = 'v';
    for (const std::string* place : {&places[x], &places[y], &places[z]}) {
      at = std::copy(place->begin(), place->end(), at);
    }
    *at++ = '\n';
    return at;
  });
  write_squares(out, cells, longest, control, [](char* at, const square& corners) {
    *at++ = 'f';
    for (const std::uint32_t corner : std::bit_cast<std::array<std::uint32_t, 4>>(corners)) {
      const fmt::format_int number(std::uint64_t{corner} + 1);
      *at++ = ' ';
      at = std::copy(number.data(), number.data() + number.size(), at);
    }
    *at++ = '\n';
    return at;
  });
}

void require_room(const std::string& path, const output_file& file, unsigned order, const mesh_file_size& size) {
  struct statvfs disk {};
  if (!file.regular() || ::fstatvfs(file.descriptor(), &disk) != 0) return;
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (size.bytes <= free) return;
  throw io_error(fmt::format("{}: order {} has {} faces, which take {} bytes; the disk has {} left", path, order,
                             size.faces, size.bytes, free));
}

}  // namespace

std::optional<mesh_format> mesh_format_of(std::string_view path) {
  for (const auto& [ending, format] : endings) {
    if (path.ends_with(ending)) return format;
  }
  return std::nullopt;
}

mesh_file_size size_of_mesh_file(mesh_format format, unsigned order) {
  const surface_size size = size_of_surface(order);
  mesh_file_size file{size.faces, size.vertices, 0};
  bool held = size.vertices <= most_numbered;
  switch (format) {
    case mesh_format::stl:
      file.bytes = stl_header + 2 * stl_triangle * size.faces;
      held = 2 * size.faces <= most_numbered;
      break;
    case mesh_format::ply:
      file.bytes = ply_header(size).size() + 12 * size.vertices + 17 * size.faces;
      break;
    case mesh_format::glb:
      file.bytes = 28 + glb_description(size).size() + 12 * size.vertices + 24 * size.faces;
      held = file.bytes <= most_numbered;
      break;
    case mesh_format::obj:
      file.bytes = most_obj_bytes(order, size);
      break;
  }
  if (held) return file;
  const std::string_view ending = endings[static_cast<std::size_t>(format)].first;
  constexpr unsigned most_orders[] = {6, 7, 7, 5};
  const unsigned most = most_orders[static_cast<std::size_t>(format)];
  throw bad_argument(
      fmt::format("order {} has {} faces and {} vertices, {} bytes as {}, which is more than the format counts; "
                  "the order must be at most {}",
                  order, file.faces, file.vertices, file.bytes, ending, most));
}

mesh_file_size write_mesh(const std::string& path, mesh_format format, unsigned order, const control& control) {
  mesh_file_size size = size_of_mesh_file(format, order);
  output_file file(path);
  require_room(path, file, order, size);
  const sponge_rows cells(order);
  const surface_size surface = size_of_surface(order);
  mesh_bytes out(file);
  switch (format) {
    case mesh_format::stl:
      write_stl(out, cells, surface, control);
      break;
    case mesh_format::ply:
      write_ply(out, cells, surface, control);
      break;
    case mesh_format::glb:
      write_glb(out, cells, surface, control);
      break;
    case mesh_format::obj:
      write_obj(out, cells, control);
      break;
  }
  out.finish();
  file.commit();
  return size;
}

}  // namespace shoal::geometry
