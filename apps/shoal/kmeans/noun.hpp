// The noun kmeans: k-means.
#pragma once

#include "nouns.hpp"
#include "view/viewable.hpp"

namespace shoal::app {

noun kmeans_noun();

/// What `shoal view` shows of model files.
viewable kmeans_view();

}  // namespace shoal::app
