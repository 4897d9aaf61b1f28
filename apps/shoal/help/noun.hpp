// The noun help.
#pragma once

#include "nouns.hpp"

namespace shoal::app {

noun help_noun();

}  // namespace shoal::app
