// The noun assign, which is a verb itself: which column each row takes at least cost.
#pragma once

#include "nouns.hpp"

namespace shoal::app {

noun assign_noun();

}  // namespace shoal::app
