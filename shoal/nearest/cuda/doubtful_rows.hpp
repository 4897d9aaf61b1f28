// Rows whose nearest centroid a search could not tell for sure, on one GPU.
#pragma once

#include <cuda_runtime_api.h>

namespace shoal {

/// Those with two candidates left are listed from the front, each with the second one (its label is the first); those
/// with more from the back.
struct doubtful_rows {
  unsigned* counts = nullptr;  ///< three: of pairs, of open rows, of blocks that are done deciding; zero in between
  int2* list = nullptr;        ///< [capacity], at least one place for each row of a piece
  unsigned capacity = 0;
};

}  // namespace shoal
