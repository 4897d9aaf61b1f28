// Times of work on a GPU, from a graph, and rows to work on.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <random>
#include <vector>

#include <shoal/execution/cuda/check.hpp>

#include "../../../tests/gmm/reference.hpp"

namespace timing {

inline double median_milliseconds(cudaStream_t stream, cudaGraphExec_t graph, int repeats) {
  cudaEvent_t begin{}, end{};
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> times;
  for (int i = 0; i < repeats + 3; ++i) {
    cudaEventRecord(begin, stream);
    cudaGraphLaunch(graph, stream);
    cudaEventRecord(end, stream);
    shoal::cuda::check(cudaEventSynchronize(end), "finish its work");
    float time = 0;
    cudaEventElapsedTime(&time, begin, end);
    if (i >= 3) times.push_back(time);
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return static_cast<double>(times[static_cast<std::size_t>(repeats / 2)]);
}

template <class Work>
double time_graph(cudaStream_t stream, const Work& work, int repeats) {
  cudaGraph_t graph{};
  cudaGraphExec_t executable{};
  shoal::cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture a graph");
  work();
  shoal::cuda::check(cudaStreamEndCapture(stream, &graph), "capture a graph");
  shoal::cuda::check(cudaGraphInstantiate(&executable, graph, 0), "make a graph");
  const double time = median_milliseconds(stream, executable, repeats);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  return time;
}

// Rows near the means: a few are made, and repeated in a random order.
template <class Scalar = float>
std::vector<Scalar> rows_of(const shoal::gmm::model& mixture, std::size_t count) {
  const std::size_t some = std::min<std::size_t>(count, 16384);
  const std::vector<Scalar> few = reference::random_rows<Scalar>(mixture, some, mixture.columns, 2);
  std::vector<Scalar> rows(count * mixture.columns);
  std::mt19937 engine(3);
  for (std::size_t r = 0; r < count; ++r) {
    const std::size_t from = r < some ? r : engine() % some;
    std::copy_n(few.begin() + static_cast<std::ptrdiff_t>(from * mixture.columns), mixture.columns,
                rows.begin() + static_cast<std::ptrdiff_t>(r * mixture.columns));
  }
  return rows;
}

}  // namespace timing
