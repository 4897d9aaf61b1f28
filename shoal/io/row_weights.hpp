// Weights of rows, in whatever scalar they come.
#pragma once

#include <cstddef>

#include <shoal/io/row_source.hpp>

namespace shoal {

/// None, so that every row weighs 1, or one column of float32 or float64 weights, whatever the scalar of the rows. A
/// pointer to a source becomes one by itself. Borrows the source.
class row_weights {
 public:
  row_weights() = default;
  row_weights(std::nullptr_t) {}
  row_weights(const row_source<float>* source) : narrow_(source) {}
  row_weights(const row_source<double>* source) : wide_(source) {}

  bool given() const { return narrow_ != nullptr || wide_ != nullptr; }

  /// The source when it is of this scalar; else null.
  template <class Scalar>
  const row_source<Scalar>* in() const {
    if constexpr (sizeof(Scalar) == sizeof(float)) {
      return narrow_;
    } else {
      return wide_;
    }
  }

  /// Calls work(source), whose scalar is the source's own; something must be given.
  template <class Work>
  decltype(auto) visit(Work&& work) const {
    if (narrow_ != nullptr) return work(*narrow_);
    return work(*wide_);
  }

 private:
  const row_source<float>* narrow_ = nullptr;
  const row_source<double>* wide_ = nullptr;
};

}  // namespace shoal
