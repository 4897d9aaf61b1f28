#include <shoal/reaction_diffusion/second_derivative.hpp>

#include <array>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/tridiagonal/methods.hpp>

namespace shoal::reaction_diffusion {
namespace {

// A node by its number, those beyond the ends by their mirror, or a period away.
struct endless_nodes {
  const std::vector<double>& x;
  const std::vector<double>& v;
  double period;  // 0: mirrored

  std::ptrdiff_t last() const { return static_cast<std::ptrdiff_t>(x.size()) - 1; }
  double place(std::ptrdiff_t i) const {
    if (period > 0 && i < 0) return x[static_cast<std::size_t>(i + last() + 1)] - period;
    if (period > 0 && i > last()) return x[static_cast<std::size_t>(i - last() - 1)] + period;
    if (i < 0) return 2 * x.front() - x[static_cast<std::size_t>(-i)];
    if (i > last()) return 2 * x.back() - x[static_cast<std::size_t>(2 * last() - i)];
    return x[static_cast<std::size_t>(i)];
  }
  double value(std::ptrdiff_t i) const {
    if (period > 0 && (i < 0 || i > last()))
      return v[static_cast<std::size_t>(i < 0 ? i + last() + 1 : i - last() - 1)];
    return v[static_cast<std::size_t>(i < 0 ? -i : i > last() ? 2 * last() - i : i)];
  }
};

// Of the parabola through three nodes.
double of_three(const endless_nodes& nodes, std::ptrdiff_t i) {
  const double before = nodes.place(i) - nodes.place(i - 1), behind = nodes.place(i + 1) - nodes.place(i);
  return 2 * ((nodes.value(i + 1) - nodes.value(i)) / behind - (nodes.value(i) - nodes.value(i - 1)) / before) /
         (before + behind);
}

// Of the polynomial through five nodes, by Lagrange's formula around the middle one: for each other node k, the
// derivative of Π (x − x[j]) / (x[k] − x[j]) at x[i]; the weights sum to zero.
double of_five(const endless_nodes& nodes, std::ptrdiff_t i) {
  const double middle = nodes.place(i);
  constexpr std::array<std::ptrdiff_t, 4> others = {-2, -1, 1, 2};
  double sum = 0;
  for (const std::ptrdiff_t k : others) {
    const double own = nodes.place(i + k) - middle;
    // (x − x[i]) times three factors: its second derivative at x[i] is twice the sum of their products in pairs.
    std::array<double, 3> away{};
    double below = own;
    std::size_t count = 0;
    for (const std::ptrdiff_t j : others) {
      if (j == k) continue;
      away[count++] = middle - nodes.place(i + j);
      below *= nodes.place(i + k) - nodes.place(i + j);
    }
    const double pairs = away[0] * away[1] + away[0] * away[2] + away[1] * away[2];
    sum += 2 * pairs / below * (nodes.value(i + k) - nodes.value(i));
  }
  return sum;
}

// Of the cubic spline with v_x = 0 at both ends: its second derivatives solve a tridiagonal system.
void of_spline(const endless_nodes& nodes, std::vector<double>& derivative) {
  const std::size_t count = nodes.x.size();
  std::vector<double> lower(count), diagonal(count), upper(count), right(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    const double before = nodes.place(at) - nodes.place(at - 1), behind = nodes.place(at + 1) - nodes.place(at);
    lower[i] = before / 6;
    diagonal[i] = (before + behind) / 3;
    upper[i] = behind / 6;
    right[i] = (nodes.value(at + 1) - nodes.value(at)) / behind - (nodes.value(at) - nodes.value(at - 1)) / before;
  }
  upper.front() *= 2;
  lower.back() *= 2;
  derivative.resize(count);
  if (tridiagonal::solve_by_thomas<double>({lower.data(), diagonal.data(), upper.data(), right.data(), count},
                                           derivative.data()) != tridiagonal::no_row) {
    throw numerical_error("the spline through the nodes is not defined: two of them lie in one place");
  }
}

}  // namespace

void second_derivative(second_differences kind, const std::vector<double>& x, const std::vector<double>& v,
                       std::vector<double>& derivative, double period) {
  const endless_nodes nodes{x, v, period};
  if (kind == second_differences::spline) return of_spline(nodes, derivative);
  derivative.resize(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    derivative[i] = kind == second_differences::five_point ? of_five(nodes, at) : of_three(nodes, at);
  }
}

}  // namespace shoal::reaction_diffusion
