#include <shoal/execution/cuda/check.hpp>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal::cuda {

void check(cudaError_t status, std::string_view action) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that does not stick is not the next call's
  throw error(fmt::format("CUDA could not {}: {}", action, cudaGetErrorString(status)));
}

void check_launch(std::string_view kernel) {
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess)
    throw error(fmt::format("CUDA could not launch {}: {}", kernel, cudaGetErrorString(status)));
}

void refuse_allocation(std::size_t bytes) {
  cudaGetLastError();
  std::size_t free = 0, total = 0;
  constexpr double mebibyte = 1024.0 * 1024.0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) cudaGetLastError();
  throw out_of_memory(
      fmt::format("{:.1f} MiB of device memory were needed, and {:.1f} MiB of {:.1f} MiB are free: give rows a smaller "
                  "share of it (--device-memory), so that they are streamed, or use more devices",
                  static_cast<double>(bytes) / mebibyte, static_cast<double>(free) / mebibyte,
                  static_cast<double>(total) / mebibyte));
}

}  // namespace shoal::cuda
