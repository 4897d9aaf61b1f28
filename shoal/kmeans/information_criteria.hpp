// Information criteria of a clustering, for the choice of K.
#pragma once

#include <cstddef>
#include <span>

namespace shoal::kmeans {

struct criteria {
  double bic = 0;
  double aic = 0;
};

/// BIC = −2ℓ + p ln N and AIC = −2ℓ + 2p of the spherical model of docs/choosing-k.md, where N = Σ cluster_weights and
/// p = (K − 1) + K·d + 1. Not-a-number when N ≤ K, where the model's variance is not defined. An inertia of zero counts
/// as the smallest positive number, so that the criteria are finite.
criteria information_criteria(std::span<const double> cluster_weights, std::size_t columns, double inertia);

}  // namespace shoal::kmeans
