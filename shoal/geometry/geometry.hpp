// The Menger sponge: what it holds, its counts, its surface as meshes and files, and its pictures. The door to this
// room.
#pragma once

#include <shoal/geometry/mesh.hpp>
#include <shoal/geometry/mesh_file.hpp>
#include <shoal/geometry/picture.hpp>
#include <shoal/geometry/sponge.hpp>
#include <shoal/geometry/sponge_counts.hpp>
