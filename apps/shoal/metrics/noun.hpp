// shoal metrics
#pragma once

#include "nouns.hpp"

namespace shoal::app {

noun metrics_noun();

}  // namespace shoal::app
