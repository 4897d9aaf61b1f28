// What every fit holds its options to.
#pragma once

#include <shoal/kmeans/options.hpp>

namespace shoal::kmeans {

/// Throws bad_argument for options that no data could make valid.
void check_options(const options& options);

}  // namespace shoal::kmeans
