// Memory that lies in a mapped file, copied so that a file that was shortened is an error and no signal.
#pragma once

#include <cstddef>

namespace shoal::python {

/// The same bytes, good until this thread asks for the next. The system copies them, as for a write to a file: where
/// the mapped file has become shorter it says so, while a touch of such memory would be SIGBUS. Throws io_error.
const std::byte* copy_of_mapped(const std::byte* from, std::size_t bytes);

}  // namespace shoal::python
