// Columns shifted to mean 0 and scaled to deviation 1, and models carried between these units and the data's own.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/gmm/gmm.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/kmeans/kmeans.hpp>
#include <shoal/som/som.hpp>

namespace shoal::app {

/// z = (x − center) / scale, column by column.
struct standardization {
  std::vector<double> center;  ///< [columns]
  std::vector<double> scale;   ///< [columns], positive

  /// Σ ln scale: ln p of a row in its own units is ln p of the standardized row less this.
  double log_volume() const;
};

/// Weighted mean and population deviation of each column; a constant column is only centred.
standardization standardize(const data_summary& summary);

/// The rows of another source, standardized piece by piece. Nothing is held in memory. Owns neither argument.
template <class Scalar>
class standardized_source final : public row_source<Scalar> {
 public:
  standardized_source(const row_source<Scalar>& rows, const standardization& units) : rows_(&rows), units_(&units) {}
  std::size_t rows() const override { return rows_->rows(); }
  std::size_t columns() const override { return rows_->columns(); }
  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>& buffer) const override;
  bool resident() const override { return false; }

 private:
  const row_source<Scalar>* rows_;
  const standardization* units_;
};
extern template class standardized_source<float>;
extern template class standardized_source<double>;

/// The same density in the data's own units. A spherical mixture becomes a diagonal one, since one variance for all
/// columns is not one variance after each was scaled by its own factor; the other types stay.
gmm::model to_data_units(const gmm::model& model, const standardization& units);

/// The same density in standardized units. Throws bad_argument for a spherical mixture.
gmm::model to_standard_units(const gmm::model& model, const standardization& units);

kmeans::model to_data_units(const kmeans::model& model, const standardization& units);
kmeans::model to_standard_units(const kmeans::model& model, const standardization& units);
som::model to_data_units(const som::model& model, const standardization& units);
som::model to_standard_units(const som::model& model, const standardization& units);

/// The units of the fit that a model file of so many columns keeps in its provenance; nothing when it was fitted in the
/// data's own. Throws what reading the file throws.
std::optional<standardization> units_of_fit(const std::string& path, std::size_t columns);

}  // namespace shoal::app
