// What a family's backend is made from.
#pragma once

#include <shoal/execution/fold.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>

namespace shoal {

/// The rows of one call and how they may be read there.
template <class Scalar>
struct backend_rows {
  fold_context context;  ///< of the host, which reads rows for every executor; its executor must outlive the backend
  const row_source<Scalar>* rows = nullptr;
  row_weights weights = {};
  bool fingerprint = false;
  bool every_row_as_it_is = false;  ///< see scaled_rows: rows of weight zero are measured, and nothing is fitted
};

}  // namespace shoal
