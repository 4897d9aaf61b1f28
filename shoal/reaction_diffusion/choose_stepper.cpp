#include <shoal/reaction_diffusion/choose_stepper.hpp>

#include <algorithm>
#include <type_traits>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/adaptive.hpp>
#include <shoal/reaction_diffusion/crank_nicolson.hpp>
#include <shoal/reaction_diffusion/device_stepper.hpp>
#include <shoal/reaction_diffusion/explicit_steps.hpp>
#include <shoal/reaction_diffusion/pieces.hpp>
#include <shoal/reaction_diffusion/plane_steps.hpp>
#include <shoal/reaction_diffusion/runge_kutta.hpp>
#include <shoal/reaction_diffusion/source_2016.hpp>
#include <shoal/reaction_diffusion/split_steps.hpp>
#include <shoal/reaction_diffusion/tr_bdf2.hpp>
#include <shoal/reaction_diffusion/varied_steps.hpp>

namespace shoal::reaction_diffusion {

template <class Scalar>
std::unique_ptr<stepper<Scalar>> choose_stepper(const problem& wave, const options& how, executor& executor) {
  const double least = std::is_same_v<Scalar, float> ? 1e-6 : 1e-12;
  const double accuracy = how.newton_accuracy > 0 ? std::max(how.newton_accuracy, least) : least;
  if (!how.device.on_host()) return make_device_stepper<Scalar>(wave, how, accuracy);
  switch (how.scheme) {
    case scheme::explicit_steps: {
      if (how.order == 4) {
        return make_runge_kutta<Scalar>(wave, how.step > 0 ? how.step : 0.9 * longest_runge_kutta_step(wave), executor);
      }
      const double step = how.step > 0 ? how.step : 0.9 * longest_explicit_step(wave);
      if (wave.is_varied() || (wave.grid.rows > 1 && wave.has_input()))
        return make_varied_steps<Scalar>(wave, step, executor);
      if (wave.grid.rows > 1) return make_plane_steps<Scalar>(wave, step, executor);
      return make_explicit_steps<Scalar>(wave, step, executor);
    }
    case scheme::adaptive: {
      const double step = how.step > 0 ? how.step : 0.9 * longest_adaptive_step(wave, how.adaptive.differences);
      return make_adaptive<Scalar>(wave, how.adaptive, step);
    }
    case scheme::crank_nicolson:
      if (wave.is_split()) {
        return make_split_steps<Scalar>(wave, {false, how.step > 0 ? how.step : 0.1, 0, accuracy}, executor);
      }
      return make_crank_nicolson<Scalar>(wave, how.step > 0 ? how.step : 0.1, accuracy, executor);
    case scheme::pieces:
      return make_pieces<Scalar>(wave, how.step > 0 ? how.step : 0.1, accuracy, how.piece_nodes, executor);
    case scheme::source_2016:
      return std::make_unique<source_2016<Scalar>>(
          wave, how.step > 0 ? how.step : 0.5 * wave.grid.spacing * wave.grid.spacing, accuracy, how.end_rows);
    case scheme::tr_bdf2:
      if (wave.is_split()) return make_split_steps<Scalar>(wave, {true, how.step, how.tolerance, accuracy}, executor);
      return make_tr_bdf2<Scalar>(wave, how.step, how.tolerance, accuracy, executor);
  }
  throw bad_argument("scheme must be one of the values of reaction_diffusion::scheme");
}

template std::unique_ptr<stepper<double>> choose_stepper<double>(const problem&, const options&, executor&);
template std::unique_ptr<stepper<float>> choose_stepper<float>(const problem&, const options&, executor&);

}  // namespace shoal::reaction_diffusion
