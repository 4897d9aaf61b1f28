// The noun wave: FitzHugh–Nagumo waves.
#pragma once

#include "nouns.hpp"

namespace shoal::app {

noun wave_noun();

}  // namespace shoal::app
