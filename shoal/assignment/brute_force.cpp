// Heap's order of all permutations, with the sum updated by what each exchange changes.
#include <shoal/assignment/brute_force.hpp>

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace shoal::assignment {
namespace {

class search {
 public:
  explicit search(matrix_view<const double> costs) : costs_(costs), order_(costs.columns()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (std::size_t i = 0; i < costs.rows(); ++i) {
      for (std::size_t j = 0; j < costs.columns(); ++j) {
        if (std::isfinite(costs(i, j))) largest_ += std::abs(costs(i, j));
      }
      add(i);
    }
    consider();
  }

  std::vector<std::size_t> run() {
    std::vector<std::size_t> turns(order_.size(), 0);
    for (std::size_t i = 1; i < order_.size();) {
      if (turns[i] < i) {
        exchange(i % 2 == 0 ? 0 : turns[i], i);
        consider();
        ++turns[i];
        i = 1;
      } else {
        turns[i++] = 0;
      }
    }
    return best_;
  }

 private:
  void add(std::size_t row) { change(row, 1); }

  // Forbidden pairs are counted, for ∞ could not be taken out of a sum again.
  void change(std::size_t row, int sign) {
    if (row >= costs_.rows()) return;
    const double cost = costs_(row, order_[row]);
    if (std::isinf(cost)) {
      forbidden_ += sign;
    } else {
      sum_ += sign * cost;
    }
  }

  void exchange(std::size_t a, std::size_t b) {
    change(a, -1);
    change(b, -1);
    std::swap(order_[a], order_[b]);
    change(a, 1);
    change(b, 1);
  }

  // The running sum decides who is looked at, with room for its rounding; the sum in row order decides.
  void consider() {
    if (forbidden_ != 0 || sum_ > least_ + 1e-9 * largest_) return;
    double sum = 0;
    for (std::size_t i = 0; i < costs_.rows(); ++i) sum += costs_(i, order_[i]);
    sum_ = sum;
    if (sum >= least_) return;
    least_ = sum;
    best_.assign(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(costs_.rows()));
  }

  matrix_view<const double> costs_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> best_;
  double sum_ = 0;
  int forbidden_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
  double largest_ = 0;
};

}  // namespace

std::vector<std::size_t> brute_force(matrix_view<const double> costs) { return search(costs).run(); }

}  // namespace shoal::assignment
