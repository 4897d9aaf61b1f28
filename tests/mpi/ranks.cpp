// A program for several ranks: mpi_ranks speak | throw RANK | leave RANK | stop RANK. What it finds wrong it throws.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/mpi/mpi.hpp>

namespace {

using bytes = std::vector<std::byte>;

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

bytes pattern(std::size_t size, std::size_t seed) {
  bytes made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>(i * 7 + seed);
  return made;
}

// Everyone to everyone, empty and large; then broadcasts from each; then what all have.
void speak(shoal::communicator& ranks) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{20000}, std::size_t{5} << 20}) {
    for (std::size_t to = 0; to < ranks.size(); ++to) {
      if (to != ranks.rank()) ranks.send(to, pattern(size, ranks.rank()));
    }
    for (std::size_t from = ranks.size(); from-- > 0;) {
      if (from != ranks.rank()) expect(ranks.receive(from) == pattern(size, from), "other bytes were received");
    }
    for (std::size_t from = 0; from < ranks.size(); ++from) {
      bytes all = from == ranks.rank() ? pattern(size, from) : bytes{};
      ranks.broadcast(from, all);
      expect(all == pattern(size, from), "other bytes were broadcast");
    }
  }
  const std::vector<int> all = shoal::gathered(&ranks, std::vector<int>(ranks.rank(), static_cast<int>(ranks.rank())));
  expect(all.size() == ranks.size() * (ranks.size() - 1) / 2, "other numbers were gathered");
  expect(shoal::mpi::sent_by(ranks).messages > 0, "no message was counted");
}

// In lock-step, as folds are: a word to the right, and a word for all.
void go_on(shoal::communicator& ranks) {
  bytes word = pattern(30000, ranks.rank());
  ranks.send((ranks.rank() + 1) % ranks.size(), word);
  ranks.receive((ranks.rank() + ranks.size() - 1) % ranks.size());
  ranks.broadcast(0, word);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "speak";
  const std::size_t who = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  return shoal::mpi::run_program(
      [&](shoal::communicator* ranks) {
        expect(ranks != nullptr, "there is one process");
        if (what == "speak") speak(*ranks);
        if (what != "speak") {
          for (int turn = 0; turn < 20; ++turn) {
            if (turn == 7 && ranks->rank() == who) {
              if (what == "leave") return 0;
              if (what == "stop") throw shoal::interrupted("stopped here");
              throw std::runtime_error("this one has failed");
            }
            go_on(*ranks);
          }
        }
        return 0;
      },
      [](const std::exception_ptr& thrown) {
        try {
          std::rethrow_exception(thrown);
        } catch (const shoal::interrupted& stop) {
          std::fprintf(stderr, "interrupted: %s\n", stop.what());
          return 5;
        } catch (const std::exception& failure) {
          std::fprintf(stderr, "told: %s\n", failure.what());
          return 4;
        }
      });
}
