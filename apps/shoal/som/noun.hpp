// The noun som: self-organizing maps.
#pragma once

#include "nouns.hpp"

namespace shoal::app {

noun som_noun();

}  // namespace shoal::app
