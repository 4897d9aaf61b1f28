// What ranks have said to each other.
#pragma once

#include <cstddef>

#include <shoal/execution/communicator.hpp>

namespace shoal::mpi {

/// What one rank has sent since the program began.
struct traffic {
  std::size_t messages = 0;
  std::size_t bytes = 0;
};

/// Of a communicator that this room made. Throws bad_argument for another, and not_built in a build without MPI.
traffic sent_by(const communicator& ranks);

}  // namespace shoal::mpi
