#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/stream.hpp>

#include "grid_rows.hpp"

namespace grid {

template <class Scalar>
const Scalar* values_on(int device, std::size_t count, const clusters& kind) {
  static shoal::cuda::device_buffer<Scalar> all;
  static clusters held_kind;
  // Emptied, for its size says how many values of this kind it holds.
  if (held_kind != kind) all = shoal::cuda::device_buffer<Scalar>();
  held_kind = kind;
  if (all.size() >= count) return all.data();
  const shoal::cuda::device_scope scope(device);
  const shoal::cuda::stream stream;
  all.upload(values<Scalar>(count, kind), stream);
  stream.synchronize();
  return all.data();
}
template const float* values_on(int, std::size_t, const clusters&);
template const double* values_on(int, std::size_t, const clusters&);

}  // namespace grid
