#include <shoal/reaction_diffusion/wave_speed.hpp>

namespace shoal::reaction_diffusion {
namespace {

template <class Scalar>
std::vector<double> crossings_of(const Scalar* v, const grid& nodes) {
  std::vector<double> found;
  for (std::size_t i = 0; i + 1 < nodes.columns; ++i) {
    const double here = static_cast<double>(v[i]) - 0.5, there = static_cast<double>(v[i + 1]) - 0.5;
    if ((here < 0) == (there < 0)) continue;
    found.push_back((static_cast<double>(i) + here / (here - there)) * nodes.spacing);
  }
  return found;
}

template <class Scalar>
std::optional<double> speed_of(const Scalar* before, const Scalar* after, double time_between, const grid& nodes) {
  if (nodes.rows > 1 || !(time_between > 0)) return std::nullopt;
  const std::vector<double> first = crossings_of(before, nodes), second = crossings_of(after, nodes);
  if (first.size() != 1 || second.size() != 1) return std::nullopt;
  return (second[0] - first[0]) / time_between;
}

}  // namespace

std::vector<double> crossings(const float* v, const grid& nodes) { return crossings_of(v, nodes); }
std::vector<double> crossings(const double* v, const grid& nodes) { return crossings_of(v, nodes); }

std::optional<double> wave_speed(const float* before, const float* after, double time_between, const grid& nodes) {
  return speed_of(before, after, time_between, nodes);
}
std::optional<double> wave_speed(const double* before, const double* after, double time_between, const grid& nodes) {
  return speed_of(before, after, time_between, nodes);
}

}  // namespace shoal::reaction_diffusion
