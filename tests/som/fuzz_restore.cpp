// Maps that are resumed from words that no training has saved: few units, and enough for the search that looks at some
// first.
#include "../fuzz/resumed_fits.hpp"

#include <shoal/som/backend.hpp>
#include <shoal/som/fit.hpp>

namespace {

namespace som = shoal::som;

class map final : public fuzzing::small_fit<som::options, som::make_backend<double>> {
 public:
  using small_fit::small_fit;
  void run(const std::string& checkpoint, double seconds, const shoal::control& control) const override {
    fuzzing::require_finite(som::fit(rows_, with(checkpoint, seconds), nullptr, control).model.codebook);
  }
  void end(shoal::stepper& steps) override {
    auto& ended = static_cast<som::map_stepper&>(steps);
    fuzzing::require_finite(ended.codebook());
    fuzzing::require(!std::isnan(ended.quality().quantization_error), "the error of a finite codebook is a number");
  }
};

std::unique_ptr<map> fit(som::training training, som::metric metric, std::size_t side) {
  som::options options;
  options.width = options.height = side;
  options.training = training;
  options.metric = metric;
  options.epochs = 4;
  return std::make_unique<map>(fuzzing::grouped_rows<30, 3>(), options);
}

using enum som::training;
using enum som::metric;
const fuzzing::add_resumed_fits added(fit(batch, euclidean, 3), fit(batch, taxicab, 3), fit(batch, euclidean, 12),
                                      fit(online, euclidean, 3));

}  // namespace
