// What the statistics of every family have in Python.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <shoal/execution/accumulate_options.hpp>

#include "module.hpp"

namespace shoal::python {

/// Binds the class `name`; combine, subtract, write and save_statistics are found by its namespace.
template <class Statistics>
nb::class_<Statistics> bind_statistics(nb::module_& module, const char* name,
                                       Statistics (*read)(std::string_view, const std::string&),
                                       Statistics (*load)(const std::string&)) {
  module.def((std::string(name) + "_read").c_str(),
             [read](const nb::bytes& bytes) {
               return read({bytes.c_str(), bytes.size()}, "statistics");
             },
             nb::arg("bytes"));
  module.def((std::string(name) + "_load").c_str(), [load](const std::string& path) { return load(path); },
             nb::arg("path"));
  return nb::class_<Statistics>(module, name)
      .def(
          "combine", [](const Statistics& a, const Statistics& b) { return combine(a, b); }, nb::arg("other"))
      .def(
          "subtract", [](const Statistics& a, const Statistics& b) { return subtract(a, b); }, nb::arg("other"))
      .def("write",
           [](const Statistics& made) {
             const std::string bytes = write(made);
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def(
          "save", [](const Statistics& made, const std::string& path) { save_statistics(path, made); }, nb::arg("path"))
      .def_prop_ro("rows", &Statistics::rows)
      .def_prop_ro("columns", &Statistics::columns)
      .def_prop_ro("whole", &Statistics::whole)
      .def_prop_ro("scalar_bytes", &Statistics::scalar_bytes)
      .def_prop_ro("fingerprint", &Statistics::fingerprint)
      .def_prop_ro("total_weight", &Statistics::total_weight);
}

}  // namespace shoal::python
