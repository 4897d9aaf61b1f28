// The parts of the extension module, and what they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/communicator.hpp>
#include <shoal/execution/device_choice.hpp>

namespace shoal::python {

namespace nb = nanobind;

/// What a family adds to the module.
using bind_family = void (*)(nb::module_&);
std::vector<bind_family>& families();

/// A variable of this type in binding/NAME.cpp puts a family on the list.
struct add_family {
  explicit add_family(bind_family bind) { families().push_back(bind); }
};

/// Adds ranks that speak through Python, and what they run on (ranks.cpp).
void bind_ranks(nb::module_& module);
communicator* communicator_of(const nb::object& ranks);

/// float64 in, in row-major order.
using numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

inline std::vector<double> copied(const numbers& values) { return {values.data(), values.data() + values.size()}; }

/// float64 out, as a NumPy array that owns its memory.
inline nb::object array_of(std::vector<double> values, std::initializer_list<std::size_t> shape) {
  auto* const held = new std::vector<double>(std::move(values));
  const nb::capsule owner(held, [](void* memory) noexcept { delete static_cast<std::vector<double>*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy, double>(held->data(), shape.size(), shape.begin(), owner));
}

/// What every computation is told about where and how it runs.
struct resources {
  std::size_t threads = 0;
  std::size_t memory_limit = 0;
  std::string device = "cpu";
  std::size_t device_memory = 0;
  std::string products = "float32";
  bool brief = false;

  device_choice choice() const;
};

/// The memory of an array that results are written to, on the host or a CUDA device; null for None. Throws bad_argument
/// when its type or size is wrong.
using output = std::optional<nb::ndarray<nb::c_contig>>;

template <class Element>
Element* pointer_of(const output& array, std::size_t expected) {
  if (!array) return nullptr;
  if (array->dtype() != nb::dtype<Element>() || array->size() != expected) {
    throw bad_argument("an array for results has the wrong type or size");
  }
  return static_cast<Element*>(array->data());
}

}  // namespace shoal::python
