// The verbs of mixtures; each is in the source of its name.
#pragma once

#include "common/options.hpp"

namespace shoal::app {

void add_gmm_fit(CLI::App& noun, verb& selected);
void add_gmm_predict(CLI::App& noun, verb& selected);
void add_gmm_score(CLI::App& noun, verb& selected);
void add_gmm_sample(CLI::App& noun, verb& selected);
void add_gmm_select(CLI::App& noun, verb& selected);
void add_gmm_study(CLI::App& noun, verb& selected);

}  // namespace shoal::app
