// Ranks that speak through MPI.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <shoal/execution/communicator.hpp>
#include <shoal/mpi/traffic.hpp>

namespace shoal::mpi {

/// Throws error, with MPI's own words, when a call did not succeed.
void check(int code, const char* call);

/// Why a rank has failed, as it is told to the others.
struct failure {
  std::size_t rank = 0;  ///< the first that failed
  bool interrupted = false;
  std::string why;

  /// rank_failed or interrupted.
  [[noreturn]] void raise() const;
};

/// The ranks of one MPI communicator. Whoever fails tells all others, behind what it has sent before, so a rank that
/// waits for another one gets its words, or hears of its end. Nothing here waits in a call of MPI: what comes is looked
/// for in turns, and what goes is kept until it has gone.
class mpi_communicator final : public communicator {
 public:
  /// When `stop` was requested, who waits for words that do not come throws interrupted.
  explicit mpi_communicator(MPI_Comm all, std::stop_token stop = {});
  ~mpi_communicator() override;
  mpi_communicator(const mpi_communicator&) = delete;
  mpi_communicator& operator=(const mpi_communicator&) = delete;

  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return size_; }
  void send(std::size_t to, std::span<const std::byte> bytes) override;
  std::vector<std::byte> receive(std::size_t from) override;
  void broadcast(std::size_t from, std::vector<std::byte>& bytes) override;

  traffic sent() const { return sent_total_; }

  /// Tells the others that this rank makes no more calls of the above, and why.
  void fail(const std::exception_ptr& thrown);
  /// Waits until all ranks have ended; rank 0 then says `status` and all of them give it. Rank 0 calls `settle` before,
  /// with what another rank failed of, if one did: it gives the status. Nothing when a rank is not heard of for
  /// `seconds` after one has failed, half of them after one was interrupted.
  template <class Settle>
  std::optional<int> end(double seconds, const Settle& settle);

 private:
  enum tag : int { more, last, failed, left, bye };
  struct on_its_way {
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct arrived {
    std::size_t from = 0;
    tag kind = last;
    std::vector<std::byte> bytes;
  };
  using clock = std::chrono::steady_clock;

  void post(std::size_t to, std::span<const std::byte> bytes, tag kind);
  void forget_what_has_gone();
  /// The next words of a rank (or MPI_ANY_SOURCE), if there are some.
  std::optional<arrived> next(int from);
  /// Notes what a rank said of its end.
  void note(const arrived& said);
  /// Hears what comes until `done`, and drops it; false when it took too long.
  template <class Done>
  bool listen(double seconds, const Done& done);

  MPI_Comm all_ = MPI_COMM_NULL;
  std::stop_token stop_;
  std::size_t rank_ = 0;
  std::size_t size_ = 1;
  std::string host_;
  std::deque<on_its_way> leaving_;
  std::vector<std::optional<failure>> failures_;  // [rank]
  std::vector<bool> ended_;                       // [rank]
  std::optional<failure> heard_;                  // the first that this rank heard of, or its own
  std::optional<int> final_status_;               // what rank 0 said at the end
  traffic sent_total_;
};

/// Gives a waiting thread's processor away, the longer the more.
class patience {
 public:
  void wait();

 private:
  std::size_t turns_ = 0;
};

template <class Done>
bool mpi_communicator::listen(double seconds, const Done& done) {
  patience waiting;
  std::optional<clock::time_point> failed_at;
  while (!done()) {
    if (heard_ && !failed_at) failed_at = clock::now();
    // Who is to stop has told the others, or whoever told it did, and has been waited for once.
    const double most = heard_ && heard_->interrupted ? seconds / 2 : seconds;
    if (failed_at && std::chrono::duration<double>(clock::now() - *failed_at).count() > most) return false;
    forget_what_has_gone();
    if (const std::optional<arrived> said = next(MPI_ANY_SOURCE)) {
      note(*said);
      waiting = {};
    } else {
      waiting.wait();
    }
  }
  return true;
}

template <class Settle>
std::optional<int> mpi_communicator::end(double seconds, const Settle& settle) {
  int status = 0;
  const auto bytes = std::as_bytes(std::span<const int>(&status, 1));
  for (std::size_t to = 0; to < size_; ++to) {
    if (to != rank_) post(to, {}, left);
  }
  if (rank_ == 0) {
    ended_[0] = true;
    const bool all = listen(seconds, [&] {
      for (const bool one : ended_) {
        if (!one) return false;
      }
      return true;
    });
    if (!all) return std::nullopt;
    status = settle(heard_);
    for (std::size_t to = 1; to < size_; ++to) post(to, bytes, bye);
  } else {
    if (!listen(seconds, [&] { return final_status_.has_value(); })) return std::nullopt;
    status = *final_status_;
  }
  // What nobody will hear any more goes nowhere; the rest has gone at once.
  constexpr double grace = 1;
  const clock::time_point start = clock::now();
  patience waiting;
  while (!leaving_.empty() && std::chrono::duration<double>(clock::now() - start).count() < grace) {
    forget_what_has_gone();
    static_cast<void>(next(MPI_ANY_SOURCE));
    waiting.wait();
  }
  return status;
}

}  // namespace shoal::mpi
