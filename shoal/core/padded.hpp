// Values that several threads write side by side.
#pragma once

#include <cstddef>

namespace shoal {

/// An element of an array that shares no cache line with its neighbours, so that threads that write to neighbours do
/// not wait for each other. Two lines wide, since processors fetch lines in pairs.
template <class Value>
struct alignas(128) padded {
  Value value;
};

}  // namespace shoal
