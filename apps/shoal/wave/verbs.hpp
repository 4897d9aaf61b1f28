// The verbs of waves; each is in the source of its name.
#pragma once

#include "common/options.hpp"

namespace shoal::app {

void add_wave_run(CLI::App& noun, verb& selected);
void add_wave_study(CLI::App& noun, verb& selected);

}  // namespace shoal::app
