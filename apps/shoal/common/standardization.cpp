// Standardizing rows on their way into a fit, and the exact change of units of a model.
#include "common/standardization.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include <shoal/core/error.hpp>
#include <shoal/io/json_file.hpp>

namespace shoal::app {
namespace {

// The model after its columns were scaled by `factor`; the means are the caller's.
gmm::model scaled_covariances(const gmm::model& model, const std::vector<double>& factor) {
  const std::size_t d = model.columns;
  gmm::model result = model;
  switch (model.covariance_type) {
    case gmm::covariance_type::full:
    case gmm::covariance_type::tied:
      for (std::size_t i = 0; i < model.covariances.size(); ++i) {
        result.covariances[i] = model.covariances[i] * (factor[i / d % d] * factor[i % d]);
      }
      break;
    case gmm::covariance_type::diag:
      for (std::size_t i = 0; i < model.covariances.size(); ++i) {
        result.covariances[i] = model.covariances[i] * (factor[i % d] * factor[i % d]);
      }
      break;
    case gmm::covariance_type::spherical:
      result.covariance_type = gmm::covariance_type::diag;
      result.covariances.resize(model.components * d);
      for (std::size_t i = 0; i < result.covariances.size(); ++i) {
        result.covariances[i] = model.covariances[i / d] * (factor[i % d] * factor[i % d]);
      }
      break;
  }
  return result;
}

// Points, row-major, out of standard units and into them.
void points_to_data_units(std::vector<double>& points, const standardization& units) {
  const std::size_t d = units.scale.size();
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = std::fma(units.scale[i % d], points[i], units.center[i % d]);
}

void points_to_standard_units(std::vector<double>& points, const standardization& units) {
  const std::size_t d = units.scale.size();
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = (points[i] - units.center[i % d]) / units.scale[i % d];
}

}  // namespace

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

gmm::model to_data_units(const gmm::model& model, const standardization& units) {
  gmm::model result = scaled_covariances(model, units.scale);
  points_to_data_units(result.means, units);
  return result;
}

gmm::model to_standard_units(const gmm::model& model, const standardization& units) {
  if (model.covariance_type == gmm::covariance_type::spherical) {
    throw bad_argument(
        "--init: a spherical model in the data's units is not spherical in standardized ones; leave --standardize out "
        "or start from another kind of model");
  }
  std::vector<double> factor(units.scale.size());
  for (std::size_t j = 0; j < factor.size(); ++j) factor[j] = 1 / units.scale[j];
  gmm::model result = scaled_covariances(model, factor);
  points_to_standard_units(result.means, units);
  return result;
}

kmeans::model to_data_units(const kmeans::model& model, const standardization& units) {
  kmeans::model result = model;
  points_to_data_units(result.centroids, units);
  return result;
}

kmeans::model to_standard_units(const kmeans::model& model, const standardization& units) {
  kmeans::model result = model;
  points_to_standard_units(result.centroids, units);
  return result;
}

som::model to_data_units(const som::model& model, const standardization& units) {
  som::model result = model;
  points_to_data_units(result.codebook, units);
  return result;
}

som::model to_standard_units(const som::model& model, const standardization& units) {
  som::model result = model;
  points_to_standard_units(result.codebook, units);
  return result;
}

std::optional<standardization> units_of_fit(const std::string& path, std::size_t columns) {
  const json_file document = json_file::read(path);
  const std::optional<json_element> provenance = document.root().optional_member("provenance");
  if (!provenance || !provenance->value().is_object()) return std::nullopt;
  const std::optional<json_element> kept = provenance->optional_member("standardization");
  if (!kept) return std::nullopt;
  standardization units{kept->member("center").numbers({columns}), kept->member("scale").numbers({columns})};
  for (const double scale : units.scale) {
    if (!(scale > 0)) kept->fail("every scale must be positive");
  }
  return units;
}

}  // namespace shoal::app
