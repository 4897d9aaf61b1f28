// Bids of one row after the other, with falling steps (Bertsekas 1988).
#include <shoal/assignment/sparse_prices.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <shoal/assignment/solution.hpp>

namespace shoal::assignment {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t bids_per_row = 512;  // infeasible costs would be bid for without an end

struct cost_range {
  double least = infinity;
  double most = -infinity;
  bool whole = true;
};

cost_range range_of(const sparse_costs& costs) {
  cost_range range;
  for (const double cost : costs.costs) {
    if (cost == infinity) continue;
    range.least = std::min(range.least, cost);
    range.most = std::max(range.most, cost);
    range.whole = range.whole && cost == std::floor(cost);
  }
  return range;
}

class listed_auction {
 public:
  explicit listed_auction(const sparse_costs& costs)
      : costs_(costs), spread_(0), potentials_(costs.columns, 0.0), owners_(costs.columns) {}

  std::vector<double> run() && {
    const cost_range range = range_of(costs_);
    spread_ = range.most - range.least;
    if (!(spread_ > 0)) return std::move(potentials_);
    const double last = range.whole ? 1 / static_cast<double>(costs_.rows + 1) : spread_ * 0x1p-24;
    std::size_t left = bids_per_row * costs_.rows;
    // Powers of two keep the potentials of whole costs exact.
    for (double step = std::ldexp(1.0, std::ilogb(spread_) - 2);; step /= 4) {
      if (!hold(step, left) || step < last) return std::move(potentials_);
    }
  }

 private:
  // One phase. False when a row has no pair, or the bids are used up.
  bool hold(double step, std::size_t& left) {
    std::fill(owners_.begin(), owners_.end(), unassigned);
    for (std::size_t first = 0; first < costs_.rows; ++first) {
      for (std::size_t row = first; row != unassigned;) {
        if (left-- == 0) return false;
        double least = infinity;
        double second = infinity;
        std::size_t column = unassigned;
        const auto end = static_cast<std::size_t>(costs_.starts[row + 1]);
        for (auto k = static_cast<std::size_t>(costs_.starts[row]); k < end; ++k) {
          const auto j = static_cast<std::size_t>(costs_.indices[k]);
          const double reduced = costs_.costs[k] - potentials_[j];
          if (reduced < least) {
            second = least;
            least = reduced;
            column = j;
          } else {
            second = std::min(second, reduced);
          }
        }
        if (column == unassigned) return false;
        potentials_[column] -= (second < infinity ? second - least : spread_) + step;
        std::swap(row, owners_[column]);
      }
    }
    return true;
  }

  sparse_costs costs_;
  double spread_;
  std::vector<double> potentials_;
  std::vector<std::size_t> owners_;
};

}  // namespace

std::vector<double> sparse_prices(const sparse_costs& costs) { return listed_auction(costs).run(); }

}  // namespace shoal::assignment
