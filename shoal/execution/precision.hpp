// In which precision a CUDA device multiplies float32 rows.
#pragma once

#include <string_view>

namespace shoal {

/// What products of float32 values keep. Sums are held as everywhere: no fewer bits than float32, and float64 beyond a
/// few rows. A kernel may always be more exact than it was asked to be; docs/tolerances.md says what was measured.
enum class precision {
  float32,  ///< float32's own: plain arithmetic, or tensor cores on values split into parts
  tf32,     ///< factors rounded to 11 significant bits, on tensor cores
  bf16,     ///< factors rounded to 8 significant bits, on tensor cores
};

/// "float32", "tf32" or "bf16".
std::string_view precision_name(precision precision);

}  // namespace shoal
