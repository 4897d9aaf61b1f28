// Long computations under Python: without its lock, with its signals, with its callbacks on its thread, and over before
// the interpreter is.
#pragma once

#include <functional>

#include <nanobind/nanobind.h>

#include <shoal/core/progress.hpp>

#include "rows.hpp"

namespace shoal::python {

namespace nb = nanobind;

/// Runs work(control) with the interpreter's lock released. `report` is None, or called as report(phase, step, steps,
/// objective) after every step; what it raises ends the computation and comes out here.
///
/// A computation that is not `brief` runs on a thread of its own, while this one looks after signals twenty times a
/// second, so that Ctrl-C stops it within one piece of rows; a brief one runs here, and is over before anybody could
/// press a key. Python delivers signals to its main thread alone: elsewhere nothing is looked after.
///
/// A daemon thread may be in here when the interpreter ends, and to take its lock then would end the process by an
/// abort. So the interpreter's end stops every computation, waits until they are over, and leaves their threads asleep,
/// as later versions of Python do with all daemon threads.
void run_with_python(const nb::object& report, bool brief, const std::function<void(const control&)>& work);

/// The same of rows that several ranks may share.
void run_with_python(const nb::object& report, bool brief, const rows& data,
                     const std::function<void(const control&)>& work);

/// Whether the interpreter is ending, so that this thread must not take its lock.
bool interpreter_is_ending();

/// Has `module` stop all computations when the interpreter ends.
void stop_at_exit(nb::module_& module);

}  // namespace shoal::python
