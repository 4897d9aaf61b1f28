// One thread a pixel. The arithmetic is the host's, in whole numbers but for the rays' beginnings, which are products
// and sums that this file is compiled not to fuse (-fmad=false).
#include <cuda_runtime.h>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/geometry/cuda/draw.hpp>
#include <shoal/geometry/cuda/draw_kernel.cuh>

namespace shoal::geometry::cuda {

void draw(const scene& of, int device, std::uint8_t* pixels) {
  const shoal::cuda::device_scope scope(device);
  const shoal::cuda::stream stream;
  shoal::cuda::device_buffer<scene> drawn;
  drawn.upload({&of, 1}, stream);
  const std::size_t bytes = std::size_t{3} * of.width * of.height;
  const shoal::cuda::device_buffer<std::uint8_t> colours(bytes);
  launch_draw(of.width, of.height, drawn.data(), const_cast<std::uint8_t*>(colours.data()), stream);
  shoal::cuda::check_launch("draw_kernel");
  shoal::cuda::check(cudaMemcpyAsync(pixels, colours.data(), bytes, cudaMemcpyDeviceToHost, stream),
                     "copy a picture from the device");
  stream.synchronize();
}

}  // namespace shoal::geometry::cuda
