// What goes wrong on a device: a kernel that fails takes the device from the process, and the last checkpoint goes on
// in another; memory that does not suffice is said to.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/elementwise.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/gmm/fit.hpp>
#include <shoal/kmeans/fit.hpp>

#include "../../cuda_devices.hpp"
#include "../../kmeans/kmeans_reference.hpp"

namespace {

namespace gmm = shoal::gmm;
namespace kmeans = shoal::kmeans;
using kmeans_reference::clouds;

constexpr int lost = 7;  // exit status of a process that lost its device

// A kernel writes where there is no memory. CUDA then refuses all that this process asks of the device.
void lose_device() {
  const shoal::cuda::stream stream;
  shoal::cuda::scale(reinterpret_cast<float*>(std::uintptr_t{4096}), 1, 2.0F, stream);
  cudaStreamSynchronize(stream);
}

// Loses the device after the first step.
shoal::control losing() {
  return {[](const shoal::progress& now) {
            static bool done = false;
            if (now.step >= 1 && !done) lose_device();
            if (now.step >= 1) done = true;
          },
          {}};
}

// Exits when the fit says that CUDA failed; anything else is another status.
template <class Fit>
[[noreturn]] void exit_when_lost(const Fit& fit) {
  try {
    fit();
  } catch (const shoal::interrupted&) {
    std::exit(1);
  } catch (const shoal::error& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    std::exit(lost);
  }
  std::exit(0);
}

class CudaFaults : public cuda_devices::on_one_device {
 protected:
  void SetUp() override {
    on_one_device::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // the process that fails starts anew, without the parent's CUDA
  }

  static std::string fresh_file(const char* name) {
    const std::string file = testing::TempDir() + name;
    std::filesystem::remove(file);
    return file;
  }
};
using CudaFaultsDeathTest = CudaFaults;

// One process is lost in a test: the one that is started anew runs the test from its beginning.
void lose_a_mixture(std::size_t memory, const std::string& file) {
  const auto data = clouds<float>(10'000, 3, 4, 3.0);
  const shoal::view_source<float> rows(data.view());
  gmm::options options;
  options.components = 4;
  options.init = gmm::initialization::plus_plus;
  options.tolerance = 0;
  options.max_iterations = 12;
  options.threads = 2;
  options.device = {{0}, memory};
  gmm::options saving = options;
  saving.checkpoint = file;
  saving.checkpoint_seconds = 0;
  EXPECT_EXIT(exit_when_lost([&] { gmm::fit(rows, saving, nullptr, losing()); }), testing::ExitedWithCode(lost),
              "CUDA could not");
  ASSERT_TRUE(std::filesystem::exists(file));
  std::size_t first_step = 0;
  const shoal::control watching{[&](const shoal::progress& now) {
                                  if (first_step == 0) first_step = now.step;
                                },
                                {}};
  const gmm::fit_result resumed = gmm::fit(rows, saving, nullptr, watching);
  std::filesystem::remove(file);
  const gmm::fit_result whole = gmm::fit(rows, options);
  EXPECT_GT(first_step, 1u) << "the fit began anew";
  EXPECT_EQ(resumed.history, whole.history);
  EXPECT_EQ(resumed.model.means, whole.model.means);
  EXPECT_EQ(resumed.model.covariances, whole.model.covariances);
}

TEST_F(CudaFaultsDeathTest, AMixtureGoesOnFromItsLastCheckpoint) { lose_a_mixture(0, fresh_file("shoal_lost_gmm")); }

TEST_F(CudaFaultsDeathTest, AStreamedMixtureGoesOnFromItsLastCheckpoint) {
  lose_a_mixture(2 * 4096 * 3 * sizeof(float), fresh_file("shoal_lost_streamed_gmm"));
}

TEST_F(CudaFaultsDeathTest, CentroidsGoOnFromTheirLastCheckpoint) {
  const auto data = clouds<float>(20'000, 3, 40, 0.5);
  const shoal::view_source<float> rows(data.view());
  kmeans::options options;
  options.clusters = 30;
  options.tolerance = 0;
  options.max_iterations = 12;
  options.threads = 2;
  options.device = {{0}, 0};
  kmeans::options saving = options;
  saving.checkpoint = fresh_file("shoal_lost_kmeans");
  saving.checkpoint_seconds = 0;
  EXPECT_EXIT(exit_when_lost([&] { kmeans::fit(rows, saving, nullptr, losing()); }), testing::ExitedWithCode(lost),
              "CUDA could not");
  ASSERT_TRUE(std::filesystem::exists(saving.checkpoint));
  const kmeans::fit_result resumed = kmeans::fit(rows, saving);
  std::filesystem::remove(saving.checkpoint);
  const kmeans::fit_result whole = kmeans::fit(rows, options);
  EXPECT_EQ(resumed.history, whole.history);
  EXPECT_EQ(resumed.model.centroids, whole.model.centroids);
}

TEST_F(CudaFaults, CentroidsThatAreInterruptedGoOnToTheSameBits) {
  const auto data = clouds<double>(20'000, 3, 40, 0.5);
  const shoal::view_source<double> rows(data.view());
  kmeans::options options;
  options.clusters = 30;
  options.tolerance = 0;
  options.max_iterations = 12;
  options.threads = 2;
  options.device = {{0}, 0};
  const kmeans::fit_result whole = kmeans::fit(rows, options);
  options.checkpoint = fresh_file("shoal_interrupted_kmeans");
  options.checkpoint_seconds = 0;
  std::stop_source stop;
  const shoal::control stopping{[&](const shoal::progress& now) {
                                  if (now.step >= 1) stop.request_stop();
                                },
                                stop.get_token()};
  EXPECT_THROW(kmeans::fit(rows, options, nullptr, stopping), shoal::interrupted);
  ASSERT_TRUE(std::filesystem::exists(options.checkpoint));
  const kmeans::fit_result resumed = kmeans::fit(rows, options);
  std::filesystem::remove(options.checkpoint);
  EXPECT_EQ(resumed.history, whole.history);
  EXPECT_EQ(resumed.model.centroids, whole.model.centroids);
}

// Takes all memory of the device but `left` bytes.
std::vector<shoal::cuda::device_buffer<char>> hold_all_but(std::size_t left) {
  std::vector<shoal::cuda::device_buffer<char>> held;
  for (std::size_t size = std::size_t{1} << 36; size >= (std::size_t{16} << 20); size /= 2) {
    while (true) {
      std::size_t free = 0, total = 0;
      shoal::cuda::check(cudaMemGetInfo(&free, &total), "ask for its free memory");
      if (free < left + size) break;
      try {
        held.emplace_back(size);
      } catch (const shoal::out_of_memory&) {
        break;  // what is free is in smaller parts
      }
    }
  }
  return held;
}

TEST_F(CudaFaults, TooLittleMemoryIsSaidWithAWayOut) {
  const std::size_t columns = 16, count = std::size_t{1} << 22;  // 256 MiB
  std::vector<float> values(count * columns);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i * 7919 % 10'007 + i / columns % 3 * 10'000);
  const shoal::view_source<float> rows({values.data(), count, columns});
  kmeans::options options;
  options.clusters = 3;
  options.init = kmeans::seeding::centroids;
  for (std::size_t k = 0; k < 3; ++k) options.centroids.insert(options.centroids.end(), columns, 5000.0 + 10'000.0 * k);
  options.max_iterations = 2;
  options.device = {{0}, 0};
  const kmeans::fit_result resident = kmeans::fit(rows, options);
  {
    const auto held = hold_all_but(std::size_t{200} << 20);
    options.device.memory = std::size_t{1} << 30;
    try {
      kmeans::fit(rows, options);
      FAIL() << "256 MiB fitted into less than 216 MiB";
    } catch (const shoal::out_of_memory& failure) {
      const std::string message = failure.what();
      EXPECT_NE(message.find("256.0 MiB of device memory were needed"), std::string::npos) << message;
      EXPECT_NE(message.find("streamed"), std::string::npos) << message;
    }
    // Without a limit of its own a fit takes what is free, and streams the rest.
    options.device.memory = 0;
    EXPECT_EQ(kmeans::fit(rows, options).model.centroids, resident.model.centroids);
  }
  EXPECT_EQ(kmeans::fit(rows, options).model.centroids, resident.model.centroids);
}

}  // namespace
