// What the statistics that users hold consist of.
#pragma once

#include <array>
#include <string_view>

#include <shoal/estimation/partial_statistics.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

inline constexpr std::string_view statistics_family = "gmm";
inline constexpr std::array<std::string_view, 3> statistics_shape = {
    "the covariance type (0 full, 1 tied, 2 diag, 3 spherical)", "the number of components", "the number of columns"};

struct model_statistics::contents : partial_statistics<statistics_group> {};

}  // namespace shoal::gmm
