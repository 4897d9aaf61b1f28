// A block of rows as the kernels of one pass receive it.
#pragma once

#include <shoal/core/matrix_view.hpp>

namespace shoal::kmeans {

// At most block_rows rows of one block on their way into statistics.
template <class Scalar>
struct block_input {
  matrix_view<const Scalar> rows;
  const Scalar* weights;  // null: all one
};

}  // namespace shoal::kmeans
