// Where work is sent when nobody says where: small work stays on the host, without asking for a device.
#include <string>

#include <gtest/gtest.h>

#include <shoal/execution/automatic_device.hpp>
#include <shoal/gmm/work.hpp>
#include <shoal/kmeans/work.hpp>

namespace {

using shoal::estimated_work;

shoal::gmm::options mixture(std::size_t components, std::size_t iterations, double tolerance) {
  shoal::gmm::options options;
  options.components = components;
  options.max_iterations = iterations;
  options.tolerance = tolerance;
  return options;
}

TEST(AutomaticDevice, KeepsSmallWorkOnTheHost) {
  const auto chosen = shoal::choose_automatically(shoal::gmm::work_of_fit(272, 2, 8, mixture(2, 100, 1e-3)), 2, 77);
  EXPECT_TRUE(chosen.choice.on_host());
  EXPECT_EQ(chosen.choice.memory, 77u);
  EXPECT_NE(chosen.reason.find("with 2 threads; a GPU takes 0.12 s to start"), std::string::npos) << chosen.reason;
}

// One iteration as docs/performance.md has it, on two threads: within a factor of three.
TEST(AutomaticDevice, KnowsAboutHowLongTheHostTakes) {
  const auto near_to = [](double expected, double one_more, double base) {
    EXPECT_GT(one_more - base, expected / 3);
    EXPECT_LT(one_more - base, expected * 3);
  };
  const auto iteration = [&](std::size_t rows, std::size_t columns, std::size_t components) {
    const auto seconds = [&](std::size_t iterations) {
      return shoal::estimated_host_seconds(
          shoal::gmm::work_of_fit(rows, columns, 4, mixture(components, iterations, 0)), 2);
    };
    return std::pair(seconds(11), seconds(10));
  };
  const auto [large, large_base] = iteration(32'768, 32, 64);
  near_to(0.038, large, large_base);
  const auto [wide, wide_base] = iteration(65'536, 54, 7);
  near_to(0.0199, wide, wide_base);
  const auto [narrow, narrow_base] = iteration(262'144, 8, 10);
  near_to(0.0066, narrow, narrow_base);
}

TEST(AutomaticDevice, PrefersADeviceForMuchWork) {
  const estimated_work much = shoal::gmm::work_of_fit(std::size_t{1} << 20, 32, 4, mixture(64, 100, 0));
  EXPECT_GT(shoal::estimated_host_seconds(much, 16), 10 * shoal::estimated_device_seconds(much, 1e11));
  // Rows that must come over the bus in every pass, each with little to compute, do not pay.
  shoal::kmeans::options options;
  options.clusters = 2;
  const estimated_work streamed = shoal::kmeans::work_of_fit(std::size_t{1} << 30, 2, 4, options);
  EXPECT_LT(shoal::estimated_host_seconds(streamed, 16), shoal::estimated_device_seconds(streamed, 1e9));
}

TEST(AutomaticDevice, CountsWhatDecides) {
  const auto seconds = [](const estimated_work& work) { return shoal::estimated_host_seconds(work, 1); };
  const auto fit = [&](std::size_t rows, std::size_t columns, std::size_t components, double tolerance) {
    return seconds(shoal::gmm::work_of_fit(rows, columns, 4, mixture(components, 1000, tolerance)));
  };
  EXPECT_NEAR(fit(2000, 8, 4, 0), 2 * fit(1000, 8, 4, 0), 1e-12);
  EXPECT_NEAR(fit(1000, 8, 8, 0), 2 * fit(1000, 8, 4, 0), 1e-12);
  EXPECT_GT(fit(1000, 16, 4, 0), 2 * fit(1000, 8, 4, 0));
  EXPECT_LT(fit(1000, 8, 4, 1e-3), 0.1 * fit(1000, 8, 4, 0));  // it stops sooner
  EXPECT_GT(seconds(shoal::gmm::work_of_fit(1000, 8, 8, mixture(4, 10, 0))),
            seconds(shoal::gmm::work_of_fit(1000, 8, 4, mixture(4, 10, 0))));
}

}  // namespace
