// Times predictions on a GPU and the sums of a fit, on rows that are there: TYPE ROWS COLUMNS COMPONENTS SPREAD, or
// all shapes of the ladder. Prints milliseconds, medians of the replays of a graph.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include <shoal/gmm/cuda/plain/plain.hpp>
#include <shoal/gmm/cuda/predictor.hpp>
#include <shoal/gmm/parameters.hpp>

#include "../../../tests/gmm/cuda/mixture.hpp"
#include "../../../tests/gmm/kernel_checks.hpp"
#include "timing.hpp"

namespace {

using shoal::gmm::covariance_type;

void time_shape(covariance_type type, std::size_t count, std::size_t columns, std::size_t components, double spread,
                bool plain) {
  const auto mixture = reference::random_model(type, components, columns, spread, 1);
  const shoal::cuda::stream stream;
  const checks::device_mixture<float> device(shoal::gmm::prepare<float>(mixture), stream);
  const shoal::gmm::statistics_layout layout(type, components, columns);
  const auto shape = checks::shape_of(layout, count, false);
  shoal::cuda::device_buffer<float> rows;
  rows.upload(timing::rows_of(mixture, count), stream);
  stream.synchronize();
  const shoal::cuda::device_piece<float> piece{rows.data(), nullptr, 0, 0, count};

  const auto accumulator = shoal::gmm::make_accumulator<float>(shape);
  shoal::cuda::device_buffer<double> sums(layout.size());
  const auto fit = [&] {
    accumulator->clear(device.view(), stream);
    accumulator->add(piece, device.view(), stream);
    accumulator->merge(sums.data(), device.view(), stream);
  };
  const shoal::gmm::predictor_shape wanted{layout, count, shape.multiprocessors, shape.shared_bytes};
  const auto predictor = plain ? shoal::gmm::plain::make_predictor<float>(wanted, stream)
                               : shoal::gmm::make_predictor<float>(wanted, stream);
  shoal::cuda::device_buffer<std::int32_t> labels(count);
  shoal::cuda::device_buffer<float> probabilities(count * components), log_density(count);
  const auto time = [&](const shoal::gmm::prediction<float>& out) {
    return timing::time_graph(
        stream,
        [&] {
          predictor->prepare(device.view(), stream);
          predictor->add(piece, out, stream);
        },
        plain ? 3 : 20);
  };
  std::printf("%-9s %8zu x %3zu K=%4zu spread %4.1f%s: sums of a fit %8.4f", checks::name(type).c_str(), count, columns,
              components, spread, plain ? " plain" : "", timing::time_graph(stream, fit, 20));
  std::printf(", score %8.4f", time({}));
  std::printf(", log-density %8.4f", time({nullptr, nullptr, log_density.data()}));
  std::printf(", labels %8.4f", time({labels.data(), nullptr, nullptr}));
  std::printf(", probabilities %8.4f\n", time({nullptr, probabilities.data(), nullptr}));
  std::fflush(stdout);
}

covariance_type type_of(const std::string& name) {
  for (const covariance_type type : checks::all_types) {
    if (checks::name(type) == name) return type;
  }
  throw std::invalid_argument("no such covariance type: " + name);
}

}  // namespace

int main(int count, char** arguments) {
  if (count >= 6) {
    time_shape(type_of(arguments[1]), std::stoul(arguments[2]), std::stoul(arguments[3]), std::stoul(arguments[4]),
               std::stod(arguments[5]), count == 7 && std::string(arguments[6]) == "plain");
    return 0;
  }
  time_shape(covariance_type::full, 1048576, 32, 64, 0.3, true);
  for (const double spread : {0.3, 3.0}) {
    time_shape(covariance_type::full, 1048576, 8, 10, spread, false);
    time_shape(covariance_type::full, 581012, 54, 7, spread, false);
    time_shape(covariance_type::full, 1048576, 32, 64, spread, false);
    time_shape(covariance_type::full, 1048576, 128, 32, spread, false);
    time_shape(covariance_type::diag, 1048576, 8, 10, spread, false);
    time_shape(covariance_type::diag, 1000000, 128, 1024, spread, false);
    time_shape(covariance_type::spherical, 1000000, 128, 1024, spread, false);
  }
}
