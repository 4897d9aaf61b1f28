#include <shoal/reaction_diffusion/add_noise.hpp>

#include <algorithm>
#include <cmath>

#include <shoal/random/normal.hpp>

namespace shoal::reaction_diffusion {
namespace {

// Blocks of the generator that each node may use; one is nearly always enough.
constexpr std::uint64_t blocks_of_node = 256;

template <class Scalar>
void add(const problem& wave, const noise_step& at, const Scalar* v, std::size_t first, std::size_t end, Scalar* to) {
  if (!wave.has_noise()) return;
  const double cell = wave.in_plane() ? wave.grid.spacing * wave.grid.spacing : wave.grid.spacing;
  const double scale = wave.noise.strength * std::sqrt(at.step / cell);
  const bool additive = wave.noise.kind == noise_kind::additive;
  for (std::size_t i = first; i < end; ++i) {
    if (wave.has_input() && (i + 1) % wave.grid.columns == 0) continue;
    random::stream bits(wave.noise.seed, at.number, i * blocks_of_node);
    const double by = scale * random::normal(bits);
    to[i] = static_cast<Scalar>(static_cast<double>(to[i]) + (additive ? by : by * static_cast<double>(v[i])));
  }
}

}  // namespace

void add_noise(const problem& wave, const noise_step& at, const double* v, std::size_t first, std::size_t end,
               double* to) {
  add(wave, at, v, first, end, to);
}

void add_noise(const problem& wave, const noise_step& at, const float* v, std::size_t first, std::size_t end,
               float* to) {
  add(wave, at, v, first, end, to);
}

}  // namespace shoal::reaction_diffusion
