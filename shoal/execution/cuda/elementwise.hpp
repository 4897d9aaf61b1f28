// Arithmetic on rows of numbers on the device, element by element.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace shoal::cuda {

/// into[i] = parts[0][i] + parts[1][i] + …, in that order, for i < count, where `into` may be parts[0] and is no other
/// one. Parts may be memory of other devices that this one reads directly. Element: double, or long long.
template <class Element>
void sum_parts(Element* into, std::span<const Element* const> parts, std::size_t count, cudaStream_t stream);
extern template void sum_parts(double*, std::span<const double* const>, std::size_t, cudaStream_t);
extern template void sum_parts(long long*, std::span<const long long* const>, std::size_t, cudaStream_t);

/// to[i] = from[i] for i < count, where `from` may be memory of another device that this one reads directly. Few
/// numbers come sooner in this way than by a copy, which has to be started in another engine.
void copy_words(std::uint32_t* to, const std::uint32_t* from, std::size_t count, cudaStream_t stream);

/// values[i] *= factor for i < count.
void scale(float* values, std::size_t count, float factor, cudaStream_t stream);
void scale(double* values, std::size_t count, double factor, cudaStream_t stream);

}  // namespace shoal::cuda
