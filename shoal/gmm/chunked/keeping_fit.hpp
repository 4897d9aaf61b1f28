// What incremental and asynchronous fits share: kept statistics of every chunk, and the passes that make them anew.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <shoal/gmm/chunked/chunked_fit.hpp>
#include <shoal/gmm/chunked/kept_statistics.hpp>

namespace shoal::gmm {

template <class Scalar>
class keeping_fit : public chunked_fit<Scalar> {
 public:
  explicit keeping_fit(const host_rows<Scalar>& rows);

  void seed(std::size_t restart) override;

  const kept_statistics& kept() const { return kept_; }

 protected:
  /// Whether the kept statistics are of this fit; if not, the next pass must be full_pass().
  bool kept_valid() const { return valid_; }

  /// How the statistics of a chunk are made: by one thread, with its reader.
  using visit_function =
      std::function<void(chunk_reader<Scalar>& reader, std::size_t chunk, const parameters<Scalar>& components,
                         const parameters<Scalar>& about, statistics& into)>;

  /// An iteration of batch, which leaves every chunk's statistics behind.
  void full_pass(const visit_function& visit);
  /// Maximises over sums of what is kept. False, and the model stays, where a mean has jumped from the centres of the
  /// pass (jump.hpp): statistics of several models cannot be made again about its new place, and a full pass is due.
  bool maximise_once(const statistics& total, model& into, executor* workers) const;
  /// Reseeds empty components, after which nothing kept is good, or else moves the kept statistics to the present
  /// means. Returns Σ w ln p(x) / Σ w of the rows under the models that they met.
  double finish_pass();

  kept_statistics kept_;
  bool valid_ = false;
};
extern template class keeping_fit<float>;
extern template class keeping_fit<double>;

}  // namespace shoal::gmm
