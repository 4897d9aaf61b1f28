// How this process was started: alone, or as one of several by a launcher such as mpirun or srun.
#pragma once

#include <cstddef>
#include <string>

namespace shoal::mpi {

/// What the launcher's environment says. A process that was started by itself is rank 0 of 1.
struct launch {
  std::string variable;  ///< that gives the number of processes; empty: there is none
  std::size_t size = 1;
  std::size_t rank = 0;
  std::size_t local_rank = 0;  ///< among the processes of this host
  std::size_t local_size = 1;  ///< how many of them there are on this host, as far as the launcher says
};

/// Open MPI, MPICH and those that derive from it (Intel MPI, MVAPICH), and Slurm's srun are known. What sbatch and
/// salloc tell a script is of the allocation, and does not count. Throws bad_argument when a variable is no number.
launch launched();

}  // namespace shoal::mpi
