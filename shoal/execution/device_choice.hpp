// Where a computation runs: the host's processor, or CUDA devices.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <shoal/execution/precision.hpp>

namespace shoal {

/// The host's processor unless CUDA devices are listed.
struct device_choice {
  std::vector<int> cuda;   ///< numbers that CUDA gives the devices; empty: the host's processor
  std::size_t memory = 0;  ///< bytes on each device that rows may take, beyond which they are streamed; 0: four fifths
                           ///< of what is free
  shoal::precision precision = shoal::precision::float32;  ///< of products of float32 rows, on CUDA devices

  bool on_host() const { return cuda.empty(); }
};

/// The choice that a name stands for: "cpu"; "cuda" (the first device), "cuda:1", "cuda:0,1", "cuda:all"; "cuda:local",
/// the first too, but for ranks (mpi::choose_device); or "auto", the first CUDA device where this build and this
/// machine have one, else the host. Throws bad_argument for another name or a device that does not exist, not_built
/// when CUDA is named and this build is without it, and error when a CUDA device is named and none can be used.
device_choice choose_device(std::string_view name);

/// Throws bad_argument when a precision other than float32 is chosen where there is none: on the host's processor, or
/// for float64 rows.
void check_precision(const device_choice& choice, bool rows_are_float64);

/// The name that choose_device takes for this choice, its memory and precision left out: "cpu", "cuda:0", "cuda:0,1".
std::string device_name(const device_choice& choice);

}  // namespace shoal
