// Maps that are resumed from words that no training has saved: few units, and enough for the search that looks at some
// first.
#include "../fuzz/resumed_fits.hpp"

#include <shoal/som/fit.hpp>

namespace {

namespace som = shoal::som;

template <som::training Training, som::metric Metric, std::size_t Side>
void fit(const std::string& checkpoint, double seconds, const shoal::control& control) {
  som::options options;
  options.width = options.height = Side;
  options.training = Training;
  options.metric = Metric;
  options.epochs = 4;
  options.threads = 1;
  options.checkpoint = checkpoint;
  options.checkpoint_seconds = seconds;
  const auto rows = fuzzing::grouped_rows<300, 3>();
  fuzzing::require_finite(som::fit(rows, options, nullptr, control).model.codebook);
}

using enum som::training;
using enum som::metric;
const fuzzing::add_resumed_fits added{fit<batch, euclidean, 3>, fit<batch, taxicab, 3>, fit<batch, euclidean, 12>,
                                      fit<online, euclidean, 3>};

}  // namespace
