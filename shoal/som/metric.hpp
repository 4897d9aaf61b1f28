// How far a row is from a unit.
#pragma once

namespace shoal::som {

/// Between a row x and a unit's weights w. With all of them units move to weighted means of the rows.
enum class metric {
  euclidean,  ///< ‖x − w‖
  taxicab,    ///< Σ|x − w|
  cosine,     ///< 1 − x·w/(‖x‖‖w‖); 1 where x or w is zero
  chebyshev,  ///< max|x − w|
};

}  // namespace shoal::som
