// Reductions, scans and segmented reductions on a GPU: the bits of the host's tree, every run the same, wrong use
// refused.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/algebra/cuda/reduce.cuh>
#include <shoal/algebra/cuda/scan.cuh>
#include <shoal/algebra/cuda/segmented_reduce.cuh>
#include <shoal/algebra/instances/affine.hpp>
#include <shoal/algebra/instances/extrema.hpp>
#include <shoal/algebra/instances/higher_moments.hpp>
#include <shoal/algebra/instances/integers.hpp>
#include <shoal/algebra/instances/log_sum_exp.hpp>
#include <shoal/algebra/scan.hpp>
#include <shoal/algebra/segmented_reduce.hpp>
#include <shoal/execution/devices.hpp>

namespace {

using namespace shoal::algebra;

template <class Value>
class on_device {
 public:
  explicit on_device(std::size_t count) : count_(count) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), (count + 1) * sizeof(Value)), cudaSuccess);
  }
  explicit on_device(const std::vector<Value>& values) : on_device(values.size()) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), count_ * sizeof(Value), cudaMemcpyHostToDevice), cudaSuccess);
  }
  on_device(const on_device&) = delete;
  on_device& operator=(const on_device&) = delete;
  ~on_device() { cudaFree(data_); }

  Value* data() { return data_; }
  std::vector<Value> fetched() const {
    std::vector<Value> values(count_);
    EXPECT_EQ(cudaMemcpy(values.data(), data_, count_ * sizeof(Value), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }

 private:
  Value* data_ = nullptr;
  std::size_t count_;
};

template <class Value>
bool same_bits(const Value& a, const Value& b) {
  return std::memcmp(&a, &b, sizeof(Value)) == 0;
}

template <class Value>
std::vector<Value> first(const std::vector<Value>& values, std::size_t count) {
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
}

const std::size_t counts[] = {0,   1,    2,    31,   32,    33,    127,   128,   129,    511,    512,
                              513, 4095, 4096, 4097, 32767, 32768, 32769, 98765, 311296, 1200003};

template <class Structure>
void expect_the_hosts_bits(const Structure& structure, const std::vector<value_of<Structure>>& values) {
  on_device<value_of<Structure>> there(values);
  gpu::workspace memory;
  for (const std::size_t count : counts) {
    const auto got = gpu::reduce(structure, there.data(), count, memory);
    EXPECT_TRUE(same_bits(got, reduce(structure, first(values, count)))) << count;
  }
  // A range that begins anywhere.
  const auto got = gpu::reduce(structure, there.data() + 3, 5000, memory);
  EXPECT_TRUE(same_bits(got, reduce(structure, std::vector(values.begin() + 3, values.begin() + 5003))));
}

// Agree says whether two results are as near as the structure promises.
template <class Structure, class Agree>
void expect_scans(const Structure& structure, const std::vector<value_of<Structure>>& values, const Agree& agree) {
  using value = value_of<Structure>;
  on_device<value> there(values), result(values.size());
  gpu::workspace memory;
  for (const std::size_t count : counts) {
    const auto part = first(values, count), expected = inclusive_scan(structure, part),
               before = exclusive_scan(structure, part);
    gpu::inclusive_scan(structure, there.data(), result.data(), count, memory);
    const auto inclusive = first(result.fetched(), count);
    on_device<value> here(part), again(part);
    gpu::inclusive_scan(structure, again.data(), again.data(), count, memory);
    const auto repeated = again.fetched();
    gpu::exclusive_scan(structure, here.data(), here.data(), count, memory);
    const auto exclusive = here.fetched();
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(agree(inclusive[i], expected[i])) << i << " of " << count;
      ASSERT_TRUE(agree(exclusive[i], before[i])) << i << " of " << count;
      ASSERT_TRUE(same_bits(inclusive[i], repeated[i])) << i << " of " << count;
    }
  }
}

std::vector<double> uneven(std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = std::ldexp(std::sin(static_cast<double>(i)), static_cast<int>(i % 20));
  }
  return values;
}

std::vector<affine_map<double>> contractions(std::size_t count) {
  const auto offsets = uneven(count);
  std::vector<affine_map<double>> maps(count);
  for (std::size_t i = 0; i < count; ++i) maps[i] = {0.9 + 0.1 * std::cos(static_cast<double>(i)), offsets[i]};
  return maps;
}

class CudaAlgebra : public testing::Test {
 protected:
  void SetUp() override {
    if (shoal::cuda_devices().empty()) GTEST_SKIP() << "this machine has no CUDA device";
  }
};

constexpr std::size_t most = 1200003;

TEST_F(CudaAlgebra, ReducesInTheTreeOfTheHost) {
  const auto values = uneven(most);
  expect_the_hosts_bits(real_addition<double>{}, values);
  expect_the_hosts_bits(minimum<double>{}, values);
  expect_the_hosts_bits(real_addition<float>{}, std::vector<float>(values.begin(), values.end()));
  // Neither commutes nor is it exact; this file is compiled without fused multiply-adds.
  expect_the_hosts_bits(affine_maps<reals<double>>{}, contractions(most));
  // An operation that works in place, on values of 40 bytes.
  std::vector<higher_moments_value> samples;
  for (const double x : values) samples.push_back(higher_moments::of(x));
  expect_the_hosts_bits(higher_moments{}, samples);
  std::vector<located<double>> places;
  for (std::size_t i = 0; i < values.size(); ++i) places.push_back({std::floor(values[i] / 100), i});
  expect_the_hosts_bits(argmin<double>{}, places);
}

TEST_F(CudaAlgebra, CallsFunctionsOfTheDevice) {
  const auto values = uneven(5000);
  on_device<double> there(values);
  gpu::workspace memory;
  const double got = gpu::reduce(log_sum_exp<double>{}, there.data(), values.size(), memory);
  const double expected = reduce(log_sum_exp<double>{}, values);
  EXPECT_NEAR(got, expected, 1e-12 * std::abs(expected));
}

TEST_F(CudaAlgebra, ScansExactlyWhatIsExact) {
  const auto equal = [](const auto& a, const auto& b) { return a == b; };
  std::vector<std::int32_t> small(most);
  std::vector<affine_map<std::uint64_t>> maps(most);
  for (std::size_t i = 0; i < most; ++i) {
    small[i] = static_cast<std::int32_t>(i * 2654435761u);
    maps[i] = {2 * i + 1, i * i};
  }
  expect_scans(integer_addition<std::int32_t>{}, small, equal);
  expect_scans(affine_maps<integers<std::uint64_t>>{}, maps, equal);
}

TEST_F(CudaAlgebra, ScansFloatingPointTheSameEveryTime) {
  double size = 0;
  const auto values = uneven(most);
  for (const double x : values) size += std::abs(x);
  expect_scans(real_addition<double>{}, values, [&](double a, double b) { return std::abs(a - b) <= 1e-15 * size; });
  expect_scans(affine_maps<reals<double>>{}, contractions(most), [](const auto& a, const auto& b) {
    return std::abs(a.slope - b.slope) <= 1e-12 * std::abs(b.slope) + 1e-300 && std::abs(a.offset - b.offset) <= 1e-6;
  });
}

TEST_F(CudaAlgebra, ReducesSegmentsAsIfAlone) {
  const auto values = uneven(most);
  const std::vector<std::size_t> offsets{0, 0, 1, 33, 33, 200, 1000, 5096, 9193, 42000, 42000, 200000, 900000, most};
  on_device<double> there(values), result(offsets.size() - 1);
  on_device<std::size_t> ends(offsets);
  gpu::workspace memory;
  const real_addition<double> addition;
  gpu::segmented_reduce(addition, there.data(), most, ends.data(), offsets.size() - 1, result.data(), memory);
  const auto got = result.fetched(), expected = segmented_reduce(addition, values, offsets);
  for (std::size_t s = 0; s < expected.size(); ++s) EXPECT_TRUE(same_bits(got[s], expected[s])) << s;
}

TEST_F(CudaAlgebra, ReducesManyShortSegmentsAsIfAlone) {
  // So many that each warp has several, some of them long.
  const auto maps = contractions(most);
  std::vector<std::size_t> offsets{0};
  for (std::size_t s = 0; offsets.back() < most; ++s) {
    const std::size_t length = s % 9001 == 17 ? 70000 : s % 501 == 3 ? 300 : s * 2654435761u % 37 % 12;
    offsets.push_back(std::min(most, offsets.back() + length));
  }
  ASSERT_GT(offsets.size(), 2u << 15);
  on_device<affine_map<double>> there(maps), result(offsets.size() - 1);
  on_device<std::size_t> ends(offsets);
  gpu::workspace memory;
  const affine_maps<reals<double>> composition;
  gpu::segmented_reduce(composition, there.data(), most, ends.data(), offsets.size() - 1, result.data(), memory);
  const auto got = result.fetched(), expected = segmented_reduce(composition, maps, offsets);
  for (std::size_t s = 0; s < expected.size(); ++s) ASSERT_TRUE(same_bits(got[s], expected[s])) << s;
}

TEST_F(CudaAlgebra, RefusesOffsetsThatCannotBe) {
  on_device<int> values(std::vector<int>(100000, 1)), result(4);
  gpu::workspace memory;
  const auto refusal = [&](const std::vector<std::size_t>& offsets) -> std::string {
    on_device<std::size_t> there(offsets);
    try {
      gpu::segmented_reduce(integer_addition<int>{}, values.data(), 100000, there.data(), offsets.size() - 1,
                            result.data(), memory);
    } catch (const shoal::bad_argument& refused) {
      return refused.what();
    }
    return "nothing was refused";
  };
  EXPECT_NE(refusal({0, 5, 4}).find("segment 1 descend"), std::string::npos);
  EXPECT_NE(refusal({0, 100001}).find("segment 0"), std::string::npos);
  EXPECT_NE(refusal({0, 100000, 0, 100000}).find("segment 1"), std::string::npos);
  EXPECT_EQ(refusal({0, 100000, 100000}), "nothing was refused");
}

}  // namespace
