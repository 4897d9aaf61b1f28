// The verbs of k-means; each is in the source of its name.
#pragma once

#include "common/options.hpp"

namespace shoal::app {

void add_kmeans_fit(CLI::App& noun, verb& selected);
void add_kmeans_predict(CLI::App& noun, verb& selected);
void add_kmeans_select(CLI::App& noun, verb& selected);

}  // namespace shoal::app
