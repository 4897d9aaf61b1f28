// How many threads a computation uses that does not say so: what the program, variables, affinity and control groups
// say.
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/default_threads.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/execution/processors.hpp>

namespace {

namespace fs = std::filesystem;

// A variable for the time of a test; nullptr takes it away.
class variable {
 public:
  variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~variable() { set(before_ ? before_->c_str() : nullptr); }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;

 private:
  void set(const char* value) const {
    if (value == nullptr)
      unsetenv(name_);
    else
      setenv(name_, value, 1);
  }

  const char* name_;
  std::optional<std::string> before_;
};

std::string refusal_of_default_threads() {
  try {
    return std::to_string(shoal::default_threads()) + " threads";
  } catch (const shoal::bad_argument& refusal) {
    return refusal.what();
  }
}

TEST(DefaultThreads, TheProgramCountsBeforeVariablesAndTheseBeforeProcessors) {
  const variable no_own("SHOAL_THREADS", nullptr), no_shared("OMP_NUM_THREADS", nullptr);
  EXPECT_EQ(shoal::default_threads(), shoal::usable_processors());
  const variable shared("OMP_NUM_THREADS", "5");
  EXPECT_EQ(shoal::default_threads(), 5u);
  const variable own("SHOAL_THREADS", "7");
  EXPECT_EQ(shoal::default_threads(), 7u);
  EXPECT_EQ(shoal::make_threads(0)->threads(), 7u);
  EXPECT_EQ(shoal::make_executor(0)->threads(), 7u);
  shoal::set_default_threads(3);
  EXPECT_EQ(shoal::default_threads(), 3u);
  EXPECT_EQ(shoal::make_threads(2)->threads(), 2u);
  shoal::set_default_threads(0);
  EXPECT_EQ(shoal::default_threads(), 7u);
  EXPECT_THROW(shoal::set_default_threads(shoal::most_threads + 1), shoal::bad_argument);
}

TEST(DefaultThreads, ReadsTheFirstNumberOfAListAndPassesOverWhatIsEmpty) {
  const variable own("SHOAL_THREADS", "");
  for (const char* list : {"4", " 4 ", "4,2", "4 , 2,1"}) {
    const variable shared("OMP_NUM_THREADS", list);
    EXPECT_EQ(shoal::default_threads(), 4u) << list;
  }
  const variable shared("OMP_NUM_THREADS", " ");
  EXPECT_EQ(shoal::default_threads(), shoal::usable_processors());
}

TEST(DefaultThreads, RefusesByNameWhatIsNoNumberOfThreads) {
  for (const char* value : {"0", "-1", "two", "2.5", "4097", "99999999999999999999", "2x", "2,1"}) {
    const variable own("SHOAL_THREADS", value);
    const std::string refusal = refusal_of_default_threads();
    EXPECT_NE(refusal.find("SHOAL_THREADS"), std::string::npos) << refusal;
    EXPECT_NE(refusal.find(value), std::string::npos) << refusal;
  }
  for (const char* value : {"0", ",2", "all", "4097"}) {
    const variable own("SHOAL_THREADS", nullptr), shared("OMP_NUM_THREADS", value);
    EXPECT_NE(refusal_of_default_threads().find("OMP_NUM_THREADS"), std::string::npos) << value;
    const variable own_counts("SHOAL_THREADS", "2");
    EXPECT_EQ(shoal::default_threads(), 2u) << value;
  }
}

TEST(DefaultThreads, AreNoMoreThanTheProcessorsThatAThreadMayRunOn) {
  std::thread([] {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    int first = 0;
    while (!CPU_ISSET(first, &all)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(shoal::usable_processors(), 1u);
  }).join();
}

// Files as Linux shows them, below a folder of their own.
class ControlGroups : public testing::Test {
 protected:
  ControlGroups() {
    std::string name = fs::temp_directory_path() / "shoal-groups-XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~ControlGroups() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories(fs::path(root_ + file).parent_path());
    std::ofstream(root_ + file) << text << "\n";
  }
  void mount_second(const std::string& group) const {
    write("/proc/self/mountinfo", "22 1 0:20 / /proc rw - proc proc rw\n30 23 0:26 " + group +
                                      " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate");
  }
  std::size_t granted() const { return shoal::granted_processors(root_); }

  std::string root_;
};

TEST_F(ControlGroups, AreNotAlwaysThere) {
  EXPECT_EQ(granted(), 0u);
  write("/proc/self/cgroup", "0::/");
  mount_second("/");
  EXPECT_EQ(granted(), 0u);
}

TEST_F(ControlGroups, OfTheSecondVersionGrantTheLeastOnTheWayUp) {
  write("/proc/self/cgroup", "0::/user/fit/worker");
  mount_second("/");
  write("/sys/fs/cgroup/user/fit/worker/cpu.max", "max 100000");
  EXPECT_EQ(granted(), 0u);
  write("/sys/fs/cgroup/user/fit/cpu.max", "250000 100000");
  EXPECT_EQ(granted(), 3u);
  write("/sys/fs/cgroup/user/cpu.max", "800000 100000");
  EXPECT_EQ(granted(), 3u);
  write("/sys/fs/cgroup/user/fit/worker/cpu.max", "5000 100000");
  EXPECT_EQ(granted(), 1u);
  write("/sys/fs/cgroup/other/cpu.max", "1000 100000");
  EXPECT_EQ(granted(), 1u);
}

// In a container only a part of the tree is mounted, and the group may be named from where the container does not see.
TEST_F(ControlGroups, AreSeenFromInsideAContainer) {
  write("/proc/self/cgroup", "0::/docker/abc/fit");
  mount_second("/docker/abc");
  write("/sys/fs/cgroup/fit/cpu.max", "400000 100000");
  EXPECT_EQ(granted(), 4u);
  write("/sys/fs/cgroup/cpu.max", "200000 100000");
  EXPECT_EQ(granted(), 2u);
  write("/proc/self/cgroup", "0::/../elsewhere");
  mount_second("/");
  EXPECT_EQ(granted(), 2u);
}

TEST_F(ControlGroups, OfTheFirstVersionHaveQuotasOfTheirOwn) {
  write("/proc/self/cgroup", "12:memory:/batch\n4:cpu,cpuacct:/batch/fit\n1:name=systemd:/\n0::/");
  write("/proc/self/mountinfo",
        "30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:10 - cgroup cgroup rw,cpu,cpuacct");
  const std::string groups = "/sys/fs/cgroup/cpu,cpuacct/";
  write(groups + "batch/fit/cpu.cfs_quota_us", "-1");
  write(groups + "batch/fit/cpu.cfs_period_us", "100000");
  EXPECT_EQ(granted(), 0u);
  write(groups + "batch/fit/cpu.cfs_quota_us", "150000");
  EXPECT_EQ(granted(), 2u);
  write(groups + "batch/cpu.cfs_quota_us", "50000");
  write(groups + "batch/cpu.cfs_period_us", "50000");
  EXPECT_EQ(granted(), 1u);
}

TEST_F(ControlGroups, WithFilesThatSayNothingGrantEverything) {
  write("/proc/self/cgroup", "0::/\nnonsense");
  mount_second("/");
  for (const char* text : {"", "max", "x y", "100000", "-1 100000", "100000 0", "nan 100000"}) {
    write("/sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(granted(), 0u) << text;
  }
  write("/proc/self/mountinfo", "30 23\n\n30 23 0:26 / /sys/fs/cgroup rw - cgroup2");
  write("/sys/fs/cgroup/cpu.max", "100000 100000");
  EXPECT_EQ(granted(), 0u);
}

}  // namespace
