// Rows of a caller that may lie on a device, made readable for what the host does with a few of them.
#pragma once

#include <memory>

#include <shoal/io/row_source.hpp>

namespace shoal::cuda {

/// The source itself when the host can read it; else one that reads by copies from the device, and still says where its
/// rows lie. Waits for the work that the device has been given. Throws bad_argument when the pointer is not to memory
/// of the device that it names. Borrows the source; null stays null.
template <class Scalar>
class readable_rows {
 public:
  explicit readable_rows(const row_source<Scalar>* source);
  const row_source<Scalar>* get() const { return source_; }

 private:
  std::unique_ptr<row_source<Scalar>> wrapper_;
  const row_source<Scalar>* source_;
};
extern template class readable_rows<float>;
extern template class readable_rows<double>;

}  // namespace shoal::cuda
