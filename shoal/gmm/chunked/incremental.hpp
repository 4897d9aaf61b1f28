// Incremental expectation-maximisation (Neal & Hinton 1998): the model moves after every superchunk.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <shoal/gmm/chunked/keeping_fit.hpp>

namespace shoal::gmm {

/// Without regularisation no superchunk lowers the free energy Σ w (E ln p(x, z) + H), where expectations and entropies
/// are under the responsibilities that each chunk had when it was last visited: its own visit maximises over those, the
/// maximisation over the model.
template <class Scalar>
class incremental_fit final : public keeping_fit<Scalar> {
 public:
  using keeping_fit<Scalar>::keeping_fit;

  void seed(std::size_t restart) override;
  std::vector<step_record> advance(std::size_t most_steps) override;
  std::vector<double> save() const override;
  void restore(std::span<const double> state) override;

  /// Visits the next superchunk of the pass and maximises; the first time, after a reseeding, and where a mean jumps
  /// (jump.hpp), all chunks, which ends the pass. False when the pass is at its end.
  bool step();
  /// Ends the pass, and returns the objective of its step_record.
  double finish();

 private:
  void step_on_all();

  std::size_t position_ = 0;  // superchunks of this pass that have been visited
};
extern template class incremental_fit<float>;
extern template class incremental_fit<double>;

}  // namespace shoal::gmm
