#include <shoal/execution/cuda/readable_rows.hpp>

#include <cstdint>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/gather_rows.hpp>
#include <shoal/execution/cuda/stream.hpp>

namespace shoal::cuda {
namespace {

template <class Scalar>
class copied_from_device final : public row_source<Scalar> {
 public:
  explicit copied_from_device(const device_matrix_view<const Scalar>& rows) : rows_(rows) {}
  std::size_t rows() const override { return rows_.rows(); }
  std::size_t columns() const override { return rows_.columns(); }
  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>& buffer) const override {
    buffer.grow(count * columns());
    const device_scope scope(rows_.device());
    const device_matrix_view<const Scalar> wanted = rows_.middle_rows(first, count);
    device_buffer<Scalar> together;
    const Scalar* from = wanted.data();
    if (!wanted.contiguous()) {
      together.grow(count * columns());
      gather_rows(wanted, together.data(), cudaStreamPerThread);
      from = together.data();
    }
    check(cudaMemcpyAsync(buffer.data(), from, count * columns() * sizeof(Scalar), cudaMemcpyDeviceToHost,
                          cudaStreamPerThread),
          "copy rows from the device");
    check(cudaStreamSynchronize(cudaStreamPerThread), "finish its work");
    return {buffer.data(), count, columns()};
  }
  bool resident() const override { return false; }
  const device_matrix_view<const Scalar>* on_device() const override { return &rows_; }

 private:
  device_matrix_view<const Scalar> rows_;
};

template <class Scalar>
void check_place(const device_matrix_view<const Scalar>& rows) {
  int present = 0;
  check(cudaGetDeviceCount(&present), "count the devices");
  if (rows.device() < 0 || rows.device() >= present) {
    throw bad_argument(
        fmt::format("rows are said to lie on CUDA device {}: this machine has {}", rows.device(), present));
  }
  if (rows.rows() == 0 || rows.columns() == 0) return;
  const Scalar* const last =
      rows.data() + (rows.rows() - 1) * rows.row_stride() + (rows.columns() - 1) * rows.column_stride();
  for (const Scalar* const end : {rows.data(), last}) {
    cudaPointerAttributes found{};
    check(cudaPointerGetAttributes(&found, end), "ask where rows are");
    const bool on_device =
        found.type == cudaMemoryTypeManaged || (found.type == cudaMemoryTypeDevice && found.device == rows.device());
    if (on_device && reinterpret_cast<std::uintptr_t>(end) % alignof(Scalar) == 0) continue;
    throw bad_argument(fmt::format("rows are said to lie on CUDA device {}, and the address of the {} of them is {}",
                                   rows.device(), end == last ? "last element" : "first element",
                                   on_device ? "not aligned to its scalar"
                                   : found.type == cudaMemoryTypeDevice
                                       ? fmt::format("memory of device {}", found.device)
                                       : std::string("not memory of a device")));
  }
}

}  // namespace

template <class Scalar>
readable_rows<Scalar>::readable_rows(const row_source<Scalar>* source) : source_(source) {
  if (source == nullptr || source->on_device() == nullptr) return;
  const device_matrix_view<const Scalar>& rows = *source->on_device();
  check_place(rows);
  const device_scope scope(rows.device());
  check(cudaDeviceSynchronize(), "finish its work");
  wrapper_ = std::make_unique<copied_from_device<Scalar>>(rows);
  source_ = wrapper_.get();
}

template class readable_rows<float>;
template class readable_rows<double>;

}  // namespace shoal::cuda
