// Columns whose variances lie so far apart that distances between rows hardly see some of them.
#pragma once

#include <string>
#include <vector>

namespace shoal::report {

/// "the variance of waiting is 142 times that of eruptions, which distances hardly see": of the columns that vary most
/// and least, a variance of zero being that of a constant column. Empty where they differ by no more than
/// most_alike_scales. `names` may be empty.
std::string scale_words(const std::vector<double>& variances, const std::vector<std::string>& names);

}  // namespace shoal::report
