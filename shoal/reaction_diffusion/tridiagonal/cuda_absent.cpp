// What a build without CUDA says when tridiagonal systems are to be solved on CUDA devices.
#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/tridiagonal/tridiagonal.hpp>

namespace shoal::reaction_diffusion::tridiagonal {
namespace {

[[noreturn]] void refuse() { throw not_built("CUDA support was not built; configure with -DSHOAL_CUDA=ON"); }

}  // namespace

void solve(const systems<double>&, double*, const device_choice&) { refuse(); }
void solve(const systems<float>&, float*, const device_choice&) { refuse(); }

}  // namespace shoal::reaction_diffusion::tridiagonal
