// Times the kernels for many columns: one clear, add and merge from a graph, on data that overlap and that lie apart.
// Build it with the library and run it on a machine with a GPU; it prints milliseconds (median of the replays).
#include <cuda_runtime_api.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include <shoal/gmm/parameters.hpp>

#include "../../../tests/gmm/cuda/mixture.hpp"
#include "../../../tests/gmm/kernel_checks.hpp"
#include "../../../tests/gmm/reference.hpp"
#include "timing.hpp"

namespace {

using shoal::gmm::covariance_type;
using timing::rows_of;
using timing::time_graph;

template <class Scalar = float>
void time_shape(covariance_type type, std::size_t count, std::size_t columns, std::size_t components, double spread,
                shoal::precision precision = shoal::precision::float32) {
  const auto mixture = reference::random_model(type, components, columns, spread, 1);
  const shoal::cuda::stream stream;
  const checks::device_mixture<Scalar> device(shoal::gmm::prepare<Scalar>(mixture), stream);
  cudaDeviceProp properties{};
  shoal::cuda::check(cudaGetDeviceProperties(&properties, 0), "describe the device");
  shoal::gmm::accumulator_shape shape;
  shape.layout = shoal::gmm::statistics_layout(type, components, columns);
  shape.share_rows = count;
  shape.multiprocessors = static_cast<std::size_t>(properties.multiProcessorCount);
  shape.shared_bytes = properties.sharedMemPerBlockOptin;
  shape.precision = precision;
  const auto accumulator = shoal::gmm::make_accumulator<Scalar>(shape);
  shoal::cuda::device_buffer<Scalar> rows;
  rows.upload(rows_of<Scalar>(mixture, count), stream);
  shoal::cuda::device_buffer<double> sums(shape.layout.size());
  const auto all = [&] {
    accumulator->clear(device.view(), stream);
    accumulator->add({rows.data(), nullptr, 0, 0, count}, device.view(), stream);
    accumulator->merge(sums.data(), device.view(), stream);
  };
  const double clear = time_graph(
      stream, [&] { accumulator->clear(device.view(), stream); }, 10);
  const double merge = time_graph(
      stream, [&] { accumulator->merge(sums.data(), device.view(), stream); }, 10);
  const double whole = time_graph(stream, all, 20);
  const double again = time_graph(stream, all, 20);
  std::printf(
      "%-9s %-7s %8zu x %3zu K=%3zu spread %4.1f: whole %8.4f ms (again %8.4f), clear %7.4f, merge %7.4f, W0 %.3f\n",
      checks::name(type).c_str(), sizeof(Scalar) == 8 ? "float64" : precision_name(precision).data(), count, columns,
      components, spread, whole, again, clear, merge,
      sums.download(shape.layout.size(), stream)[shape.layout.weight(0)]);
  std::fflush(stdout);
}

covariance_type type_of(const std::string& name) {
  for (const covariance_type type : checks::all_types) {
    if (checks::name(type) == name) return type;
  }
  throw std::invalid_argument("no such covariance type: " + name);
}

}  // namespace

// All shapes of the ladder, or one: TYPE ROWS COLUMNS COMPONENTS SPREAD, and perhaps tf32 or float64.
int main(int count, char** arguments) {
  if (count >= 6) {
    const std::string scalar = count == 7 ? arguments[6] : "float32";
    const auto time = scalar == "float64" ? time_shape<double> : time_shape<float>;
    time(type_of(arguments[1]), std::stoul(arguments[2]), std::stoul(arguments[3]), std::stoul(arguments[4]),
         std::stod(arguments[5]), scalar == "tf32" ? shoal::precision::tf32 : shoal::precision::float32);
    return 0;
  }
  for (const double spread : {0.3, 3.0}) {
    for (const shoal::precision precision : {shoal::precision::float32, shoal::precision::tf32}) {
      for (const covariance_type type : {covariance_type::diag, covariance_type::spherical}) {
        time_shape(type, 1000000, 128, 1024, spread, precision);
        time_shape(type, 1000000, 64, 256, spread, precision);
        time_shape(type, 1000000, 128, 16, spread, precision);
      }
      time_shape(covariance_type::full, 581012, 54, 7, spread, precision);
      time_shape(covariance_type::full, 1048576, 32, 64, spread, precision);
      time_shape(covariance_type::full, 1048576, 128, 32, spread, precision);
    }
  }
  time_shape(covariance_type::full, 1048576, 16, 16, 0.3);
  time_shape(covariance_type::full, 1048576, 64, 16, 0.3);
  time_shape(covariance_type::full, 1048576, 33, 16, 0.3);
  time_shape(covariance_type::tied, 1048576, 32, 64, 0.3);
}
