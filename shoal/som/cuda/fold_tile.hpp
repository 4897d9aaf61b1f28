// How many threads fold a tile of rows.
#pragma once

namespace shoal::som {

inline constexpr int fold_threads = 256;  // of a block

}  // namespace shoal::som
