// The noun manual.
#pragma once

#include "nouns.hpp"

namespace shoal::app {

noun manual_noun();

}  // namespace shoal::app
