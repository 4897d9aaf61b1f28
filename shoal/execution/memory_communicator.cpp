#include <shoal/execution/memory_communicator.hpp>

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace shoal {
namespace {

using message = std::shared_ptr<const std::vector<std::byte>>;

// What has been said and not yet heard, and who is still there.
class exchange {
 public:
  explicit exchange(std::size_t ranks) : ranks_(ranks), heard_(ranks), sent_(ranks * ranks), ended_(ranks, false) {}

  std::size_t ranks() const { return ranks_; }

  void send(std::size_t from, std::size_t to, message bytes) {
    const std::scoped_lock lock(mutex_);
    check();
    sent_[from * ranks_ + to].push_back(std::move(bytes));
    heard_[to].notify_one();
  }

  message receive(std::size_t from, std::size_t to) {
    std::unique_lock lock(mutex_);
    std::deque<message>& waiting = sent_[from * ranks_ + to];
    heard_[to].wait(lock, [&] { return failure_ || !waiting.empty() || ended_[from]; });
    check();
    if (waiting.empty()) throw rank_failed(from, "it ended before the others");
    message first = std::move(waiting.front());
    waiting.pop_front();
    return first;
  }

  // The rank makes no more calls; `thrown` is null when all went well. It must not fail itself: the others wait for it.
  void end(std::size_t rank, std::exception_ptr thrown) noexcept {
    const std::scoped_lock lock(mutex_);
    ended_[rank] = true;
    if (thrown && !failure_) failure_ = {rank, std::move(thrown)};
    for (std::condition_variable& one : heard_) one.notify_one();
  }

  void rethrow_failure() const {
    if (failure_) std::rethrow_exception(failure_->thrown);
  }

 private:
  struct failure {
    std::size_t rank;
    std::exception_ptr thrown;
  };

  void check() const {
    if (!failure_) return;
    try {
      std::rethrow_exception(failure_->thrown);
    } catch (const interrupted&) {
      throw;
    } catch (const std::exception& thrown) {
      throw rank_failed(failure_->rank, thrown.what());
    } catch (...) {
      throw rank_failed(failure_->rank, "an unknown exception");
    }
  }

  std::size_t ranks_;
  std::mutex mutex_;
  std::vector<std::condition_variable> heard_;  // of each receiver
  std::vector<std::deque<message>> sent_;       // [from][to]
  std::vector<bool> ended_;
  std::optional<failure> failure_;  // the first
};

class memory_communicator final : public communicator {
 public:
  memory_communicator(exchange& exchange, std::size_t rank, bool led) : exchange_(exchange), rank_(rank), led_(led) {}

  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return exchange_.ranks(); }
  bool led() const override { return led_; }

  void send(std::size_t to, std::span<const std::byte> bytes) override {
    exchange_.send(rank_, to, std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end()));
  }
  std::vector<std::byte> receive(std::size_t from) override { return *exchange_.receive(from, rank_); }
  void broadcast(std::size_t from, std::vector<std::byte>& bytes) override {
    if (from != rank_) {
      bytes = receive(from);
      return;
    }
    const auto shared = std::make_shared<const std::vector<std::byte>>(bytes);
    for (std::size_t to = 0; to < size(); ++to) {
      if (to != rank_) exchange_.send(rank_, to, shared);
    }
  }

 private:
  exchange& exchange_;
  std::size_t rank_;
  bool led_;
};

}  // namespace

void run_ranks(std::size_t ranks, const std::function<void(communicator&)>& work, bool led) {
  exchange all(ranks);
  const auto run = [&](std::size_t rank) {
    memory_communicator own(all, rank, led);
    std::exception_ptr thrown;
    try {
      work(own);
    } catch (...) {
      thrown = std::current_exception();
    }
    all.end(rank, thrown);
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t rank = 1; rank < ranks; ++rank) others.emplace_back(run, rank);
    } catch (...) {
      all.end(others.size() + 1, std::current_exception());
    }
    run(0);
  }
  all.rethrow_failure();
}

}  // namespace shoal
