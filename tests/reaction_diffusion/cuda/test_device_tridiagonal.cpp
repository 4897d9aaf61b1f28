// Tridiagonal systems on a CUDA device: known solutions at awkward sizes, in batches, and zero pivots refused by row.
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/tridiagonal/tridiagonal.hpp>

#include "../../cuda_devices.hpp"
#include "../known_systems.hpp"

namespace {

namespace tridiagonal = shoal::reaction_diffusion::tridiagonal;
using wave_reference::known_systems;

template <class Scalar>
void expect_solved(std::size_t rows, std::size_t batch) {
  const known_systems<Scalar> known(rows, batch, rows + 7 * batch);
  std::vector<Scalar> found(rows * batch, std::numeric_limits<Scalar>::quiet_NaN());
  tridiagonal::solve(known.view(), found.data(), shoal::device_choice{{0}});
  Scalar worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Scalar off = std::abs(found[i] - known.solution[i]);
    worst = off <= worst ? worst : off;  // a not-a-number stays
  }
  // Each row is dominant by 0.2 of at most 4.2: the condition is below 30.
  EXPECT_LE(worst, 30 * std::numeric_limits<Scalar>::epsilon()) << rows << " rows, batch " << batch;
}

class DeviceTridiagonal : public cuda_devices::on_one_device {};

}  // namespace

TEST_F(DeviceTridiagonal, SolvesEverySize) {
  for (const std::size_t rows :
       {1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 511, 513, 1021, 2047, 2048, 2049, 4096, 4097, 65537, 300007, 2097153}) {
    expect_solved<double>(rows, 1);
    expect_solved<float>(rows, 1);
  }
}

TEST_F(DeviceTridiagonal, BatchesOfAnySize) {
  for (const std::size_t batch : {0, 1, 2, 5, 33}) {
    for (const std::size_t rows : {0, 1, 2, 3, 100, 1001, 2049, 5003}) {
      expect_solved<double>(rows, batch);
      expect_solved<float>(rows, batch);
    }
  }
}

// A row that stands alone with a zero on the diagonal.
TEST_F(DeviceTridiagonal, AZeroPivotIsRefusedByRow) {
  for (const std::size_t rows : {1, 3, 100, 2048, 2049, 10000}) {
    for (const std::size_t row : {std::size_t{0}, rows / 2, rows - 1}) {
      known_systems<double> known(rows, 3, 5);
      const std::size_t at = rows + row;  // of the second system
      known.diagonal[at] = known.lower[at] = known.upper[at] = 0;
      if (row > 0) known.upper[at - 1] = 0;
      if (row + 1 < rows) known.lower[at + 1] = 0;
      std::vector<double> found(3 * rows);
      try {
        tridiagonal::solve(known.view(), found.data(), shoal::device_choice{{0}});
        FAIL() << rows << " rows, row " << row;
      } catch (const shoal::numerical_error& failure) {
        EXPECT_NE(std::string(failure.what()).find(fmt::format("system 1 of 3: the pivot of row {} is zero", row)),
                  std::string::npos)
            << failure.what();
      }
    }
  }
}

TEST_F(DeviceTridiagonal, TheHostIsNoDevice) {
  const known_systems<double> known(3, 1, 5);
  std::vector<double> found(3);
  EXPECT_THROW(tridiagonal::solve(known.view(), found.data(), shoal::device_choice{}), shoal::bad_argument);
}
