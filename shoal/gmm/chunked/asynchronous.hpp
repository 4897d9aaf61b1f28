// Asynchronous expectation-maximisation (Altinigneli, Plant & Böhm 2013) by threads of the host.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <shoal/gmm/chunked/keeping_fit.hpp>
#include <shoal/gmm/parameters.hpp>

namespace shoal::gmm {

/// As incremental_fit, but no thread waits for another: each claims a superchunk, visits it under the newest model that
/// has been published, and consolidates (folds its deltas in, maximises, factorises, publishes). The first pass is one
/// of batch. With one thread, no threshold and no models of its own it is incremental_fit, bit for bit.
///
/// A checkpoint holds the model alone: the first pass after it is one of batch again.
template <class Scalar>
class asynchronous_fit final : public keeping_fit<Scalar> {
 public:
  explicit asynchronous_fit(const host_rows<Scalar>& rows);

  std::vector<step_record> advance(std::size_t most_steps) override;
  std::vector<double> save() const override;
  void restore(std::span<const double> state) override;

 private:
  // What threads read: never changed once it is published.
  struct published {
    gmm::model model;
    parameters<Scalar> prepared;
    statistics total;  // when threads have models of their own
    std::size_t version = 0;
  };
  // What one thread works in.
  struct worker_memory {
    std::vector<statistics> fresh;
    std::vector<bool> moved;
    std::vector<Scalar> probabilities;
  };

  void free_pass(bool every);
  void visit_superchunk(std::size_t superchunk, bool every, chunk_reader<Scalar>& reader, worker_memory& memory);
  // Fills `into`, of which only the log-likelihood is good when the chunk did not move enough to be folded in.
  bool visit(chunk_reader<Scalar>& reader, std::size_t chunk, const parameters<Scalar>& components,
             const parameters<Scalar>& about, bool every, worker_memory& memory, statistics& into);
  bool visit_memberships(chunk_reader<Scalar>& reader, std::size_t chunk, const parameters<Scalar>& components,
                         const parameters<Scalar>& about, bool every, worker_memory& memory, statistics& into);
  void step_on_all();
  void advance_local(std::size_t chunk, const statistics& fresh, published& local) const;
  void consolidate(std::span<const std::size_t> chunks, worker_memory& memory);
  std::shared_ptr<const published> newest() const;
  void publish(std::shared_ptr<const published> model);

  std::vector<worker_memory> memory_;  // of each thread
  std::vector<Scalar> memberships_;    // [N][K], or empty
  std::size_t folded_ = 0;             // chunks, in this pass
  bool quiet_ = false;                 // the last pass folded nothing in, and old statistics may be what held it back
  bool renewed_ = false;               // the last pass made all statistics anew
  std::size_t consolidations_ = 0;
  std::atomic<bool> jumped_ = false;  // a mean has, so the pass ends with one of batch
  std::mutex sums_;                   // guards kept_, model_, folded_ and consolidations_ during a pass
  mutable std::mutex newest_lock_;
  std::shared_ptr<const published> newest_;
};
extern template class asynchronous_fit<float>;
extern template class asynchronous_fit<double>;

}  // namespace shoal::gmm
