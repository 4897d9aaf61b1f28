#include <shoal/mpi/launch.hpp>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/devices.hpp>

namespace shoal::mpi {
namespace {

// The variables of one kind of launcher; a null one is not set by it.
struct variables {
  const char* size;
  const char* rank;
  const char* local_rank;
  const char* local_size;
};

// The launcher closest to the process comes first: mpirun within a job of Slurm sets its own beside Slurm's.
constexpr variables known[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID", nullptr},
};

std::optional<std::size_t> number_in(const char* variable) {
  const char* const set = variable == nullptr ? nullptr : std::getenv(variable);
  if (set == nullptr || *set == '\0') return std::nullopt;
  const std::string_view text(set);
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) {
    throw bad_argument(
        fmt::format("the environment variable {} is set by launchers of several processes, and must be "
                    "a number; got '{}'",
                    variable, text));
  }
  return number;
}

}  // namespace

launch launched() {
  for (const variables& of : known) {
    const std::optional<std::size_t> size = number_in(of.size);
    const std::optional<std::size_t> rank = number_in(of.rank);
    if (!size || !rank || *size == 0 || *rank >= *size) continue;
    return {of.size, *size, *rank, number_in(of.local_rank).value_or(0), number_in(of.local_size).value_or(1)};
  }
  return {};
}

// A single GPU that is seen may be each process's own; ranks that share it after all are refused when they meet.
int local_device(const launch& started, std::size_t devices) {
  if (devices == 1) return 0;
  if (started.local_rank < devices) return static_cast<int>(started.local_rank);
  throw bad_argument(fmt::format(
      "cuda:local gives each process of a host a GPU of its own; process {} of a host that has {} GPUs finds "
      "none: start at most {} processes on it, or choose the device cpu",
      started.local_rank, devices, devices));
}

device_choice choose_device(std::string_view name, const launch& started) {
  device_choice chosen = shoal::choose_device(name);
  if (name == "cuda:local") chosen.cuda = {local_device(started, cuda_devices().size())};
  return chosen;
}

}  // namespace shoal::mpi
