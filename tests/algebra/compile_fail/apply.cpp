// Applies OPERATION to STRUCTURE: compiles exactly when the structure is what the operation asks for.
#include <vector>

#include "structures.hpp"

int main() {
  using namespace shoal::algebra;
  const std::vector<STRUCTURE::value_type> values;
  static_cast<void>(OPERATION(STRUCTURE{}, values));
}
