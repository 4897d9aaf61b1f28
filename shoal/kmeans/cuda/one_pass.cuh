// What the kernels that label and sum rows in one pass over memory are told, and which of their shapes is for how many
// columns and clusters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <shoal/kmeans/cuda/kernels.hpp>

namespace shoal::kmeans {

template <class Scalar>
struct one_pass_arguments {
  sum_plan plan;
  cuda::device_piece<Scalar> piece;
  int first_lane;
  int clusters;
  int columns;
  const double* centroids;
  std::int32_t* labels;
  double* lanes;
  unsigned long long* fingerprint;
  const int* stopped;
};

template <class Scalar>
one_pass_arguments<Scalar> one_pass(const sum_plan& plan, const cuda::device_piece<Scalar>& piece,
                                    const device_centroids<Scalar>& centroids, std::int32_t* labels, double* lanes,
                                    unsigned long long* fingerprint, const int* stopped) {
  return {.plan = plan,
          .piece = piece,
          .first_lane = plan.first_lane(piece),
          .clusters = centroids.clusters,
          .columns = centroids.columns,
          .centroids = centroids.values,
          .labels = labels,
          .lanes = lanes,
          .fingerprint = fingerprint,
          .stopped = stopped};
}

/// Clusters of the kernel that takes so many.
constexpr std::size_t slots_for(std::size_t clusters) { return clusters <= 2 ? 2 : clusters <= 4 ? 4 : 8; }

/// Calls `launch(columns, slots)`, both as constants: a kernel for 1 to 4 columns, and for 2, 4 or 8 clusters.
template <class Launch>
void with_shape(std::size_t columns, std::size_t clusters, const Launch& launch) {
  const auto with_slots = [&](auto width) {
    switch (slots_for(clusters)) {
      case 2:
        return launch(width, std::integral_constant<int, 2>());
      case 4:
        return launch(width, std::integral_constant<int, 4>());
      default:
        return launch(width, std::integral_constant<int, 8>());
    }
  };
  switch (columns) {
    case 1:
      return with_slots(std::integral_constant<int, 1>());
    case 2:
      return with_slots(std::integral_constant<int, 2>());
    case 3:
      return with_slots(std::integral_constant<int, 3>());
    default:
      return with_slots(std::integral_constant<int, 4>());
  }
}

}  // namespace shoal::kmeans
