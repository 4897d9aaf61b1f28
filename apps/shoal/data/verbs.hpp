// The verbs of data files; each is in the source of its name.
#pragma once

#include "common/options.hpp"

namespace shoal::app {

void add_data_info(CLI::App& noun, verb& selected);
void add_data_convert(CLI::App& noun, verb& selected);

}  // namespace shoal::app
