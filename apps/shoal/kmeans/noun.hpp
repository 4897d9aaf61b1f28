// The noun kmeans: k-means.
#pragma once

#include "nouns.hpp"

namespace shoal::app {

noun kmeans_noun();

}  // namespace shoal::app
