// Long computations under Python: without its lock, with its signals, and with its callbacks on its thread.
#pragma once

#include <functional>

#include <nanobind/nanobind.h>

#include <shoal/core/progress.hpp>

namespace shoal::python {

namespace nb = nanobind;

/// Runs work(control) with the interpreter's lock released. `report` is None, or called as report(phase, step, steps,
/// objective) after every step; what it raises ends the computation and comes out here.
///
/// A computation that is not `brief` runs on a thread of its own, while this one looks after signals twenty times a
/// second, so that Ctrl-C stops it within one piece of rows; a brief one runs here, and is over before anybody could
/// press a key. Python delivers signals to its main thread alone: elsewhere nothing is looked after.
void run_with_python(const nb::object& report, bool brief, const std::function<void(const control&)>& work);

}  // namespace shoal::python
