// Whether all ranks run the same code: what the same bits need.
#pragma once

#include <string>
#include <vector>

namespace shoal::mpi {

/// What one rank runs on, and what it runs.
struct runner {
  std::string host;
  std::string version;
  std::string build;            ///< a sum of the file that holds the code
  std::string instruction_set;  ///< what its vector code was chosen for
};

std::string host_name();

/// That of this process.
runner this_runner();

/// Throws bad_argument that names the first rank which differs from rank 0, its host and in what.
void check_alike(const std::vector<runner>& ranks);

}  // namespace shoal::mpi
