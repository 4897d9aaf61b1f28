// One graph, one algorithm, five semirings. A matrix over a semiring holds what is known of the ways from each place to
// each other; its product extends ways by ways, and its powers know all of a length. What "know" means is the semiring.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include <shoal/algebra/algebra.hpp>

namespace algebra = shoal::algebra;

namespace {

// Roads from one place to another, each with a name, a length in km and the height of its lowest bridge in m.
struct road {
  std::size_t from, to;
  char name;
  double length, height;
};
constexpr std::size_t places = 5;
const std::vector<road> roads{{0, 1, 'a', 4, 3.5}, {0, 2, 'b', 1, 2.5}, {2, 1, 'c', 2, 4.5}, {1, 3, 'd', 5, 3.0},
                              {2, 3, 'e', 8, 4.0}, {3, 4, 'f', 3, 5.0}, {1, 4, 'g', 9, 4.2}};

// A semiring of one's own: of two ways the one that higher cars can use, and along a way the lowest bridge.
struct widest_semiring {
  using value_type = double;
  static constexpr algebra::ring_laws laws{.left_distributive = algebra::law::exact,
                                           .right_distributive = algebra::law::exact,
                                           .annihilating_zero = algebra::law::exact};
  algebra::maximum<double> addition() const { return {}; }
  algebra::minimum<double> multiplication() const { return {}; }
};

// What is known of the ways from `from` to `to` of at most four roads; `of_road` says what is known of one road.
template <class Ring, class OfRoad>
algebra::value_of<Ring> known(const Ring& ring, std::size_t from, std::size_t to, const OfRoad& of_road) {
  const algebra::matrices<Ring> matrices(places, ring);
  auto step = matrices.addition().identity();
  for (const road& r : roads) {
    step[r.from * places + r.to] = algebra::add(ring, step[r.from * places + r.to], of_road(r));
  }
  // (1 + A)⁴ would count ways several times where addition is not idempotent: A + A² + A³ + A⁴ does not.
  auto power = step, all = step;
  for (int length = 2; length <= 4; ++length) {
    power = algebra::combine(matrices.multiplication(), power, step);
    all = algebra::combine(matrices.addition(), all, power);
  }
  return all[from * places + to];
}

}  // namespace

int main() {
  const bool reachable = known(algebra::boolean_semiring{}, 0, 4, [](const road&) { return true; });
  const auto ways = known(algebra::integers<std::uint64_t>{}, 0, 4, [](const road&) { return std::uint64_t{1}; });
  const double length = known(algebra::tropical_semiring<double>{}, 0, 4, [](const road& r) { return r.length; });
  const double height = known(widest_semiring{}, 0, 4, [](const road& r) { return r.height; });
  using words = algebra::process_algebra<algebra::process_equality::execution_paths>;
  const auto all =
      algebra::execution_paths(known(words{}, 0, 4, [](const road& r) { return algebra::action(r.name); }));

  std::printf("from 0 to 4: %s, %d ways, the shortest %.0f km, for cars of up to %.1f m\n", reachable ? "yes" : "no",
              static_cast<int>(ways), length, height);
  for (const std::string& way : all) std::printf("  %s\n", way.c_str());

  // The semiring of one's own keeps its laws.
  const std::vector<double> heights{widest_semiring{}.addition().identity(), 2.5, 3, 4.2,
                                    std::numeric_limits<double>::infinity()};
  const algebra::law_report report = algebra::check_unital_semiring(widest_semiring{}, heights);
  std::printf("widest ways: %s\n", report.message().c_str());
  return reachable && ways == all.size() && ways == 5 && length == 11 && height == 3.5 && report.passed() ? 0 : 1;
}
