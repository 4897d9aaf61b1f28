// The noun completion.
#pragma once

#include "nouns.hpp"

namespace shoal::app {

noun completion_noun();

}  // namespace shoal::app
