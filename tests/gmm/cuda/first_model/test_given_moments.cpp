// Statistics of responsibilities that are given against sums over the rows in float64, whatever they are given as.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <shoal/gmm/cuda/first_model/given_moments.hpp>
#include <shoal/random/stream.hpp>

#include "../../../cuda_devices.hpp"
#include "../../../kmeans/kmeans_reference.hpp"

namespace {

namespace gmm = shoal::gmm;
using gmm::covariance_type;
using kmeans_reference::clouds;

constexpr covariance_type types[] = {covariance_type::full, covariance_type::tied, covariance_type::diag,
                                     covariance_type::spherical};
constexpr std::size_t row_count = 9001;  // more than two units of them

template <class Scalar>
class GivenMoments : public cuda_devices::on_one_device {
 protected:
  GivenMoments() {
    for (std::size_t i = 0; i < row_count; ++i) {
      weights_.push_back(i % 5 == 0 ? Scalar{0} : Scalar{0.25} + static_cast<Scalar>(i % 7));
    }
  }

  void SetUp() override {
    on_one_device::SetUp();
    if (!IsSkipped()) group_.emplace(cuda_devices::first(1));
  }

  struct shape {
    covariance_type type;
    std::size_t components, columns;
  };
  static std::vector<shape> shapes() {
    std::vector<shape> all;
    for (const covariance_type type : types) {
      // Both sides of every choice between kernels and of their tiles.
      for (const std::size_t columns : {1, 3, 6, 7, 9, 10, 12, 13, 16, 17, 33, 65, 130})
        all.push_back({type, 3, columns});
      for (const std::size_t components : {1, 2, 32, 33, 70}) all.push_back({type, components, 5});
    }
    return all;
  }

  /// Adds the rows by add(moments, piece), of some shapes resident and streamed, in one shard and in three, and
  /// compares the sums with those of `responsibilities` [rows][K].
  template <class Add>
  void expect_sums(const shape& of, const std::vector<Scalar>& responsibilities, const Add& add,
                   bool one_centre = false) {
    const std::size_t d = of.columns;
    const auto data = clouds<Scalar>(row_count, d, 3, 4.0);
    const shoal::view_source<Scalar> rows(data.view()), weight_rows({weights_.data(), row_count, 1});
    const std::vector<double> centres = centres_of(of, one_centre);
    const gmm::statistics_layout layout(of.type, of.components, d);
    const gmm::statistics expected = sums_of(layout, data.values, centres, responsibilities);
    const bool every_way = d == 3 || d == 17;
    for (const std::size_t shards : {1, 3}) {
      std::vector<double> of_first;
      for (const std::size_t memory : {0ul, 2 * 4096 * (d + 1) * sizeof(Scalar)}) {
        if (!every_way && (shards > 1 || memory > 0)) continue;
        shoal::cuda::shard_rule rule;
        rule.exactly = shards;
        shoal::cuda::device_rows<Scalar> on(*group_, {workers_.get(), 0, {}}, {&rows, &weight_rows, 1}, memory, rule);
        gmm::given_moments<Scalar> moments(on, layout, centres);
        on.for_each_piece([&](std::size_t, const shoal::cuda::device_piece<Scalar>& piece) { add(moments, piece); });
        const gmm::statistics got = moments.total();
        const std::vector<double> values(got.values().begin(), got.values().end());
        SCOPED_TRACE(testing::Message() << "type " << static_cast<int>(of.type) << ", " << d << " columns, K = "
                                        << of.components << ", " << shards << " shards, memory " << memory);
        for (std::size_t i = 0; i < layout.size(); ++i) {
          ASSERT_NEAR(values[i], expected.values()[i], 1e-10 * (1e4 + std::abs(expected.values()[i]))) << i;
        }
        if (of_first.empty()) of_first = values;
        EXPECT_EQ(values, of_first);
      }
    }
  }

  std::optional<shoal::cuda::device_group> group_;

 private:
  static std::vector<double> centres_of(const shape& of, bool one) {
    std::vector<double> centres;
    for (std::size_t i = 0; i < of.components * of.columns; ++i) {
      centres.push_back(0.5 * static_cast<double>((one ? i % of.columns : i) % 5));
    }
    return centres;
  }

  gmm::statistics sums_of(const gmm::statistics_layout& layout, const std::vector<Scalar>& rows,
                          const std::vector<double>& centres, const std::vector<Scalar>& responsibilities) const {
    const std::size_t K = layout.components(), d = layout.columns();
    gmm::statistics sums(layout);
    const std::span<double> values = sums.values();
    std::vector<double> z(d);
    for (std::size_t i = 0; i < row_count; ++i) {
      for (std::size_t k = 0; k < K; ++k) {
        const double w = static_cast<double>(weights_[i]) * static_cast<double>(responsibilities[i * K + k]);
        if (w == 0) continue;
        for (std::size_t j = 0; j < d; ++j) z[j] = static_cast<double>(rows[i * d + j]) - centres[k * d + j];
        values[layout.total_weight()] += w;
        values[layout.weight(k)] += w;
        for (std::size_t j = 0; j < d; ++j) {
          values[layout.first(k, j)] += w * z[j];
          double* const second = &values[layout.second(k, j, j)];  // those of a row of the triangle follow each other
          const std::size_t others = layout.has_matrices() ? d - j : 1;
          for (std::size_t l = 0; l < others; ++l) second[l] += w * z[j] * z[j + l];
        }
      }
    }
    return sums;
  }

  std::vector<Scalar> weights_;
  std::unique_ptr<shoal::executor> workers_ = shoal::make_threads(2);
};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(GivenMoments, scalars);

TYPED_TEST(GivenMoments, OfLabels) {
  for (const auto& of : this->shapes()) {
    std::vector<std::int32_t> labels(row_count);
    std::vector<TypeParam> responsibilities(row_count * of.components);
    for (std::size_t i = 0; i < row_count; ++i) {
      labels[i] = static_cast<std::int32_t>(i * 7 % 11 % of.components);
      responsibilities[i * of.components + static_cast<std::size_t>(labels[i])] = 1;
    }
    shoal::cuda::device_buffer<std::int32_t> there;
    this->expect_sums(of, responsibilities,
                      [&](gmm::given_moments<TypeParam>& moments, const shoal::cuda::device_piece<TypeParam>& piece) {
                        there.upload({labels.data() + piece.first, piece.count}, (*this->group_)[0].compute);
                        moments.add(piece, there.data());
                      });
  }
}

TYPED_TEST(GivenMoments, OfRandomResponsibilities) {
  constexpr std::uint64_t seed = 5, id = 17;
  for (const auto& of : this->shapes()) {
    const std::size_t K = of.components;
    std::vector<TypeParam> responsibilities(row_count * K);
    for (std::size_t i = 0; i < row_count; ++i) {
      shoal::random::stream uniforms(seed, id, i * ((K + 1) / 2));
      std::vector<double> drawn(K);
      double sum = 0;
      for (double& one : drawn) sum += one = uniforms.uniform();
      for (std::size_t k = 0; k < K; ++k) {
        responsibilities[i * K + k] = static_cast<TypeParam>(drawn[k]) / static_cast<TypeParam>(sum);
      }
    }
    const auto add = [&](gmm::given_moments<TypeParam>& moments, const shoal::cuda::device_piece<TypeParam>& piece) {
      moments.add(piece, gmm::random_responsibilities{seed, id});
    };
    for (const bool one_centre : {false, true}) this->expect_sums(of, responsibilities, add, one_centre);
  }
}

TYPED_TEST(GivenMoments, OfKnownResponsibilities) {
  for (const auto& of : this->shapes()) {
    std::vector<TypeParam> responsibilities(row_count * of.components);
    for (std::size_t i = 0; i < responsibilities.size(); ++i) {
      responsibilities[i] = static_cast<TypeParam>(i * 37 % 101) / 128;
    }
    shoal::cuda::device_buffer<TypeParam> there;
    this->expect_sums(of, responsibilities,
                      [&](gmm::given_moments<TypeParam>& moments, const shoal::cuda::device_piece<TypeParam>& piece) {
                        there.upload(
                            {responsibilities.data() + piece.first * of.components, piece.count * of.components},
                            (*this->group_)[0].compute);
                        moments.add(piece, static_cast<const TypeParam*>(there.data()));
                      });
  }
}

}  // namespace
