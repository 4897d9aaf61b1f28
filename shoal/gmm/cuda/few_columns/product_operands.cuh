// Where coefficients of products lie in the operands that kernels load.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <shoal/gmm/cuda/few_columns/products.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>

namespace shoal::gmm::few_columns {

/// Where coefficient `feature` of component k lies among those of high terms; low ones are 256 further on.
__device__ inline unsigned operand_place(unsigned k, unsigned feature, unsigned steps) {
  const unsigned row = k % 16, column = feature % 16;
  const unsigned lane = row % 8 * 4 + column % 8 / 2;
  const unsigned block = (k / 16 * steps + feature / 16) * 2;
  return (block * 32 + lane) * 8 + (column / 8 * 2 + row / 8) * 2 + column % 2;
}

/// Writes it as the sum of two terms.
__device__ inline void write_operand(const product_mixture& mixture, unsigned k, unsigned feature, unsigned steps,
                                     double value) {
  std::uint32_t high, low;
  tensor::split(static_cast<float>(value), 0.0F, high, low);
  const unsigned at = operand_place(k, feature, steps);
  mixture.operands[at] = static_cast<std::uint16_t>(high);
  mixture.operands[at + 256] = static_cast<std::uint16_t>(low);
}

}  // namespace shoal::gmm::few_columns
