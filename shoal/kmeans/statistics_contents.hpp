// What the statistics that users hold consist of.
#pragma once

#include <array>
#include <string_view>

#include <shoal/estimation/partial_statistics.hpp>
#include <shoal/kmeans/statistics.hpp>

namespace shoal::kmeans {

inline constexpr std::string_view statistics_family = "kmeans";
inline constexpr std::array<std::string_view, 2> statistics_shape = {"the number of clusters", "the number of columns"};

struct model_statistics::contents : partial_statistics<statistics_monoid> {};

}  // namespace shoal::kmeans
