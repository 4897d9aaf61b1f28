// The fold of a mixture against the reference: types, scalars, sizes, weights, strides, pieces and teams.
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/maximise.hpp>
#include <shoal/gmm/parameters.hpp>

#include "kernel_checks.hpp"
#include "reference.hpp"

namespace {

using checks::all_types;
using shoal::gmm::covariance_type;

template <class Scalar>
class Accumulate : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Accumulate, scalars);

template <class Scalar>
void check(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components, double spread,
           bool weighted) {
  const std::string what = fmt::format("{}, {} rows, {} columns, {} components, spread {}", checks::name(type), rows,
                                       columns, components, spread);
  const auto model = reference::random_model(type, components, columns, spread, 7);
  const std::size_t stride = columns + rows % 3;
  const auto values = reference::random_rows<Scalar>(model, rows, stride, static_cast<unsigned>(rows));
  const shoal::matrix_view<const Scalar> view(values.data(), rows, columns, stride);
  std::vector<Scalar> weights;
  for (std::size_t r = 0; r < rows; ++r) weights.push_back(static_cast<Scalar>((r * 7 % 5) * 0.25));
  const Scalar* const given = weighted ? weights.data() : nullptr;
  const auto components_ready = shoal::gmm::prepare<Scalar>(model);
  const auto got = checks::accumulate<Scalar>(components_ready, view, given);
  const auto expected = reference::accumulate(model, components_ready.centres, view, given);
  checks::expect_close(got, expected, checks::kernel_tolerance<Scalar>, what);
}

TYPED_TEST(Accumulate, EqualsTheReference) {
  for (const covariance_type type : all_types) {
    for (const std::size_t rows : {1, 7, 8, 9, 511, 512, 513, 1021}) {
      for (const std::size_t columns : {1, 2, 3, 5, 8, 17}) {
        for (const std::size_t components : {1, 2, 7}) {
          check<TypeParam>(type, rows, columns, components, 1.0, rows % 2 == 1);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(Accumulate, EqualsTheReferenceInManyColumnsAndApart) {
  for (const covariance_type type : all_types) {
    for (const std::size_t columns : {33, 54}) {
      for (const double spread : {0.3, 3.0}) {
        check<TypeParam>(type, 613, columns, 7, spread, true);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// Wide rows without matrices lie as they are: whole vectors and tiles of them, and one column more or less.
TYPED_TEST(Accumulate, EqualsTheReferenceInWideRows) {
  for (const covariance_type type : {covariance_type::diag, covariance_type::spherical}) {
    for (const std::size_t columns : {79, 80, 81, 95, 96, 97, 127, 129, 161}) {
      for (const double spread : {0.05, 0.3, 3.0}) {
        check<TypeParam>(type, 261, columns, 7, spread, true);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    for (const std::size_t rows : {1, 3, 4, 5, 127, 128, 129, 511, 513}) {
      for (const std::size_t components : {1, 2, 17, 27, 28}) {
        check<TypeParam>(type, rows, 83, components, 0.1, rows % 2 == 0);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// Any cut of the rows at multiples of a block, and any team, gives the same bits: the team computes every
// responsibility in full, where one thread alone gives up far components early.
TYPED_TEST(Accumulate, GivesTheSameBitsForAnyPieceAndAnyTeam) {
  for (const covariance_type type : all_types) {
    for (const std::size_t columns : {3, 20, 33, 86}) {
      for (const double spread : {0.5, 4.0}) {
        const auto model = reference::random_model(type, 5, columns, spread, 3);
        const std::size_t rows = 3 * 512 + 77;
        const auto values = reference::random_rows<TypeParam>(model, rows, columns, 5);
        const shoal::matrix_view<const TypeParam> view(values.data(), rows, columns);
        std::vector<TypeParam> weights;
        for (std::size_t r = 0; r < rows; ++r) weights.push_back(static_cast<TypeParam>(0.5 + 0.25 * (r % 4)));
        const auto ready = shoal::gmm::prepare<TypeParam>(model);
        const auto whole = checks::accumulate<TypeParam>(ready, view, weights.data());
        for (const std::size_t piece : {512, 1024}) {
          checks::expect_same_bits(checks::accumulate<TypeParam>(ready, view, weights.data(), piece), whole,
                                   fmt::format("{}, pieces of {}", checks::name(type), piece));
        }
        for (const std::size_t team : {2, 3}) {
          checks::expect_same_bits(checks::accumulate<TypeParam>(ready, view, weights.data(), 1024, team), whole,
                                   fmt::format("{}, {} columns, a team of {}", checks::name(type), columns, team));
        }
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// A row given twice is a row of weight 2.
TYPED_TEST(Accumulate, TakesAWeightForRepeatedRows) {
  const auto model = reference::random_model(covariance_type::full, 3, 4, 1.0, 11);
  const auto values = reference::random_rows<TypeParam>(model, 300, 4, 12);
  std::vector<TypeParam> twice;
  for (std::size_t r = 0; r < 300; ++r) {
    for (std::size_t copy = 0; copy < 1 + r % 2; ++copy) {
      twice.insert(twice.end(), values.begin() + static_cast<std::ptrdiff_t>(4 * r),
                   values.begin() + static_cast<std::ptrdiff_t>(4 * r + 4));
    }
  }
  std::vector<TypeParam> weights;
  for (std::size_t r = 0; r < 300; ++r) weights.push_back(static_cast<TypeParam>(1 + r % 2));
  const auto ready = shoal::gmm::prepare<TypeParam>(model);
  checks::expect_close(checks::accumulate<TypeParam>(ready, {values.data(), 300, 4}, weights.data()),
                       checks::accumulate<TypeParam>(ready, {twice.data(), twice.size() / 4, 4}),
                       checks::kernel_tolerance<TypeParam>, "weights 1 and 2");
}

// Labels as responsibilities give the sums of each cluster; the likelihood stays zero.
TYPED_TEST(Accumulate, TakesGivenResponsibilities) {
  for (const auto& [type, columns] : {std::pair<covariance_type, std::size_t>{covariance_type::full, 6},
                                      {covariance_type::tied, 6},
                                      {covariance_type::diag, 6},
                                      {covariance_type::spherical, 6},
                                      {covariance_type::diag, 93},
                                      {covariance_type::spherical, 93}}) {
    const std::size_t rows = 1100;
    const auto model = reference::random_model(type, 3, columns, 2.0, 21);
    const auto values = reference::random_rows<TypeParam>(model, rows, columns, 22);
    const shoal::matrix_view<const TypeParam> view(values.data(), rows, columns);
    const shoal::gmm::responsibilities_function<TypeParam> labels =
        [](const shoal::row_block<TypeParam>& block, TypeParam* responsibilities, std::size_t stride) {
          for (std::size_t r = 0; r < block.rows.rows(); ++r) {
            responsibilities[(block.first + r) % 3 * stride + r] = 1;
          }
        };
    const auto centres = shoal::gmm::prepare_centres<TypeParam>(type, 3, columns, model.means.data());
    shoal::gmm::statistics expected(shoal::gmm::statistics_layout(type, 3, columns));
    expected.values()[shoal::gmm::statistics_layout::total_weight()] = static_cast<double>(rows);
    for (std::size_t r = 0; r < rows; ++r) {
      reference::add(expected, r % 3, 1.0, reference::row(view, r), centres.centres.data() + r % 3 * columns);
    }
    const auto got = checks::accumulate<TypeParam>(centres, view, nullptr, 512, 1, &labels);
    checks::expect_close(got, expected, checks::kernel_tolerance<TypeParam>, checks::name(type));
    EXPECT_EQ(got.log_likelihood(), 0.0);
    checks::expect_same_bits(checks::accumulate<TypeParam>(centres, view, nullptr, 1024, 2, &labels), got,
                             checks::name(type) + ", a team of 2");
  }
}

}  // namespace
