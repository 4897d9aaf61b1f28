// Holds a computation to the same bits on any number of ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/execution/executor.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/execution/memory_communicator.hpp>

namespace ranks {

/// Fewer than lanes, as many, and more; powers of two and not.
inline constexpr std::size_t numbers[] = {1, 2, 3, 7, 64, 65};

/// Numbers of any type that a computation gives, to be compared as bits.
class bits {
 public:
  template <class Number>
  bits& operator<<(const std::vector<Number>& values) {
    const auto* const from = reinterpret_cast<const std::uint8_t*>(values.data());
    bytes_.insert(bytes_.end(), from, from + values.size() * sizeof(Number));
    return *this;
  }
  bits& operator<<(double value) { return *this << std::vector<double>{value}; }
  bits& operator<<(std::size_t value) { return *this << std::vector<std::size_t>{value}; }
  friend bool operator==(const bits&, const bits&) = default;

 private:
  std::vector<std::uint8_t> bytes_;
};

/// work(context) on so many ranks, of one and of two threads by turns; what each returned.
template <class Work>
auto results(std::size_t count, const Work& work, bool led = false) {
  std::vector<decltype(work(shoal::fold_context{}))> all(count);
  shoal::run_ranks(
      count,
      [&](shoal::communicator& own) {
        const auto workers = shoal::make_executor(1 + own.rank() % 2);
        all[own.rank()] = work(shoal::fold_context{workers.get(), 0, {}, &own});
      },
      led);
  return all;
}

/// work(context) returns bits: those of one process, on every rank of any number of ranks, and where rank 0 only leads.
template <class Work>
void expect_same_bits(const Work& work) {
  const auto workers = shoal::make_sequential();
  const bits expected = work(shoal::fold_context{workers.get(), 0, {}});
  EXPECT_FALSE(expected == bits());
  for (const std::size_t count : numbers) {
    const std::vector<bits> all = results(count, work);
    for (std::size_t rank = 0; rank < count; ++rank) {
      EXPECT_TRUE(all[rank] == expected) << "rank " << rank << " of " << count;
    }
  }
  for (const std::size_t count : {2, 4}) {
    const std::vector<bits> all = results(count, work, true);
    for (std::size_t rank = 0; rank < count; ++rank) {
      EXPECT_TRUE(all[rank] == expected) << "rank " << rank << " of " << count << " that rank 0 leads";
    }
  }
}

}  // namespace ranks
