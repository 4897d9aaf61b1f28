// Tridiagonal systems: every method against known solutions, at awkward sizes, in batches, and refused.
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/tridiagonal/tridiagonal.hpp>

#include "known_systems.hpp"

namespace {

namespace tridiagonal = shoal::reaction_diffusion::tridiagonal;
using tridiagonal::method;
using wave_reference::known_systems;

const std::vector<method> methods = {method::thomas, method::cyclic_reduction, method::parallel_cyclic_reduction,
                                     method::partition};

template <class Scalar>
void expect_solved(std::size_t rows, std::size_t batch) {
  const known_systems<Scalar> known(rows, batch, rows + 7 * batch);
  for (const method how : methods) {
    std::vector<Scalar> found(rows * batch, std::numeric_limits<Scalar>::quiet_NaN());
    tridiagonal::solve(known.view(), found.data(), how, 2);
    Scalar worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Scalar off = std::abs(found[i] - known.solution[i]);
      worst = off <= worst ? worst : off;  // a not-a-number stays
    }
    // Each row is dominant by 0.2 of at most 4.2: the condition is below 30.
    EXPECT_LE(worst, 30 * std::numeric_limits<Scalar>::epsilon())
        << rows << " rows, batch " << batch << ", method " << int(how);
  }
}

}  // namespace

TEST(Tridiagonal, EveryMethodSolvesEverySize) {
  for (std::size_t rows = 1; rows <= 70; ++rows) {
    expect_solved<double>(rows, 1);
    expect_solved<float>(rows, 1);
  }
  for (const std::size_t rows : {127, 128, 129, 511, 512, 513, 1000, 1021, 4095, 4096, 4097, 6401, 65537}) {
    expect_solved<double>(rows, 1);
    expect_solved<float>(rows, 1);
  }
}

TEST(Tridiagonal, BatchesOfAnySize) {
  for (const std::size_t batch : {0, 1, 2, 5, 33}) {
    for (const std::size_t rows : {0, 1, 2, 3, 100, 1000}) {
      expect_solved<double>(rows, batch);
      expect_solved<float>(rows, batch);
    }
  }
  expect_solved<double>(40000, 3);
}

TEST(Tridiagonal, TheSolutionMayTakeThePlaceOfTheRightSide) {
  for (const method how : methods) {
    for (const std::size_t rows : {1, 3, 100, 5000}) {
      known_systems<double> known(rows, 2, 3);
      std::vector<double> apart(2 * rows);
      tridiagonal::solve(known.view(), apart.data(), how);
      tridiagonal::solve(known.view(), known.right.data(), how);
      EXPECT_EQ(known.right, apart);
    }
  }
}

TEST(Tridiagonal, ThreadsGiveTheSameBits) {
  const known_systems<double> one(100003, 1, 5), many(700, 9, 5);
  for (const known_systems<double>* known : {&one, &many}) {
    for (const method how : methods) {
      std::vector<double> expected(known->rows * known->batch), found(expected.size());
      tridiagonal::solve(known->view(), expected.data(), how, 1);
      for (const std::size_t threads : {2, 3, 8}) {
        tridiagonal::solve(known->view(), found.data(), how, threads);
        EXPECT_EQ(found, expected) << "method " << int(how) << ", threads " << threads;
      }
    }
  }
}

// Row 3 is the same equation as row 2 once row 2 was divided: x2 + x3 = 2 and x2 + x3 = 2.
TEST(Tridiagonal, AZeroPivotIsRefusedByRow) {
  const std::vector<double> lower{0, 0, 0, 1}, diagonal{1, 1, 1, 1}, upper{0, 0, 1, 0}, right{1, 1, 2, 2};
  std::vector<double> found(4);
  try {
    tridiagonal::solve({lower.data(), diagonal.data(), upper.data(), right.data(), 4, 1}, found.data(), method::thomas);
    FAIL() << "not refused";
  } catch (const shoal::numerical_error& failure) {
    EXPECT_NE(std::string(failure.what()).find("system 0 of 1: the pivot of row 3 is zero"), std::string::npos)
        << failure.what();
  }
}

// A row of zeros is refused wherever it stands: inside a chunk, at its ends, or behind the last chunk.
TEST(Tridiagonal, EveryMethodNamesTheRowOfZeros) {
  for (const method how : methods) {
    for (const std::size_t row : {0, 1, 2, 255, 256, 2000, 4999}) {
      known_systems<double> known(5000, 2, 11);
      for (const std::size_t system : {0, 1}) {
        const std::size_t at = system * 5000 + row;
        known.lower[at] = known.diagonal[at] = known.upper[at] = 0;
        if (row > 0) known.upper[at - 1] = 0;
        if (row + 1 < 5000) known.lower[at + 1] = 0;
      }
      std::vector<double> found(10000);
      try {
        tridiagonal::solve(known.view(), found.data(), how);
        FAIL() << "not refused: method " << int(how) << ", row " << row;
      } catch (const shoal::numerical_error& failure) {
        EXPECT_NE(std::string(failure.what()).find("system 0 of 2: the pivot of row " + std::to_string(row) + " "),
                  std::string::npos)
            << failure.what();
      }
    }
  }
}
