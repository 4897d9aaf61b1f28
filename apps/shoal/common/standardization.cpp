// Standardizing rows on their way into a fit, and points on their way back.
#include "common/standardization.hpp"

#include <cmath>

#include <shoal/core/error.hpp>
#include <shoal/io/json_file.hpp>

namespace shoal::app {

double standardization::log_volume() const {
  double sum = 0;
  for (const double factor : scale) sum += std::log(factor);
  return sum;
}

standardization standardize(const data_summary& summary) {
  standardization units;
  units.center = summary.mean;
  units.scale.assign(summary.columns, 1);
  for (std::size_t j = 0; j < summary.columns; ++j) {
    // Rounding may leave a constant column a tiny variance, which must not be blown up to one.
    if (summary.minimum[j] == summary.maximum[j]) {
      units.center[j] = summary.minimum[j];
      continue;
    }
    const double deviation = std::sqrt(summary.variance[j]);
    if (std::isnormal(deviation)) units.scale[j] = deviation;
  }
  return units;
}

template <class Scalar>
matrix_view<const Scalar> standardized_source<Scalar>::read(std::size_t first, std::size_t count,
                                                            aligned_buffer<Scalar>& buffer) const {
  const matrix_view<const Scalar> from = rows_->read(first, count, buffer);
  const std::size_t d = columns();
  // The other source either used the buffer, then the rows are overwritten where they are, or its own memory.
  const bool in_buffer =
      buffer.data() != nullptr && from.data() >= buffer.data() && from.data() < buffer.data() + buffer.size();
  if (!in_buffer) buffer.grow(count * d);
  Scalar* const to = in_buffer ? buffer.data() + (from.data() - buffer.data()) : buffer.data();
  const std::size_t stride = in_buffer ? from.row_stride() : d;
  const double* const center = units_->center.data();
  const double* const scale = units_->scale.data();
  for (std::size_t i = 0; i < count; ++i) {
    const Scalar* const x = from.row(i);
    Scalar* const z = to + i * stride;
    for (std::size_t j = 0; j < d; ++j) {
      z[j] = static_cast<Scalar>((static_cast<double>(x[j]) - center[j]) / scale[j]);
    }
  }
  return {to, count, d, stride};
}
template class standardized_source<float>;
template class standardized_source<double>;

void points_to_data_units(std::vector<double>& points, const standardization& units) {
  const std::size_t d = units.scale.size();
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = std::fma(units.scale[i % d], points[i], units.center[i % d]);
}

void points_to_standard_units(std::vector<double>& points, const standardization& units) {
  const std::size_t d = units.scale.size();
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = (points[i] - units.center[i % d]) / units.scale[i % d];
}

std::optional<standardization> units_of_fit(const std::string& name, std::string_view text, std::size_t columns) {
  const json_file document = json_file::parse(name, text);
  const std::optional<json_element> provenance = document.root().optional_member("provenance");
  if (!provenance || !provenance->is_object()) return std::nullopt;
  const std::optional<json_element> kept = provenance->optional_member("standardization");
  if (!kept) return std::nullopt;
  standardization units{kept->member("center").numbers({columns}), kept->member("scale").numbers({columns})};
  for (const double scale : units.scale) {
    if (!(scale > 0)) kept->fail("every scale must be positive");
  }
  return units;
}

}  // namespace shoal::app
