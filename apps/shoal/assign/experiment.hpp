// shoal assign experiment
#pragma once

#include "nouns.hpp"

namespace shoal::app {

void add_assign_experiment(CLI::App& assign, verb& selected);

}  // namespace shoal::app
