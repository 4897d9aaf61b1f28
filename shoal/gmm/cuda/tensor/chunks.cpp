#include <shoal/gmm/cuda/tensor/chunks.hpp>

#include <cstdint>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/shard_plan.hpp>

namespace shoal::gmm::tensor {

bool has_products() {
  int device = 0, major = 0;
  cuda::check(cudaGetDevice(&device), "name the device");
  cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "describe the device");
  return major == 9;
}

std::size_t chunk_rows_for(std::size_t components, std::size_t most_rows, std::size_t most_chunk_rows) {
  const std::size_t units = std::max<std::size_t>(1, (most_rows + cuda::piece_unit - 1) / cuda::piece_unit);
  const std::size_t chunk_units = std::max(chunk_terms / components / cuda::piece_unit, std::size_t{1});
  return std::min(std::min(units, chunk_units) * cuda::piece_unit, most_chunk_rows);
}

std::size_t section_rows_for(std::size_t lanes, std::size_t chunk_rows, std::size_t least_rows, std::size_t most_rows) {
  std::size_t section = most_rows;
  while (section > least_rows && chunk_rows / section < lanes) section /= 2;
  return section;
}

void check_piece(const cuda::device_piece<float>& piece) {
  if (piece.share_first % cuda::piece_unit == 0 && reinterpret_cast<std::uintptr_t>(piece.rows) % 16 == 0) return;
  throw bad_argument(
      fmt::format("a piece begins at row {} of its share, which is not a multiple of {}, or is not aligned to 16 bytes",
                  piece.share_first, cuda::piece_unit));
}

prediction<float> beginning_at(const prediction<float>& out, std::size_t row, std::size_t components) {
  return {out.labels == nullptr ? nullptr : out.labels + row,
          out.probabilities == nullptr ? nullptr : out.probabilities + row * components,
          out.log_density == nullptr ? nullptr : out.log_density + row};
}

}  // namespace shoal::gmm::tensor
