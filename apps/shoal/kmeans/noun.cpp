// The noun kmeans.
#include "kmeans/noun.hpp"

#include "kmeans/verbs.hpp"

namespace shoal::app {

noun kmeans_noun() {
  return {.name = "kmeans",
          .title = "k-means",
          .example = "shoal kmeans fit rows.csv --clusters 8 --output model.json",
          .verbs = {add_kmeans_fit, add_kmeans_predict, add_kmeans_select}};
}

}  // namespace shoal::app
