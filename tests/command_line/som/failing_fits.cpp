// The fits of shoal som that test_faults.cpp lets fail.
#include "../faults.hpp"

namespace shoal_test {

INSTANTIATE_TEST_SUITE_P(som, faults,
                         testing::Values(failing_fit{
                             "map", {"som", "fit", "--width", "3", "--height", "2", "--epochs", "2"}, "rows.npy"}),
                         failing_name);

}  // namespace shoal_test
