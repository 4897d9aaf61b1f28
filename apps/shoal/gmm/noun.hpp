// The noun gmm: Gaussian mixtures.
#pragma once

#include "nouns.hpp"

namespace shoal::app {

noun gmm_noun();

/// `shoal data generate`, which draws from mixtures.
void add_gmm_generate(CLI::App& noun, verb& selected);

}  // namespace shoal::app
