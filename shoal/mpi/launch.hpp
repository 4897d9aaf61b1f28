// How this process was started: alone, or as one of several by a launcher such as mpirun or srun.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <shoal/execution/device_choice.hpp>

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

/// The device that a name stands for in a process that was `started` so: as shoal::choose_device says, but "cuda:local"
/// is the GPU whose number is the process's rank on its host. A launcher that shows each process a GPU of its own
/// (srun --gpus-per-task=1) has chosen, and that one is taken. Throws as shoal::choose_device, and bad_argument where
/// a host has more processes than GPUs.
device_choice choose_device(std::string_view name, const launch& started);

/// The number of the GPU that "cuda:local" means where `devices` can be seen.
int local_device(const launch& started, std::size_t devices);

}  // namespace shoal::mpi
