#include <shoal/reaction_diffusion/choose_stepper.hpp>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/explicit_steps.hpp>

namespace shoal::reaction_diffusion {

template <class Scalar>
std::unique_ptr<stepper<Scalar>> choose_stepper(const problem& wave, const options& how, executor& executor) {
  switch (how.scheme) {
    case scheme::explicit_steps: {
      const double step = how.step > 0 ? how.step : 0.9 * longest_explicit_step(wave, how.order);
      return make_explicit_steps<Scalar>(wave, step, executor);
    }
  }
  throw bad_argument("scheme must be one of the values of reaction_diffusion::scheme");
}

template std::unique_ptr<stepper<double>> choose_stepper<double>(const problem&, const options&, executor&);
template std::unique_ptr<stepper<float>> choose_stepper<float>(const problem&, const options&, executor&);

}  // namespace shoal::reaction_diffusion
