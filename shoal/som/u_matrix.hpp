// How far units differ from their neighbours.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/som/model.hpp>

namespace shoal::som {

/// The neighbours of unit `unit` on the lattice, in ascending order: at most eight, or six.
std::vector<std::size_t> neighbors(const model& model, std::size_t unit);

/// [units] The mean distance of each unit's weights to those of its neighbours, in the map's metric (Ultsch & Siemon
/// 1990); 0 for a map of one unit.
std::vector<double> u_matrix(const model& model);

}  // namespace shoal::som
