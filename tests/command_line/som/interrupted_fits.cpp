// The fits of shoal som that test_interruption.cpp stops and resumes.
#include "../interruption.hpp"

namespace shoal_test {

INSTANTIATE_TEST_SUITE_P(
    som, interruption,
    testing::Values(interrupted_fit{"map",
                                    {"som", "fit", "--width", "20", "--height", "15", "--epochs", "40"},
                                    {{"--radius", "3:1"},
                                     {"--decay", "exponential"},
                                     {"--neighborhood", "bubble"},
                                     {"--cutoff", "2"},
                                     {"--metric", "taxicab"},
                                     {"--lattice", "hexagonal"},
                                     {"--toroidal"},
                                     {"--init", "sampled-rows"},
                                     {"--training", "online"},
                                     {"--scalar", "float32"},
                                     {"--standardize"}}},
                    interrupted_fit{"online_map",
                                    {"som", "fit", "--width", "8", "--height", "6", "--epochs", "20", "--training",
                                     "online", "--init", "random-values", "--scalar", "float32"},
                                    {{"--seed", "8"}, {"--rate", "0.4:0.1"}, {"--rate-decay", "exponential"}}}),
    fit_name);

}  // namespace shoal_test
