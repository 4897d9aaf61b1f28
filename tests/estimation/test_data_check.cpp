// The check before a fit: moments against two passes in long double, positions of what is refused, fingerprints.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/data_check.hpp>

namespace {

template <class Scalar>
struct sample_data {
  std::size_t rows, columns;
  std::vector<Scalar> values, weights;
  shoal::view_source<Scalar> source() const { return shoal::view_source<Scalar>({values.data(), rows, columns}); }
  shoal::view_source<Scalar> weight_source() const { return shoal::view_source<Scalar>({weights.data(), rows, 1}); }
};

template <class Scalar>
sample_data<Scalar> wavy(std::size_t rows, std::size_t columns, double offset) {
  sample_data<Scalar> data{rows, columns, {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    data.weights.push_back(static_cast<Scalar>(i % 5 == 0 ? 0.0 : 0.25 + static_cast<double>(i % 7)));
    for (std::size_t j = 0; j < columns; ++j) {
      data.values.push_back(static_cast<Scalar>(offset + std::sin(static_cast<double>(i * columns + j) * 0.7) *
                                                             static_cast<double>(j + 1)));
    }
  }
  return data;
}

template <class Scalar>
shoal::data_summary check(const sample_data<Scalar>& data, bool weighted, std::size_t threads = 2,
                          bool fingerprint = false) {
  const auto pool = shoal::make_threads(threads);
  const auto rows = data.source();
  const auto weights = data.weight_source();
  return shoal::check_data<Scalar>({pool.get(), 0, {}}, rows, weighted ? &weights : nullptr, fingerprint);
}

template <class Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const shoal::error& failure) {
    return failure.what();
  }
  return "nothing was thrown";
}

template <class Scalar>
class DataCheck : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(DataCheck, scalars);

TYPED_TEST(DataCheck, MomentsAgreeWithTwoPassesAtAnyOffset) {
  for (const double offset : {0.0, 1e6}) {
    for (const std::size_t rows : {1, 2, 511, 513, 40009}) {
      const auto data = wavy<TypeParam>(rows, 3, offset);
      for (const bool weighted : {false, true}) {
        if (weighted && rows == 1) continue;  // the only weight is zero
        const auto summary = check(data, weighted);
        for (std::size_t j = 0; j < 3; ++j) {
          long double weight = 0, mean = 0, variance = 0;
          for (std::size_t i = 0; i < rows; ++i) weight += weighted ? data.weights[i] : 1;
          for (std::size_t i = 0; i < rows; ++i)
            mean += (weighted ? data.weights[i] : 1) * static_cast<long double>(data.values[i * 3 + j]) / weight;
          for (std::size_t i = 0; i < rows; ++i) {
            const long double delta = data.values[i * 3 + j] - mean;
            variance += (weighted ? data.weights[i] : 1) * delta * delta / weight;
          }
          EXPECT_NEAR(summary.total_weight, static_cast<double>(weight), 1e-9 * static_cast<double>(weight));
          EXPECT_NEAR(summary.mean[j], static_cast<double>(mean), 1e-12 * (1 + std::abs(offset)));
          EXPECT_NEAR(summary.variance[j], static_cast<double>(variance), 1e-9 * static_cast<double>(variance) + 1e-14);
        }
      }
    }
  }
}

TEST(DataCheckOfHugeValues, VarianceIsFiniteWhereTheSquareOfTheMeanIsNot) {
  sample_data<double> data{1000, 1, {}, {}};
  for (std::size_t i = 0; i < data.rows; ++i) data.values.push_back(1e160 + (i % 2 == 0 ? 1e150 : -1e150));
  const auto summary = check(data, false);
  EXPECT_NEAR(summary.mean[0], 1e160, 1e146);
  EXPECT_NEAR(summary.variance[0], 1e300, 1e295);
}

TYPED_TEST(DataCheck, NamesTheFirstValueThatIsNotFinite) {
  auto data = wavy<TypeParam>(5000, 4, 0);
  data.values[4100 * 4 + 2] = std::numeric_limits<TypeParam>::infinity();
  data.values[3001 * 4 + 3] = std::numeric_limits<TypeParam>::quiet_NaN();
  data.values[3001 * 4 + 1] = -std::numeric_limits<TypeParam>::infinity();
  const std::string message = message_of([&] { check(data, false); });
  EXPECT_NE(message.find("row 3001, column 1"), std::string::npos) << message;
  EXPECT_NE(message.find("minus infinite"), std::string::npos) << message;
}

TYPED_TEST(DataCheck, RefusesBadWeights) {
  auto data = wavy<TypeParam>(600, 2, 0);
  data.weights[577] = -1;
  EXPECT_NE(message_of([&] { check(data, true); }).find("weight of row 577"), std::string::npos);
  data.weights[577] = std::numeric_limits<TypeParam>::quiet_NaN();
  EXPECT_NE(message_of([&] { check(data, true); }).find("weight of row 577"), std::string::npos);
  data.weights.assign(600, 0);
  EXPECT_NE(message_of([&] { check(data, true); }).find("all weights are zero"), std::string::npos);

  const auto pool = shoal::make_sequential();
  const auto rows = data.source();
  const shoal::view_source<TypeParam> few({data.weights.data(), 599, 1});
  EXPECT_THROW(shoal::check_data<TypeParam>({pool.get(), 0, {}}, rows, &few), shoal::bad_argument);
  const shoal::view_source<TypeParam> wide({data.weights.data(), 300, 2});
  EXPECT_THROW(shoal::check_data<TypeParam>({pool.get(), 0, {}}, rows, &wide), shoal::bad_argument);
  const shoal::view_source<TypeParam> empty({data.values.data(), 0, 2});
  EXPECT_THROW(shoal::check_data<TypeParam>({pool.get(), 0, {}}, empty, nullptr), shoal::bad_data);
}

TYPED_TEST(DataCheck, FingerprintSeesEveryBitAndTheOrder) {
  const auto data = wavy<TypeParam>(3000, 2, 0);
  const auto original = check(data, true, 1, true).fingerprint;
  EXPECT_EQ(original, check(data, true, 3, true).fingerprint);
  auto changed = data;
  changed.values[5999] = std::nextafter(changed.values[5999], TypeParam{100});
  EXPECT_NE(original, check(changed, true, 1, true).fingerprint);
  changed = data;
  std::swap_ranges(changed.values.begin(), changed.values.begin() + 2, changed.values.begin() + 2);
  EXPECT_NE(original, check(changed, true, 1, true).fingerprint);
  changed = data;
  changed.weights[8] += 1;
  EXPECT_NE(original, check(changed, true, 1, true).fingerprint);
}

TYPED_TEST(DataCheck, ScalesExtremeWeightsByAPowerOfTwo) {
  auto data = wavy<TypeParam>(700, 1, 0);
  for (auto& weight : data.weights) weight *= static_cast<TypeParam>(1e-30);
  const auto summary = check(data, true);
  const auto rows = data.source();
  const auto weights = data.weight_source();
  const shoal::scaled_rows<TypeParam> scaled(rows, &weights, summary);
  shoal::aligned_buffer<TypeParam> buffer;
  const auto stored = scaled.data().weights->read(0, 700, buffer);
  double largest = 0;
  for (std::size_t i = 0; i < 700; ++i) {
    EXPECT_EQ(static_cast<double>(stored(i, 0)) * scaled.data().weight_scale, static_cast<double>(data.weights[i]));
    largest = std::max(largest, static_cast<double>(stored(i, 0)));
  }
  EXPECT_GE(largest, 1.0);
  EXPECT_LT(largest, 2.0);
}

TYPED_TEST(DataCheck, RefusesRowsInTheMemoryOfADevice) {
  TypeParam never_read = 0;
  const shoal::device_source<TypeParam> source({&never_read, 1, 1, 3});
  const auto pool = shoal::make_threads(2);
  try {
    shoal::check_data<TypeParam>({pool.get(), 0, {}}, source, nullptr);
    FAIL() << "rows on a device were read";
  } catch (const shoal::bad_argument& failure) {
    EXPECT_NE(std::string(failure.what()).find("the memory of CUDA device 3"), std::string::npos) << failure.what();
    EXPECT_NE(std::string(failure.what()).find("cuda:3"), std::string::npos) << failure.what();
  }
}

}  // namespace
