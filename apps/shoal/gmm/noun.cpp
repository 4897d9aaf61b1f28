// The noun gmm.
#include "gmm/noun.hpp"

#include "gmm/verbs.hpp"

namespace shoal::app {

noun gmm_noun() {
  return {.name = "gmm",
          .title = "Gaussian mixtures",
          .example = "shoal gmm fit rows.csv --components 3 --output model.json",
          .verbs = {add_gmm_fit, add_gmm_predict, add_gmm_score, add_gmm_sample, add_gmm_select, add_gmm_study}};
}

}  // namespace shoal::app
