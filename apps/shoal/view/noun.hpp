// The noun view.
#pragma once

#include <vector>

#include "nouns.hpp"
#include "view/viewable.hpp"

namespace shoal::app {

/// `models` are the kinds of model files that can be shown.
noun view_noun(std::vector<viewable> models);

}  // namespace shoal::app
