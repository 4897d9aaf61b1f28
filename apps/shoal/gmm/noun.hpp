// The noun gmm: Gaussian mixtures.
#pragma once

#include "nouns.hpp"
#include "view/viewable.hpp"

namespace shoal::app {

noun gmm_noun();

/// What `shoal view` shows of model files.
viewable gmm_view();

/// `shoal data generate`, which draws from mixtures.
void add_gmm_generate(CLI::App& noun, verb& selected);

}  // namespace shoal::app
