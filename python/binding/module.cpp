// The extension module shoal._shoal: the doors of the library, one function each, and nothing that Python can do.
#include "module.hpp"

#include <new>
#include <string>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/column_scales.hpp>
#include <shoal/execution/default_threads.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/execution/devices.hpp>
#include <shoal/gmm/accumulate.hpp>

#include "rows.hpp"
#include "running.hpp"

namespace shoal::python {
namespace {

// The library's exceptions as Python's own, so that nobody has to know them.
void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const rows_not_held& e) {
    const nb::tuple rows = nb::make_tuple(e.first, e.end);
    PyErr_SetObject(PyExc_LookupError, rows.ptr());
  } catch (const bad_argument& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const bad_data& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const numerical_error& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const not_built& e) {
    PyErr_SetString(PyExc_NotImplementedError, e.what());
  } catch (const io_error& e) {
    PyErr_SetString(PyExc_OSError, e.what());
  } catch (const out_of_memory& e) {
    PyErr_SetString(PyExc_MemoryError, e.what());
  } catch (const error& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

precision precision_named(const std::string& name) {
  for (const precision one : {precision::float32, precision::tf32, precision::bf16}) {
    if (precision_name(one) == name) return one;
  }
  throw bad_argument("precision must be float32, tf32 or bf16");
}

nb::list devices() {
  nb::list found;
  for (const device& one : cuda_devices()) {
    nb::dict described;
    described["index"] = one.index;
    described["name"] = one.name;
    described["memory_bytes"] = one.memory_bytes;
    described["compute_capability"] = one.compute_capability;
    described["multiprocessors"] = one.multiprocessors;
    found.append(described);
  }
  return found;
}

}  // namespace

std::vector<bind_family>& families() {
  static std::vector<bind_family> known;
  return known;
}

device_choice resources::choice() const {
  device_choice chosen = choose_device(device);
  chosen.memory = device_memory;
  chosen.precision = precision_named(products);
  return chosen;
}

}  // namespace shoal::python

NB_MODULE(_shoal, module) {
  using namespace shoal::python;
  module.attr("version") = SHOAL_VERSION;
  module.attr("built_with_cuda") = static_cast<bool>(SHOAL_BUILT_WITH_CUDA);
  module.attr("most_alike_scales") = shoal::most_alike_scales;
  nb::register_exception_translator(translate);
  stop_at_exit(module);
  module.def("cuda_devices", devices, "The CUDA devices of this machine; NotImplementedError without CUDA.");
  module.def("instruction_set", [] { return std::string(shoal::gmm::instruction_set()); });
  module.def("default_threads", shoal::default_threads, "The threads of a computation that does not say so itself.");
  module.def("set_default_threads", shoal::set_default_threads, nb::arg("threads"), "Sets it; 0 takes that back.");
  module.def(
      "choose_device", [](const std::string& name) { return shoal::device_name(shoal::choose_device(name)); },
      nb::arg("name"), "The full name of the device that a name stands for.");

  nb::enum_<residence>(module, "Residence")
      .value("in_place", residence::in_place)
      .value("copied", residence::copied)
      .value("in_pieces", residence::in_pieces)
      .value("in_pieces_given_back", residence::in_pieces_given_back);
  nb::class_<rows>(module, "Rows")
      .def(nb::init<host_array, nb::object, bool, residence, residence>(), nb::arg("array").noconvert(),
           nb::arg("weights").none(), nb::arg("float32"), nb::arg("residence"), nb::arg("weights_residence"))
      .def(nb::init<device_array, nb::object>(), nb::arg("array").noconvert(), nb::arg("weights").none())
      .def(
          "__init__",
          [](rows* made, nb::list parts, nb::object weights, std::size_t columns, bool float32, std::size_t first,
             std::size_t weights_first, std::size_t total, nb::object ranks) {
            new (made) rows(parts, weights, columns, float32, {first, weights_first, total}, communicator_of(ranks));
          },
          nb::arg("parts"), nb::arg("weights").none(), nb::kw_only(), nb::arg("columns"), nb::arg("float32"),
          nb::arg("first"), nb::arg("weights_first"), nb::arg("total"), nb::arg("ranks"), nb::keep_alive<1, 9>())
      .def("__len__", &rows::count)
      .def_prop_ro("device", &rows::device)
      .def_prop_ro("columns", &rows::columns)
      .def_prop_ro("float32", &rows::float32)
      .def_prop_ro("in_place", &rows::in_place);
  bind_ranks(module);
  for (const bind_family bind : families()) bind(module);
}
