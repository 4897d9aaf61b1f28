// The surface of a sponge as a file that other programs read, written as it is walked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <shoal/core/progress.hpp>

namespace shoal::geometry {

/// STL is binary, two triangles a face and no shared vertices. PLY is binary and little-endian, OBJ is text; both have
/// the squares and their shared vertices. GLB is binary glTF 2.0, with triangles, shared vertices and z upward.
enum class mesh_format { stl, ply, obj, glb };

/// The format that the end of a file's name says: .stl, .ply, .obj or .glb.
std::optional<mesh_format> mesh_format_of(std::string_view path);

struct mesh_file_size {
  std::uint64_t faces = 0;
  std::uint64_t vertices = 0;
  std::uint64_t bytes = 0;  ///< of OBJ: the most that they may be
};

/// What a file of the format takes. Throws bad_argument, with the number of faces and bytes, for an order that the
/// format cannot hold: STL and GLB count to 2³², PLY and OBJ number vertices up to 2³². These are orders above 6, 5, 7
/// and 7.
mesh_file_size size_of_mesh_file(mesh_format format, unsigned order);

/// Writes the unit faces of the sponge, with coordinates from 0 to 1, whole or not at all; pipes and devices are
/// written directly. Memory is for two layers of vertices: 8·9ⁿ bytes. Throws as size_of_mesh_file(), and io_error with
/// faces and bytes where the disk has less room; interrupted when `control` says to stop.
mesh_file_size write_mesh(const std::string& path, mesh_format format, unsigned order, const control& control = {});

}  // namespace shoal::geometry
