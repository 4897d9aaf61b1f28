// What launchers say in the environment.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/mpi/launch.hpp>

namespace {

using shoal::mpi::launch;
using shoal::mpi::launched;

// Variables that are set for one test.
class with_variables {
 public:
  explicit with_variables(std::vector<std::pair<std::string, std::string>> set) : set_(std::move(set)) {
    for (const auto& [name, value] : set_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~with_variables() {
    for (const auto& [name, value] : set_) ::unsetenv(name.c_str());
  }
  with_variables(const with_variables&) = delete;
  with_variables& operator=(const with_variables&) = delete;

 private:
  std::vector<std::pair<std::string, std::string>> set_;
};

TEST(Launch, NobodyStartedThis) {
  const launch found = launched();
  EXPECT_EQ(found.size, 1U);
  EXPECT_EQ(found.rank, 0U);
  EXPECT_EQ(found.variable, "");
}

TEST(Launch, EachLauncherIsNoticed) {
  {
    const with_variables set({{"OMPI_COMM_WORLD_SIZE", "8"},
                              {"OMPI_COMM_WORLD_RANK", "5"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                              {"SLURM_STEP_NUM_TASKS", "2"},
                              {"SLURM_PROCID", "1"}});
    const launch found = launched();
    EXPECT_EQ(found.variable, "OMPI_COMM_WORLD_SIZE");
    EXPECT_EQ(found.size, 8U);
    EXPECT_EQ(found.rank, 5U);
    EXPECT_EQ(found.local_rank, 1U);
    EXPECT_EQ(found.local_size, 4U);
  }
  {
    const with_variables set({{"PMI_SIZE", "3"}, {"PMI_RANK", "2"}});
    EXPECT_EQ(launched().size, 3U);
    EXPECT_EQ(launched().rank, 2U);
  }
  {
    const with_variables set({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "3"}, {"SLURM_LOCALID", "1"}});
    EXPECT_EQ(launched().size, 4U);
    EXPECT_EQ(launched().rank, 3U);
    EXPECT_EQ(launched().local_rank, 1U);
  }
}

// A script of sbatch is one process, however many tasks its allocation has.
TEST(Launch, AnAllocationIsNoLauncher) {
  const with_variables set({{"SLURM_NTASKS", "16"}, {"SLURM_PROCID", "0"}});
  EXPECT_EQ(launched().size, 1U);
}

TEST(Launch, NoNumberIsRefused) {
  const with_variables set({{"PMI_SIZE", "many"}, {"PMI_RANK", "0"}});
  EXPECT_THROW(launched(), shoal::bad_argument);
}

int local_device_of(const std::string& local_rank, std::size_t devices) {
  const with_variables set(
      {{"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_RANK", "7"}, {"OMPI_COMM_WORLD_LOCAL_RANK", local_rank}});
  return shoal::mpi::local_device(launched(), devices);
}

TEST(Launch, ALocalDeviceHasTheNumberOfTheProcessOnItsHost) {
  EXPECT_EQ(shoal::mpi::local_device({}, 4), 0);
  EXPECT_EQ(local_device_of("0", 4), 0);
  EXPECT_EQ(local_device_of("3", 4), 3);
  // A launcher that has chosen shows one.
  EXPECT_EQ(local_device_of("3", 1), 0);
  const with_variables set({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "3"}, {"SLURM_LOCALID", "1"}});
  EXPECT_EQ(shoal::mpi::local_device(launched(), 2), 1);
}

TEST(Launch, MoreProcessesThanDevicesAreRefused) {
  try {
    local_device_of("2", 2);
    FAIL();
  } catch (const shoal::bad_argument& failure) {
    EXPECT_NE(std::string(failure.what()).find("process 2 of a host that has 2 GPUs"), std::string::npos);
    EXPECT_NE(std::string(failure.what()).find("start at most 2 processes"), std::string::npos);
  }
}

}  // namespace
