// Arrays of Python as the rows of a fit: in place where their layout allows it, else converted piece by piece.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <shoal/execution/communicator.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>

namespace shoal::python {

namespace nb = nanobind;

/// Any real array on the host that may not be written to.
using host_array = nb::ndarray<nb::ro, nb::device::cpu>;

/// The same in the memory of a CUDA device.
using device_array = nb::ndarray<nb::ro, nb::device::cuda>;

/// How the memory of an array on the host is read. What lies in a mapped file is copied by the system, never touched
/// here: when another process has shortened the file, that is an error, where a touch would end this one by a signal.
enum class residence {
  in_place,             ///< of no mapped file
  copied,               ///< once, as a whole
  in_pieces,            ///< copied piece by piece in every pass
  in_pieces_given_back  ///< and of a shared map: pages go as soon as they are copied, so that few are ever resident
};

/// A fold asked for rows that this rank does not hold.
class rows_not_held : public error {
 public:
  rows_not_held(std::size_t first, std::size_t end)
      : error("rows " + std::to_string(first) + " to " + std::to_string(end) + " are on another rank"),
        first(first),
        end(end) {}
  std::size_t first, end;
};

/// Where the rows of one rank begin among those of all, and where their weights do.
struct held_place {
  std::size_t first = 0;
  std::size_t weights_first = 0;
  std::size_t total = 0;
};

/// Rows and, perhaps, their weights, in the scalar that a computation runs in. Keeps the arrays alive.
class rows {
 public:
  /// `array` is [rows][columns] of any real type and any strides; `weights`, when valid, is [rows].
  rows(host_array array, nb::object weights, bool float32, residence array_residence, residence weights_residence);

  /// Rows, and perhaps weights, that lie on a CUDA device: float32 or float64 of any strides that are not negative.
  /// Both must be on the same device.
  rows(device_array array, nb::object weights);

  /// What one rank holds of all rows: `parts`, each of these columns and this scalar, one below the other; `weights`
  /// are parts of one column, or None. What they hold moves here. `ranks` outlives this.
  rows(nb::list parts, nb::object weights, std::size_t columns, bool float32, const held_place& place,
       communicator* ranks);

  std::size_t count() const;
  std::size_t columns() const;
  bool float32() const { return sources_.index() == 0; }
  /// True when the rows are read where they lie.
  bool in_place() const;
  /// The CUDA device that they lie on; -1 for the host's memory.
  int device() const { return device_; }
  /// The ranks that share the rows; null: they are all here.
  communicator* ranks() const { return ranks_; }

  /// Calls work(rows, weights) with the sources.
  template <class Work>
  decltype(auto) visit(Work&& work) const {
    const row_weights weights = wide_weights_ ? row_weights(wide_weights_.get()) : row_weights(narrow_weights_.get());
    return std::visit([&](const auto& held) { return work(*held, weights); }, sources_);
  }

 private:
  template <class Scalar>
  using source = std::unique_ptr<row_source<Scalar>>;

  template <class Scalar>
  static source<Scalar> taken(nb::list parts, std::size_t columns, std::size_t first, std::size_t total,
                              std::vector<nb::ndarray<nb::ro>>& arrays);

  communicator* ranks_ = nullptr;
  std::vector<nb::ndarray<nb::ro>> arrays_;  // of parts
  nb::ndarray<nb::ro> array_;
  nb::ndarray<nb::ro> weights_;
  int device_ = -1;
  std::variant<source<float>, source<double>> sources_;
  source<float> narrow_weights_;  // float32 arrays; all others are read as float64
  source<double> wide_weights_;
};

}  // namespace shoal::python
