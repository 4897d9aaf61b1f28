// The fits whose bits are kept, through the doors alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <shoal/execution/device_choice.hpp>

#include "given_rows.hpp"

namespace bits {

/// What a fit runs on.
struct place {
  shoal::device_choice device;
  std::size_t threads = 2;
};

enum class runs_on { host_and_devices, host, devices };

/// A fit, and the predictions of what it found.
struct kept_fit {
  std::string name;
  bits::runs_on runs_on;
  std::function<std::uint64_t(const place&)> hash;
};

using list_fits = std::vector<kept_fit> (*)();

inline std::vector<list_fits>& lists_of_fits() {
  static std::vector<list_fits> lists;
  return lists;
}

/// A variable of this type in NAME_fits.cpp adds the fits of that source to all others.
struct add_fits {
  explicit add_fits(list_fits list) { lists_of_fits().push_back(list); }
};

/// Those that run there, of all families.
inline std::vector<kept_fit> fits_that_run_on(runs_on kind) {
  std::vector<kept_fit> chosen;
  for (const list_fits list : lists_of_fits()) {
    for (const kept_fit& fit : list()) {
      if (fit.runs_on == runs_on::host_and_devices || fit.runs_on == kind) chosen.push_back(fit);
    }
  }
  return chosen;
}

/// Bytes for the buffers of streamed rows: three blocks for each thread of the host.
template <class Scalar>
std::size_t host_memory(const shape& shape, const place& place) {
  return shape.streamed ? place.threads * 3 * 512 * shape.columns * sizeof(Scalar) : 0;
}

/// The device, with memory for three pieces of 4096 rows and their weights when they are streamed. A precision that was
/// asked for stays.
template <class Scalar>
shoal::device_choice device_of(const shape& shape, const place& place, shoal::precision precision) {
  shoal::device_choice device = place.device;
  device.precision = precision;
  if (shape.streamed && !device.on_host()) device.memory = 3 * 4096 * (shape.columns + 1) * sizeof(Scalar);
  return device;
}

}  // namespace bits
