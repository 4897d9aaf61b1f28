// The noun sponge, which is a verb itself.
#pragma once

#include "nouns.hpp"

namespace shoal::app {

noun sponge_noun();

}  // namespace shoal::app
