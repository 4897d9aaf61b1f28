// Squared extrapolation without leaving the GPU: what stands between a step's end and the next step's expectation.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/step/maximise.hpp>
#include <shoal/gmm/squarem_rule.hpp>

namespace shoal::gmm {

/// An accelerated fit's state on a GPU: what the host reads after some steps.
struct squarem_state {
  squarem_course course;
  int tried = 0;                    ///< the model is one that was extrapolated, and its pass is still to come
  int replaced = 0;                 ///< the model is not the one that was prepared
  double changes[most_steps] = {};  ///< step_record::change of each step since step_state was written
};

/// The points of a cycle, as coordinates_of() in coordinates.hpp says.
enum class squarem_point : int { first, second, third, tried };
inline constexpr std::size_t squarem_points = 4;

/// Memory of one GPU. All points are of the models that the cycle has so far; what else they hold does not matter.
template <class Scalar>
struct squarem_arguments {
  step_arguments<Scalar> step;  ///< its statistics are not looked at
  squarem_state* state = nullptr;
  double* points = nullptr;        ///< [squarem_points][coordinates]
  double* kept = nullptr;          ///< [model], θ₂ while another is tried: as model_arrays, in one piece
  double* norms = nullptr;         ///< [parts][2], ‖r‖² and ‖v‖² of each part's coordinates
  const double* means = nullptr;   ///< [d], of the columns
  const double* scales = nullptr;  ///< [d], their deviations, 1 where a column does not vary
  double common_scale = 1;         ///< that a spherical variance is measured by
  double tolerance = 0;            ///< of the stop rule; 0: never stop
};

/// Doubles of a point and of norms.
std::size_t point_size(const kernel_layout& layout);
std::size_t norms_size(const kernel_layout& layout);

/// What is to be done beside steps.
enum class squarem_work {
  begin,  ///< before the first: replaces the model by an extrapolated one where it is time
  go_on,  ///< behind each: takes in what it found, and then the same as before the first
  end,    ///< behind the last: a model whose step is still to come gives way to the one that was kept
};

/// Does that, and prepares a model that was replaced. Where steps have stopped nothing changes, except that a tried
/// model that cannot be prepared is dropped, and steps run again.
template <class Scalar>
void extrapolate(const squarem_arguments<Scalar>& arguments, squarem_work work, cudaStream_t stream);
extern template void extrapolate(const squarem_arguments<float>&, squarem_work, cudaStream_t);
extern template void extrapolate(const squarem_arguments<double>&, squarem_work, cudaStream_t);

/// Makes the present model the cycle's first point.
template <class Scalar>
void begin_cycle(const squarem_arguments<Scalar>& arguments, cudaStream_t stream);
extern template void begin_cycle(const squarem_arguments<float>&, cudaStream_t);
extern template void begin_cycle(const squarem_arguments<double>&, cudaStream_t);

}  // namespace shoal::gmm
