// How many threads a computation uses that does not say so itself.
#pragma once

#include <cstddef>

namespace shoal {

/// The most threads that anything may ask for.
inline constexpr std::size_t most_threads = 4096;

/// The threads of a computation whose options say `threads = 0`. What says so first counts:
///   1. set_default_threads(),
///   2. the variable SHOAL_THREADS,
///   3. the variable OMP_NUM_THREADS (of a list, its first number),
///   4. the processors that this process may run on, or, where that is less, the processor time that its control groups
///      (Linux, version 1 or 2) grant it, in processors, rounded up.
/// Throws bad_argument when a variable that counts is no whole number from 1 to 4096; an empty one does not count.
std::size_t default_threads();

/// Sets what default_threads() gives from now on in this process; 0 takes that back. Computations that run keep their
/// threads. Throws bad_argument above 4096.
void set_default_threads(std::size_t threads);

}  // namespace shoal
