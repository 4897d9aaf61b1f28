// The noun som: self-organizing maps.
#pragma once

#include "nouns.hpp"
#include "view/viewable.hpp"

namespace shoal::app {

noun som_noun();

/// What `shoal view` shows of model files.
viewable som_view();

}  // namespace shoal::app
