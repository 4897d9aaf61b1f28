#include <shoal/execution/cuda/gather_rows.hpp>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/stream.hpp>

namespace shoal::cuda {

template <class Scalar>
void gather_rows(const device_matrix_view<const Scalar>& rows, Scalar* to, cudaStream_t stream) {
  if (rows.rows() == 0) return;
  const std::size_t row_bytes = rows.columns() * sizeof(Scalar);
  int here = 0;
  check(cudaGetDevice(&here), "name the current device");
  if (rows.contiguous()) {
    check(cudaMemcpyPeerAsync(to, here, rows.data(), rows.device(), rows.rows() * row_bytes, stream),
          "copy rows between devices");
    return;
  }
  if (rows.device() == here) {
    if (rows.column_stride() == 1 && rows.row_stride() > rows.columns()) {
      check(cudaMemcpy2DAsync(to, row_bytes, rows.data(), rows.row_stride() * sizeof(Scalar), row_bytes, rows.rows(),
                              cudaMemcpyDeviceToDevice, stream),
            "copy rows on the device");
    } else {
      gather_strided(rows, to, stream);
    }
    return;
  }
  device_buffer<Scalar> together;
  {
    const device_scope scope(rows.device());
    together.grow(rows.rows() * rows.columns());
    gather_rows(rows, together.data(), cudaStreamPerThread);
    check(cudaStreamSynchronize(cudaStreamPerThread), "finish its work");
  }
  check(cudaMemcpyPeerAsync(to, here, together.data(), rows.device(), rows.rows() * row_bytes, stream),
        "copy rows between devices");
  check(cudaStreamSynchronize(stream), "finish its work");  // before `together` goes
}

template void gather_rows(const device_matrix_view<const float>&, float*, cudaStream_t);
template void gather_rows(const device_matrix_view<const double>&, double*, cudaStream_t);

}  // namespace shoal::cuda
