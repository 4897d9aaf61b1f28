// What batch and online training on the host share: the present codebook, its quality, and what is saved of them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <shoal/execution/fold.hpp>
#include <shoal/som/options.hpp>
#include <shoal/som/quality_fold.hpp>
#include <shoal/som/stepper.hpp>

namespace shoal::som {

template <class Scalar>
class host_training : public map_stepper {
 public:
  using seed_function = std::function<std::vector<double>()>;

  /// `options` and what `data` points to must outlive it; `total_weight` is in the caller's units.
  host_training(const fold_context& context, const weighted_rows<Scalar>& data, double total_weight,
                const options& options, seed_function seed);

  void seed(std::size_t restart) override;
  double score() override { return -quality().quantization_error; }
  std::vector<double> save() const override;
  void restore(std::span<const double> state) override;
  const std::vector<double>& codebook() const override { return codebook_; }
  som::quality quality() override;

 protected:
  fold_context context_;
  weighted_rows<Scalar> data_;
  double total_weight_;
  const options& options_;
  lattice_shape shape_;
  codebook_index<Scalar> index_;
  std::vector<double> codebook_;
  std::size_t epoch_ = 0;  ///< epochs done

 private:
  seed_function seed_;
  som::quality quality_;
  std::vector<double> measured_;  // the codebook that quality_ is of
};
extern template class host_training<float>;
extern template class host_training<double>;

}  // namespace shoal::som
