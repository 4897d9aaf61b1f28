// The verbs of maps; each is in the source of its name.
#pragma once

#include "common/options.hpp"

namespace shoal::app {

void add_som_fit(CLI::App& noun, verb& selected);
void add_som_predict(CLI::App& noun, verb& selected);
void add_som_score(CLI::App& noun, verb& selected);

}  // namespace shoal::app
