#include <shoal/mpi/mpi_communicator.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/mpi/alike.hpp>

namespace shoal::mpi {
namespace {

// A call of MPI takes the number of bytes as an int.
constexpr std::size_t most_bytes = std::size_t{1} << 30;

// Waiting begins without giving the processor away: neighbours are some microseconds apart. A rank that waits for much
// longer sleeps, so that ranks that share a processor with it work.
constexpr std::size_t busy_turns = 2000;
constexpr std::size_t yielding_turns = 20000;
constexpr std::chrono::microseconds nap{50};

// How long a rank that is to stop waits for another's words. That rank may have been killed where the launcher asks the
// others to stop before it kills them (srun, for half a minute).
constexpr std::chrono::seconds longest_wait_to_stop{1};

}  // namespace

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char words[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, words, &length);
  throw error(fmt::format("{} failed: {}", call, std::string(words, static_cast<std::size_t>(length))));
}

void failure::raise() const {
  if (interrupted) throw shoal::interrupted(why);
  throw rank_failed(rank, why);
}

void patience::wait() {
  ++turns_;
  if (turns_ < busy_turns) return;
  if (turns_ < yielding_turns) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(nap);
  }
}

mpi_communicator::mpi_communicator(MPI_Comm all, std::stop_token stop) : stop_(std::move(stop)), host_(host_name()) {
  check(MPI_Comm_dup(all, &all_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(all_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  int number = 0;
  check(MPI_Comm_rank(all_, &number), "MPI_Comm_rank");
  rank_ = static_cast<std::size_t>(number);
  check(MPI_Comm_size(all_, &number), "MPI_Comm_size");
  size_ = static_cast<std::size_t>(number);
  failures_.resize(size_);
  ended_.resize(size_, false);
}

// Not freed: that is a call of all ranks, and one of them may be gone.
mpi_communicator::~mpi_communicator() {
  for (on_its_way& one : leaving_) {
    if (one.request != MPI_REQUEST_NULL) MPI_Request_free(&one.request);
    // MPI may still look at the bytes, which are given up with the process.
    [[maybe_unused]] auto* const kept = new std::vector<std::byte>(std::move(one.bytes));
  }
}

void mpi_communicator::forget_what_has_gone() {
  while (!leaving_.empty()) {
    int gone = 0;
    check(MPI_Test(&leaving_.front().request, &gone, MPI_STATUS_IGNORE), "MPI_Test");
    if (gone == 0) return;
    leaving_.pop_front();
  }
}

void mpi_communicator::post(std::size_t to, std::span<const std::byte> bytes, tag kind) {
  leaving_.push_back({{bytes.begin(), bytes.end()}, MPI_REQUEST_NULL});
  on_its_way& one = leaving_.back();
  check(MPI_Isend(one.bytes.data(), static_cast<int>(one.bytes.size()), MPI_BYTE, static_cast<int>(to), kind, all_,
                  &one.request),
        "MPI_Isend");
  forget_what_has_gone();
}

void mpi_communicator::send(std::size_t to, std::span<const std::byte> bytes) {
  ++sent_total_.messages;
  sent_total_.bytes += bytes.size();
  while (bytes.size() > most_bytes) {
    post(to, bytes.first(most_bytes), more);
    bytes = bytes.subspan(most_bytes);
  }
  post(to, bytes, last);
}

std::optional<mpi_communicator::arrived> mpi_communicator::next(int from) {
  int there = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check(MPI_Improbe(from, MPI_ANY_TAG, all_, &there, &message, &status), "MPI_Improbe");
  if (there == 0) return std::nullopt;
  int count = 0;
  check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
  arrived said;
  said.from = static_cast<std::size_t>(status.MPI_SOURCE);
  said.kind = static_cast<tag>(status.MPI_TAG);
  said.bytes.resize(static_cast<std::size_t>(count));
  // The sender may wait for other things meanwhile, but has posted these bytes already.
  check(MPI_Mrecv(said.bytes.data(), count, MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
  return said;
}

void mpi_communicator::note(const arrived& said) {
  if (said.kind == left) ended_[said.from] = true;
  if (said.kind == bye && said.bytes.size() == sizeof(int)) {
    int status = 0;
    std::memcpy(&status, said.bytes.data(), sizeof status);
    final_status_ = status;
  }
  if (said.kind != failed || said.bytes.size() < 2 * sizeof(std::uint64_t)) return;
  std::uint64_t head[2];
  std::memcpy(head, said.bytes.data(), sizeof head);
  const char* const text = reinterpret_cast<const char*>(said.bytes.data()) + sizeof head;
  failures_[said.from] = {head[0], head[1] != 0, std::string(text, said.bytes.size() - sizeof head)};
  if (!heard_) heard_ = failures_[said.from];
}

std::vector<std::byte> mpi_communicator::receive(std::size_t from) {
  std::vector<std::byte> whole;
  patience waiting;
  std::optional<clock::time_point> stopped_at;
  for (;;) {
    if (failures_[from]) failures_[from]->raise();
    if (ended_[from]) throw rank_failed(from, "it ended before the others");
    std::optional<arrived> said = next(static_cast<int>(from));
    if (!said) {
      if (stop_.stop_requested()) {
        if (!stopped_at) stopped_at = clock::now();
        if (clock::now() - *stopped_at > longest_wait_to_stop) {
          throw interrupted(fmt::format("stopped on request; rank {} did not answer", from));
        }
      }
      forget_what_has_gone();
      waiting.wait();
      continue;
    }
    if (said->kind == last && whole.empty()) return std::move(said->bytes);
    if (said->kind == last || said->kind == more) {
      whole.insert(whole.end(), said->bytes.begin(), said->bytes.end());
      if (said->kind == last) return whole;
    }
    note(*said);
  }
}

// A binomial tree from rank `from`: in each round whoever has the bytes sends them on.
void mpi_communicator::broadcast(std::size_t from, std::vector<std::byte>& bytes) {
  const std::size_t place = (rank_ + size_ - from) % size_;
  const auto rank_at = [&](std::size_t other) { return (other + from) % size_; };
  std::size_t round = 1;  // the first in which this rank sends
  while (round <= place) round *= 2;
  if (place != 0) bytes = receive(rank_at(place - round / 2));
  for (; place + round < size_; round *= 2) send(rank_at(place + round), bytes);
}

void mpi_communicator::fail(const std::exception_ptr& thrown) {
  failure mine{rank_, false, "an unknown exception"};
  try {
    std::rethrow_exception(thrown);
  } catch (const rank_failed& other) {
    // The first that failed is named, and not all that heard of it.
    mine.rank = other.rank();
    mine.why = std::string(other.what()).substr(std::string(rank_failed(mine.rank, "").what()).size());
  } catch (const interrupted& stop) {
    mine.interrupted = true;
    mine.why = stop.what();
  } catch (const std::exception& problem) {
    mine.why = fmt::format("{} (on {})", problem.what(), host_);
  } catch (...) {
  }
  if (!heard_) heard_ = mine;
  const std::uint64_t head[2] = {mine.rank, mine.interrupted};
  std::vector<std::byte> bytes(sizeof head + mine.why.size());
  std::memcpy(bytes.data(), head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, mine.why.data(), mine.why.size());
  for (std::size_t to = 0; to < size_; ++to) {
    if (to != rank_) post(to, bytes, failed);
  }
}

traffic sent_by(const communicator& ranks) {
  const auto* const ours = dynamic_cast<const mpi_communicator*>(&ranks);
  if (ours == nullptr) throw bad_argument("sent_by() is of ranks that speak through MPI");
  return ours->sent();
}

}  // namespace shoal::mpi
