// The fits of shoal kmeans that test_interruption.cpp stops and resumes.
#include "../interruption.hpp"

namespace shoal_test {

INSTANTIATE_TEST_SUITE_P(kmeans, interruption,
                         testing::Values(interrupted_fit{"kmeans",
                                                         {"kmeans", "fit", "--clusters", "40", "--tolerance", "0",
                                                          "--max-iterations", "60", "--init", "random-rows"},
                                                         {{"--seed", "8"},
                                                          {"--restarts", "5"},
                                                          {"--scalar", "float32"},
                                                          {"--standardize"},
                                                          {"--stop-rule", "relative-shift"}}}),
                         fit_name);

}  // namespace shoal_test
