#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/stream.hpp>

#include "grid_rows.hpp"

namespace grid {

template <class Scalar>
const Scalar* values_on(int device, std::size_t count) {
  static shoal::cuda::device_buffer<Scalar> all;
  if (all.size() >= count) return all.data();
  const shoal::cuda::device_scope scope(device);
  const shoal::cuda::stream stream;
  all.upload(values<Scalar>(count), stream);
  stream.synchronize();
  return all.data();
}
template const float* values_on(int, std::size_t);
template const double* values_on(int, std::size_t);

}  // namespace grid
