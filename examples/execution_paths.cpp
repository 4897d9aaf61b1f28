// Everything that a small process can do. A process is built from actions by choice (+), sequence (·) and interleaving
// (‖); its execution paths are the words of actions after which it may end.
#include <cstdio>
#include <set>
#include <string>

#include <shoal/algebra/algebra.hpp>

namespace algebra = shoal::algebra;
using algebra::process;

namespace {

void print(const char* title, const process& value) {
  const std::set<std::string> paths = algebra::execution_paths(value);
  std::printf("%s: %zu paths\n", title, paths.size());
  for (const std::string& path : paths) std::printf("  %s\n", path.c_str());
}

}  // namespace

int main() {
  const process coin = algebra::action('c'), tea = algebra::action('t'), espresso = algebra::action('e');
  const process sugar = algebra::action('s'), nothing = algebra::ended();

  // A machine takes a coin, then gives tea or espresso, then perhaps sugar.
  const process drink = algebra::choose(tea, espresso);
  const process machine = algebra::sequence(coin, algebra::sequence(drink, algebra::choose(sugar, nothing)));
  print("c·(t + e)·(s + 1)", machine);

  // Somebody else beeps and hums meanwhile: every way in which the two can be interleaved.
  const process noise = algebra::sequence(algebra::action('b'), algebra::action('h'));
  const process both = algebra::interleave(algebra::sequence(coin, tea), noise);
  print("c·t ‖ b·h", both);

  // The choice made before the coin is another machine: it has the same paths, but whoever put the coin in has no
  // choice left. Whether the two are equal depends on what equal means, and so do the laws: z(x + y) = zx + zy holds
  // for paths.
  const process late = algebra::sequence(coin, drink);
  const process early = algebra::choose(algebra::sequence(coin, tea), algebra::sequence(coin, espresso));
  const bool same_paths = algebra::execution_paths(late) == algebra::execution_paths(early);
  const bool bisimilar = late == early;
  std::printf("c·(t + e) and c·t + c·e: %s paths, %s\n", same_paths ? "the same" : "other",
              bisimilar ? "bisimilar" : "not bisimilar");

  using by_paths = algebra::process_algebra<algebra::process_equality::execution_paths>;
  using by_choices = algebra::process_algebra<algebra::process_equality::bisimulation>;
  static_assert(algebra::unital_semiring<by_paths>);
  static_assert(algebra::near_ringoid<by_choices> && !algebra::ringoid<by_choices>);

  return algebra::execution_paths(machine) == std::set<std::string>{"ce", "ces", "ct", "cts"} &&
                 algebra::execution_paths(both).size() == 6 && same_paths && !bisimilar
             ? 0
             : 1;
}
