// A build without MPI says so to whoever starts several processes of it.
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/mpi/mpi.hpp>

#include "../command_line/program.hpp"

using namespace shoal_test;

TEST(MpiAbsent, TheLibraryNamesTheOption) {
  EXPECT_FALSE(shoal::mpi::built());
  try {
    shoal::mpi::run_ranks([](shoal::communicator&) {});
    FAIL() << "nothing was refused";
  } catch (const shoal::not_built& refused) {
    EXPECT_NE(std::string(refused.what()).find("-DSHOAL_MPI=ON"), std::string::npos);
  }
}

TEST(MpiAbsent, TheFirstOfSeveralProcessesSaysSoOnce) {
  spawn_options options;
  options.environment = {"OMPI_COMM_WORLD_SIZE=3", "OMPI_COMM_WORLD_RANK=0"};
  const outcome first = run({"devices"}, options);
  EXPECT_EQ(first.status, 1);
  EXPECT_EQ(first.out, "");
  EXPECT_NE(first.err.find("3 processes were started (OMPI_COMM_WORLD_SIZE)"), std::string::npos) << first.err;
  EXPECT_NE(first.err.find("-DSHOAL_MPI=ON"), std::string::npos) << first.err;
  options.environment = {"OMPI_COMM_WORLD_SIZE=3", "OMPI_COMM_WORLD_RANK=2"};
  const outcome other = run({"devices"}, options);
  EXPECT_EQ(other.out + other.err, "");
}
