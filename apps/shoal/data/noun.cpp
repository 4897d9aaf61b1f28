// The noun data.
#include "data/noun.hpp"

#include <utility>

#include "data/verbs.hpp"

namespace shoal::app {

noun data_noun(std::vector<declare_verb> generators) {
  noun data{.name = "data",
            .title = "Data files",
            .example = "shoal data generate --rows 1000000 --columns 8 --components 10 --output rows.npy",
            .verbs = std::move(generators)};
  data.verbs.insert(data.verbs.end(), {add_data_info, add_data_convert});
  return data;
}

}  // namespace shoal::app
