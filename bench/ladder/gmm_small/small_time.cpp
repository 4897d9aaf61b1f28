// Times the GPU kernels for few columns: accumulate and merge, twenty iterations in one graph, median of replays.
//   small_time [full|tied|diag|spherical rows columns components [double]]
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>

#include "../../../tests/gmm/cuda/mixture.hpp"
#include "../../../tests/gmm/reference.hpp"

namespace {

using shoal::gmm::covariance_type;

covariance_type type_of(const char* name) {
  if (std::strcmp(name, "tied") == 0) return covariance_type::tied;
  if (std::strcmp(name, "diag") == 0) return covariance_type::diag;
  if (std::strcmp(name, "spherical") == 0) return covariance_type::spherical;
  return covariance_type::full;
}

// Milliseconds of one of the calls that `enqueue` makes.
template <class Enqueue>
double median_time(cudaStream_t stream, const Enqueue& enqueue) {
  constexpr int calls = 20, replays = 15;
  using shoal::cuda::check;
  cudaGraph_t graph;
  cudaGraphExec_t runnable;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  for (int i = 0; i < calls; ++i) enqueue();
  check(cudaStreamEndCapture(stream, &graph), "capture");
  check(cudaGraphInstantiate(&runnable, graph, 0), "instantiate");
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "make an event");
  check(cudaEventCreate(&end), "make an event");
  std::vector<double> times;
  for (int i = 0; i < replays + 3; ++i) {
    check(cudaEventRecord(begin, stream), "record");
    check(cudaGraphLaunch(runnable, stream), "launch");
    check(cudaEventRecord(end, stream), "record");
    check(cudaEventSynchronize(end), "wait");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "time");
    if (i >= 3) times.push_back(milliseconds / calls);
  }
  std::sort(times.begin(), times.end());
  cudaGraphExecDestroy(runnable);
  cudaGraphDestroy(graph);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return times[times.size() / 2];
}

template <class Scalar>
void measure_one(const char* kernel, const char* type, shoal::gmm::accumulator<Scalar>& accumulator,
                 const shoal::gmm::prepared_parameters<Scalar>& parameters, const shoal::gmm::statistics_layout& layout,
                 const Scalar* values, std::size_t rows, const shoal::cuda::stream& stream) {
  shoal::cuda::device_buffer<double> sums(layout.size());
  const auto add = [&] {
    accumulator.clear(parameters, stream);
    accumulator.add({values, nullptr, 0, 0, rows}, parameters, stream);
  };
  const double added = median_time(stream, add);
  const double both = median_time(stream, [&] {
    add();
    accumulator.merge(sums.data(), parameters, stream);
  });
  const auto got = sums.download(layout.size(), stream);
  std::printf("%-9s %-6s %8zu %3zu %4zu  %-9s  add %.5f ms  add+merge %.5f ms  far %.0f  log-likelihood %.9g\n", type,
              sizeof(Scalar) == 4 ? "float" : "double", rows, layout.columns(), layout.components(), kernel, added,
              both, got[2], got[0] / got[1]);
}

template <class Scalar>
void measure(const char* type, std::size_t rows, std::size_t columns, std::size_t components) {
  shoal::cuda::stream stream;
  const auto model = reference::random_model(type_of(type), components, columns, 1, 5);
  const auto data = reference::random_rows<Scalar>(model, rows, columns, 6);
  const shoal::gmm::statistics_layout layout(model.covariance_type, components, columns);
  const checks::device_mixture<Scalar> mixture(shoal::gmm::prepare<Scalar>(model), stream);
  shoal::cuda::device_buffer<Scalar> values;
  values.upload(data, stream);
  const auto shape = checks::shape_of(layout, rows, false);
  if (shoal::gmm::few_columns::suits<Scalar>(shape)) {
    const auto accumulator = shoal::gmm::few_columns::make_accumulator<Scalar>(shape);
    measure_one<Scalar>("one team", type, *accumulator, mixture.view(), layout, values.data(), rows, stream);
  }
  if constexpr (std::is_same_v<Scalar, float>) {
    if (!shoal::gmm::few_columns::suits_teams(shape)) return;
    const auto accumulator = shoal::gmm::few_columns::make_team_accumulator(shape);
    measure_one<float>("two teams", type, *accumulator, mixture.view(), layout, values.data(), rows, stream);
  }
}

void measure(const char* type, const char* scalar, std::size_t rows, std::size_t columns, std::size_t components) {
  std::strcmp(scalar, "double") == 0 ? measure<double>(type, rows, columns, components)
                                     : measure<float>(type, rows, columns, components);
}

}  // namespace

int main(int count, char** arguments) {
  if (count >= 5) {
    measure(arguments[1], count > 5 ? arguments[5] : "float", std::strtoull(arguments[2], nullptr, 10),
            std::strtoull(arguments[3], nullptr, 10), std::strtoull(arguments[4], nullptr, 10));
    return 0;
  }
  measure("full", "float", 1 << 20, 8, 10);
  measure("full", "float", 46800, 8, 8);
  measure("full", "float", 1 << 21, 8, 8);
  measure("full", "float", 1000000, 8, 10);
  measure("full", "float", 1 << 20, 2, 10);
  measure("full", "float", 1 << 20, 4, 10);
  measure("full", "float", 1 << 20, 12, 10);
  measure("full", "float", 1 << 20, 16, 10);
  measure("full", "float", 1 << 20, 8, 3);
  measure("full", "float", 1 << 18, 8, 64);
  measure("full", "float", 1 << 18, 8, 200);
  measure("tied", "float", 1 << 20, 8, 10);
  measure("diag", "float", 1 << 20, 8, 10);
  measure("diag", "float", 46800, 8, 8);
  measure("spherical", "float", 1 << 20, 8, 10);
  measure("full", "double", 1 << 18, 8, 10);
  measure("full", "double", 1 << 18, 16, 10);
  measure("diag", "double", 1 << 18, 8, 10);
}
