// The fits of shoal gmm that test_faults.cpp lets fail. So many components have statistics as large as the rows: the
// two threads are one team.
#include "../faults.hpp"

namespace shoal_test {

INSTANTIATE_TEST_SUITE_P(
    gmm, faults,
    testing::Values(failing_fit{"team",
                                {"gmm", "fit", "--components", "100", "--init", "random-rows", "--max-iterations", "1"},
                                "rows.csv",
                                2},
                    failing_fit{"incremental",
                                {"gmm", "fit", "--components", "2", "--init", "k-means-parallel", "--algorithm",
                                 "incremental", "--superchunks", "2", "--max-iterations", "3"},
                                "rows.npy",
                                4}),
    failing_name);

}  // namespace shoal_test
