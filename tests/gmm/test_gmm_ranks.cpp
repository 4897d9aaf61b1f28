// Gaussian mixtures on any number of ranks: fits, first models, repairs and predictions to the bits of one process.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/gmm/backend.hpp>
#include <shoal/gmm/backend_fit.hpp>
#include <shoal/gmm/result.hpp>

#include "../kmeans/kmeans_reference.hpp"
#include "../ranks.hpp"
#include "jump_data.hpp"

namespace {

namespace gmm = shoal::gmm;
using kmeans_reference::clouds;
using ranks::bits;

constexpr std::size_t many = 32001;  // 63 lanes

bits of(const gmm::model& model) { return bits() << model.weights << model.means << model.covariances; }

bits of(const gmm::fit_result& result) {
  return of(result.model) << result.mean_log_likelihood << result.history << result.iterations << result.reseeded
                          << result.total_weight << result.bic;
}

template <class Scalar>
class MixturesOnRanks : public testing::Test {
 protected:
  void expect_same_fits(const gmm::options& options, bool weighted = false) {
    expect_same_fits_of(rows, options, weighted ? &column : nullptr);
  }
  static void expect_same_fits_of(const shoal::row_source<Scalar>& rows, const gmm::options& options,
                                  const shoal::row_source<Scalar>* weights = nullptr) {
    ranks::expect_same_bits([&](const shoal::fold_context& context) {
      const auto on = gmm::make_backend<Scalar>({}, {context, &rows, weights});
      return of(gmm::fit(*on, options, {}));
    });
  }
  static gmm::options three() {
    gmm::options options;
    options.components = 3;
    options.max_iterations = 3;
    options.tolerance = 0;
    return options;
  }
  static std::vector<Scalar> some_weights() {
    std::vector<Scalar> made(many);
    for (std::size_t i = 0; i < many; ++i) made[i] = static_cast<Scalar>(i % 5);
    return made;
  }

  kmeans_reference::table<Scalar> data = clouds<Scalar>(many, 3, 4, 3);
  std::vector<Scalar> weights = some_weights();
  shoal::view_source<Scalar> rows{data.view()};
  shoal::view_source<Scalar> column{{weights.data(), many, 1}};
};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(MixturesOnRanks, scalars);

TYPED_TEST(MixturesOnRanks, FitToTheSameBits) {
  for (const auto type : {gmm::covariance_type::full, gmm::covariance_type::tied, gmm::covariance_type::diag,
                          gmm::covariance_type::spherical}) {
    gmm::options options = this->three();
    options.covariance_type = type;
    this->expect_same_fits(options, type == gmm::covariance_type::diag);
  }
}

TYPED_TEST(MixturesOnRanks, MakeMomentsAgainInTheSameStep) {
  const double offset = sizeof(TypeParam) == 4 ? 1e4 : 1e8;
  const auto far = fit_data::as<TypeParam>(fit_data::clusters(many, 2, 1, 0, offset));
  for (const auto type : fit_data::all_types()) {
    gmm::options options = jump_data::one_step_from_the_origin(type, 2, offset);
    options.max_iterations = 2;
    this->expect_same_fits_of(shoal::view_source<TypeParam>({far.data(), many, 2}), options);
  }
}

TYPED_TEST(MixturesOnRanks, BeginWithTheSameModel) {
  using first = gmm::initialization;
  for (const first init : {first::plus_plus, first::parallel, first::random_rows, first::random_responsibilities}) {
    gmm::options options = this->three();
    options.init = init;
    options.max_iterations = 1;
    this->expect_same_fits(options);
  }
}

// Every rank clusters the whole tenth, so there are fewer rows.
TYPED_TEST(MixturesOnRanks, BeginWithTheSameTenth) {
  const auto few = clouds<TypeParam>(4001, 3, 4, 3);
  gmm::options options = this->three();
  options.init = gmm::initialization::kmeans_of_tenth;
  options.max_iterations = 1;
  this->expect_same_fits_of(shoal::view_source<TypeParam>(few.view()), options);
}

TYPED_TEST(MixturesOnRanks, ExtrapolateToTheSameBits) {
  gmm::options options = this->three();
  options.acceleration = gmm::acceleration::squarem;
  options.max_iterations = 7;
  this->expect_same_fits(options);
}

TYPED_TEST(MixturesOnRanks, ReseedEmptyComponentsWithTheSameRows) {
  gmm::options options = this->three();
  options.covariance_type = gmm::covariance_type::spherical;
  options.init = gmm::initialization::model;
  options.start = {options.covariance_type, 3, 3, {0.4, 0.4, 0.2}, {0, 0, 0, 6, 6, 6, 1e5, 1e5, 1e5}, {4, 4, 1}, {}};
  ranks::expect_same_bits([&](const shoal::fold_context& context) {
    const auto on = gmm::make_backend<TypeParam>({}, {context, &this->rows});
    const gmm::fit_result result = gmm::fit(*on, options, {});
    EXPECT_GE(result.reseeded, 1u);
    return of(result);
  });
}

TYPED_TEST(MixturesOnRanks, PredictEachRowOnce) {
  const gmm::model model{gmm::covariance_type::spherical, 2, 3, {0.5, 0.5}, {0, 0, 0, 6, 6, 6}, {4, 4}, {}};
  struct answer {
    std::vector<std::int32_t> labels = std::vector<std::int32_t>(many, -1);
    std::vector<TypeParam> probabilities = std::vector<TypeParam>(many * 2, -1);
    std::vector<TypeParam> log_density = std::vector<TypeParam>(many, 1);
  };
  const auto predict = [&](const shoal::fold_context& context, answer& into) {
    return gmm::make_backend<TypeParam>({}, {context, &this->rows})
        ->predict(model, {into.labels.data(), into.probabilities.data(), into.log_density.data()});
  };
  const auto alone = shoal::make_sequential();
  answer expected;
  const double mean = predict({alone.get(), 0, {}}, expected);
  for (const std::size_t count : ranks::numbers) {
    answer got;  // one for all ranks, each of which writes its own rows
    for (const double value :
         ranks::results(count, [&](const shoal::fold_context& context) { return predict(context, got); })) {
      EXPECT_EQ(value, mean) << count << " ranks";
    }
    EXPECT_EQ(got.labels, expected.labels) << count << " ranks";
    EXPECT_EQ(got.probabilities, expected.probabilities) << count << " ranks";
    EXPECT_EQ(got.log_density, expected.log_density) << count << " ranks";
  }
}

TYPED_TEST(MixturesOnRanks, RefuseWhatDoesNotFold) {
  for (const auto algorithm : {gmm::algorithm::incremental, gmm::algorithm::asynchronous, gmm::algorithm::stepwise}) {
    gmm::options options = this->three();
    options.algorithm = algorithm;
    for (const int refused : ranks::results(2, [&](const shoal::fold_context& context) {
           const auto on = gmm::make_backend<TypeParam>({}, {context, &this->rows});
           try {
             gmm::fit(*on, options, {});
           } catch (const shoal::bad_argument& failure) {
             return std::string(failure.what()).find("algorithm='batch'") != std::string::npos ? 1 : 0;
           }
           return 0;
         })) {
      EXPECT_EQ(refused, 1);
    }
  }
}

}  // namespace
