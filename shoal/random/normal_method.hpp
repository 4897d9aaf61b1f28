// The two ways to draw a standard normal.
#pragma once

namespace shoal::random {

/// Both are exact up to rounding; they consume the stream differently, so they draw different rows from one seed.
enum class normal_method {
  ratio_of_uniforms,  ///< Kinderman and Monahan 1977; no table
  ziggurat,           ///< Marsaglia and Tsang 2000, with independent bits as in Doornik 2005; several times faster
};

}  // namespace shoal::random
