// What every function that takes a map holds it to.
#pragma once

#include <cstddef>

#include <shoal/som/lattice.hpp>
#include <shoal/som/model.hpp>

namespace shoal::som {

/// Throws bad_argument for sides that no map can have.
void check_shape(std::size_t width, std::size_t height, lattice lattice, bool toroidal);

/// Throws bad_argument for a model that is not whole or not finite.
void check_model(const model& model);

/// And for one that has not the data's columns.
void check_model(const model& model, std::size_t columns);

}  // namespace shoal::som
