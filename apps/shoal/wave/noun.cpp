// The noun wave.
#include "wave/noun.hpp"

#include "wave/verbs.hpp"

namespace shoal::app {

noun wave_noun() {
  return {.name = "wave",
          .title = "FitzHugh-Nagumo waves",
          .example = "shoal wave run --preset impulse --scheme tr-bdf2 --times 0,38,243 --output states.npy",
          .verbs = {add_wave_run, add_wave_study}};
}

}  // namespace shoal::app
