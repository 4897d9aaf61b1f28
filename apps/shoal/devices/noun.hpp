// The noun devices, which is a verb itself: what can compute here.
#pragma once

#include "nouns.hpp"

namespace shoal::app {

noun devices_noun();

}  // namespace shoal::app
