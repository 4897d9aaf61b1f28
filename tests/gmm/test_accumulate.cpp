// The fold of a mixture against the reference: types, scalars, sizes, weights, strides, pieces and teams.
#include <cmath>
#include <random>
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

}  // namespace
