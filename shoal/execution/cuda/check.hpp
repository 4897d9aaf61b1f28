// CUDA's status codes as exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string_view>

namespace shoal::cuda {

/// Throws error("CUDA could not ACTION: …") unless `status` is success; `action` reads like "copy rows to the device".
void check(cudaError_t status, std::string_view action);

/// Throws error when the launch before it failed. Errors while the kernel runs appear at the next synchronisation.
void check_launch(std::string_view kernel);

/// Throws out_of_memory saying how much device memory was asked for, what is free on the current device, and that rows
/// can be streamed through less of it.
[[noreturn]] void refuse_allocation(std::size_t bytes);

}  // namespace shoal::cuda
