// shoal assign compare
#pragma once

#include "nouns.hpp"

namespace shoal::app {

void add_assign_compare(CLI::App& assign, verb& selected);

}  // namespace shoal::app
