// Whether rows are clustered as they are, or about their mean.
#include <memory>
#include <utility>
#include <vector>

#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/offset_backend.hpp>

namespace shoal::kmeans {

template <class Scalar>
std::unique_ptr<backend<Scalar>> make_backend(const device_choice& device, const backend_rows<Scalar>& rows) {
  std::unique_ptr<backend<Scalar>> on = make_plain_backend<Scalar>(device, rows);
  // float32 rows have no digits that a float64 centroid lacks; rows on a device stay as they are there.
  if constexpr (sizeof(Scalar) == 8) {
    std::vector<double> offset = offset_of(on->summary());
    if (!offset.empty() && rows.rows->on_device() == nullptr) {
      data_summary summary = on->summary();
      on.reset();  // before a device holds the rows twice
      return make_offset_backend(device, rows, std::move(summary), std::move(offset));
    }
  }
  return on;
}

template std::unique_ptr<backend<float>> make_backend(const device_choice&, const backend_rows<float>&);
template std::unique_ptr<backend<double>> make_backend(const device_choice&, const backend_rows<double>&);

}  // namespace shoal::kmeans
