// The fit of shoal kmeans that test_faults.cpp lets fail.
#include "../faults.hpp"

namespace shoal_test {

INSTANTIATE_TEST_SUITE_P(kmeans, faults,
                         testing::Values(failing_fit{
                             "clusters",
                             {"kmeans", "fit", "--clusters", "3", "--max-iterations", "3", "--memory-limit", "64KiB"},
                             "rows.csv.gz"}),
                         failing_name);

}  // namespace shoal_test
