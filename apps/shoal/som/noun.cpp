// The noun som.
#include "som/noun.hpp"

#include "som/verbs.hpp"

namespace shoal::app {

noun som_noun() {
  return {.name = "som",
          .title = "Self-organizing maps",
          .example = "shoal som fit rows.csv --width 20 --height 15 --output map.json --report map.html",
          .verbs = {add_som_fit, add_som_predict, add_som_score}};
}

}  // namespace shoal::app
