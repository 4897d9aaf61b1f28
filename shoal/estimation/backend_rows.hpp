// What a family's backend is made from.
#pragma once

#include <shoal/execution/fold.hpp>
#include <shoal/io/row_source.hpp>

namespace shoal {

/// The rows of one call and how they may be read there.
template <class Scalar>
struct backend_rows {
  fold_context context;  ///< of the host, which reads rows for every executor; its executor must outlive the backend
  const row_source<Scalar>* rows = nullptr;
  const row_source<Scalar>* weights = nullptr;
  bool fingerprint = false;
};

}  // namespace shoal
