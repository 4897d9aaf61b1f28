// Arrays of Python as the rows of a fit: in place where their layout allows it, else converted piece by piece.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <variant>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>

namespace shoal::python {

namespace nb = nanobind;

/// Any real array on the host that may not be written to.
using host_array = nb::ndarray<nb::ro, nb::device::cpu>;

/// The same in the memory of a CUDA device.
using device_array = nb::ndarray<nb::ro, nb::device::cuda>;

/// Rows and, perhaps, their weights, in the scalar that a computation runs in. Keeps the arrays alive.
class rows {
 public:
  /// `array` is [rows][columns] of any real type and any strides; `weights`, when valid, is [rows]. With `mapped`, the
  /// array lies in a file that is mapped shared: its rows are then copied piece by piece and their pages given back at
  /// once, so that no more of the file than that is ever resident.
  rows(host_array array, nb::object weights, bool float32, bool mapped);

  /// Rows, and perhaps weights, that lie on a CUDA device: float32 or float64 of any strides that are not negative.
  /// Both must be on the same device.
  rows(device_array array, nb::object weights);

  std::size_t count() const;
  std::size_t columns() const;
  bool float32() const { return sources_.index() == 0; }
  /// True when the rows are read where they lie.
  bool in_place() const;
  /// The CUDA device that they lie on; -1 for the host's memory.
  int device() const { return device_; }

  /// Calls work(rows, weights) with the sources.
  template <class Work>
  decltype(auto) visit(Work&& work) const {
    const row_weights weights = wide_weights_ ? row_weights(wide_weights_.get()) : row_weights(narrow_weights_.get());
    return std::visit([&](const auto& held) { return work(*held, weights); }, sources_);
  }

 private:
  template <class Scalar>
  using source = std::unique_ptr<row_source<Scalar>>;

  nb::ndarray<nb::ro> array_;
  nb::ndarray<nb::ro> weights_;
  int device_ = -1;
  std::variant<source<float>, source<double>> sources_;
  source<float> narrow_weights_;  // float32 arrays; all others are read as float64
  source<double> wide_weights_;
};

}  // namespace shoal::python
