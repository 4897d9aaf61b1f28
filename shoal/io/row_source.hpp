// Where rows come from: memory of the host or of a CUDA device, a mapped file, or a file that is read piece by piece.
#pragma once

#include <cstddef>
#include <string>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/core/device_matrix_view.hpp>
#include <shoal/core/error.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal {

/// Rows that can be read in any order, any number of times, from several threads at once.
/// Scalar is float or double; a source of another element type converts piece by piece.
template <class Scalar>
class row_source {
 public:
  virtual ~row_source() = default;

  virtual std::size_t rows() const = 0;
  virtual std::size_t columns() const = 0;

  /// Rows [first, first + count): a view of memory that the source owns, or rows converted into `buffer`, which the
  /// caller keeps as long as the view. Safe to call from several threads with different buffers.
  /// Throws io_error when the file cannot be read or has changed.
  virtual matrix_view<const Scalar> read(std::size_t first, std::size_t count,
                                         aligned_buffer<Scalar>& buffer) const = 0;

  /// True when read() copies nothing, so that rows need no buffer.
  virtual bool resident() const = 0;

  /// The rows in the memory of a CUDA device, when they lie there; else null.
  virtual const device_matrix_view<const Scalar>* on_device() const { return nullptr; }
};

/// Rows in memory that somebody else owns.
template <class Scalar>
class view_source final : public row_source<Scalar> {
 public:
  explicit view_source(matrix_view<const Scalar> rows) : rows_(rows) {}
  std::size_t rows() const override { return rows_.rows(); }
  std::size_t columns() const override { return rows_.columns(); }
  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>&) const override {
    return rows_.middle_rows(first, count);
  }
  bool resident() const override { return true; }

 private:
  matrix_view<const Scalar> rows_;
};

/// Rows, or one column of sample weights, in the memory of a CUDA device that somebody else owns. Fits and predictions
/// on CUDA devices take them; whatever reads rows on the host refuses them.
///
/// A chosen device uses rows that it holds where they are, if they are contiguous() and begin at a multiple of 16
/// bytes. Rows in another layout (gaps between them, column-major) are copied into that form on the device, and chosen
/// devices that do not hold them get copies of their shares. A copy that fits into device_choice::memory is kept; else
/// pieces are copied in every pass. Weights are always copied.
template <class Scalar>
class device_source final : public row_source<Scalar> {
 public:
  explicit device_source(device_matrix_view<const Scalar> rows) : rows_(rows) {}
  std::size_t rows() const override { return rows_.rows(); }
  std::size_t columns() const override { return rows_.columns(); }
  /// Throws bad_argument.
  matrix_view<const Scalar> read(std::size_t, std::size_t, aligned_buffer<Scalar>&) const override {
    const std::string device = std::to_string(rows_.device());
    throw bad_argument("the rows lie in the memory of CUDA device " + device +
                       ", where the host cannot read them: choose that device (cuda:" + device +
                       "), or copy them to the host");
  }
  bool resident() const override { return true; }
  const device_matrix_view<const Scalar>* on_device() const override { return &rows_; }

 private:
  device_matrix_view<const Scalar> rows_;
};

}  // namespace shoal
