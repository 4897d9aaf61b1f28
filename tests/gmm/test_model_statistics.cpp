// Statistics as users have them: fits made by hand from parts, and what is refused.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/gmm/statistics.hpp>

#include "../model_statistics.hpp"
#include "fit_data.hpp"

namespace {

namespace gmm = shoal::gmm;

constexpr std::size_t columns = 3, components = 3, iterations = 4;

template <class Scalar>
std::vector<Scalar> rows_of(std::size_t rows) {
  return fit_data::as<Scalar>(fit_data::clusters(rows, columns, components, 5));
}

gmm::options start(gmm::covariance_type type) {
  gmm::options options;
  options.components = components;
  options.covariance_type = type;
  options.init = gmm::initialization::model;
  options.max_iterations = iterations;
  options.tolerance = 0;
  options.start = {type, components, columns, {0.2, 0.3, 0.5}, {}, {}, {}};
  for (std::size_t i = 0; i < components * columns; ++i) {
    options.start.means.push_back(static_cast<double>((5 * i) % 7) + 0.1);
  }
  switch (type) {
    case gmm::covariance_type::full:
    case gmm::covariance_type::tied:
      for (std::size_t k = 0; k < (type == gmm::covariance_type::full ? components : 1); ++k) {
        for (std::size_t i = 0; i < columns * columns; ++i) {
          options.start.covariances.push_back(i % (columns + 1) == 0 ? 9 : 0);
        }
      }
      break;
    case gmm::covariance_type::diag:
      options.start.covariances.assign(components * columns, 9);
      break;
    case gmm::covariance_type::spherical:
      options.start.covariances.assign(components, 9);
      break;
  }
  return options;
}

constexpr gmm::covariance_type all_types[] = {gmm::covariance_type::full, gmm::covariance_type::tied,
                                              gmm::covariance_type::diag, gmm::covariance_type::spherical};

template <class Scalar>
class MixtureParts : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(MixtureParts, scalars);

// As three processes would: every part through its flat form, then combined in some order.
template <class Scalar>
gmm::model fit_in_parts(const std::vector<Scalar>& rows, const std::vector<Scalar>& weights,
                        const gmm::options& options, const std::vector<std::size_t>& cuts, bool places,
                        std::vector<double>* history = nullptr) {
  gmm::model model = options.start;
  for (std::size_t step = 0; step < iterations; ++step) {
    const gmm::model_statistics all = model_statistics::merged(cuts, [&](std::size_t first, std::size_t end) {
      gmm::accumulate_options how;
      if (places) how.part = {first, cuts.back()};
      const auto part = model_statistics::part_of(rows, weights, columns, first, end);
      return gmm::read(gmm::write(gmm::accumulate(model, part.rows, how, part.weights_or_null())));
    });
    EXPECT_EQ(all.whole(), places);
    EXPECT_EQ(all.rows(), cuts.back());
    if (history != nullptr) history->push_back(all.mean_log_likelihood());
    model = gmm::maximise(all, model, {options.regularization});
  }
  return model;
}

template <class Scalar>
gmm::fit_result fit_whole(const std::vector<Scalar>& rows, const std::vector<Scalar>& weights,
                          const gmm::options& options) {
  const auto all = model_statistics::part_of(rows, weights, columns, 0, rows.size() / columns);
  return gmm::fit(all.rows, options, all.weights_or_null());
}

TYPED_TEST(MixtureParts, GiveTheBitsOfAFitWhereTheyAreCutBetweenLanes) {
  for (const gmm::covariance_type type : all_types) {
    for (const std::size_t count : {std::size_t{2000}, std::size_t{30011}, std::size_t{130000}}) {
      const auto rows = rows_of<TypeParam>(count);
      const gmm::options options = start(type);
      const auto whole = fit_whole(rows, {}, options);
      for (const std::size_t parts : {std::size_t{1}, std::size_t{3}, std::size_t{5}}) {
        const auto cuts = gmm::cut_rows(options.start, count, sizeof(TypeParam), parts);
        EXPECT_EQ(cuts.size(), std::min(parts, (count + 511) / 512) + 1);
        std::vector<double> history;
        const gmm::model merged = fit_in_parts(rows, {}, options, cuts, true, &history);
        EXPECT_EQ(merged.weights, whole.model.weights);
        EXPECT_EQ(merged.means, whole.model.means);
        EXPECT_EQ(merged.covariances, whole.model.covariances);
        EXPECT_EQ(history, whole.history);
      }
    }
  }
}

TYPED_TEST(MixtureParts, AgreeWithAFitWhereverTheyAreCut) {
  const auto rows = rows_of<TypeParam>(30011);
  for (const gmm::covariance_type type : all_types) {
    const gmm::options options = start(type);
    const auto whole = fit_whole(rows, {}, options);
    for (const bool places : {false, true}) {
      // A float32 block that is cut elsewhere rounds elsewhere.
      const double bound = sizeof(TypeParam) == 8 ? 1e-12 : 1e-6;
      const gmm::model merged = fit_in_parts(rows, {}, options, {0, 1, 7001, 20480, 30011}, places);
      model_statistics::expect_close(merged.means, whole.model.means, bound);
      model_statistics::expect_close(merged.covariances, whole.model.covariances, bound);
      model_statistics::expect_close(merged.weights, whole.model.weights, bound);
    }
  }
}

TYPED_TEST(MixtureParts, BringWeightsOfAnySizeToOneScale) {
  const std::size_t count = 30011;
  const auto rows = rows_of<TypeParam>(count);
  std::vector<TypeParam> weights;
  for (std::size_t i = 0; i < count; ++i)
    weights.push_back(static_cast<TypeParam>(i < 15000 ? 1e-9 : 1e9) * TypeParam(i % 5));
  const gmm::options options = start(gmm::covariance_type::full);
  const auto whole = fit_whole(rows, weights, options);
  const auto cuts = gmm::cut_rows(options.start, count, sizeof(TypeParam), 3);
  const gmm::model merged = fit_in_parts(rows, weights, options, cuts, true);
  if (sizeof(TypeParam) == 8) {
    EXPECT_EQ(merged.means, whole.model.means);
    EXPECT_EQ(merged.covariances, whole.model.covariances);
  } else {
    model_statistics::expect_close(merged.means, whole.model.means, 1e-6);
  }
}

TEST(MixtureStatisticsOfUsers, AddUpAndComeApart) {
  const auto rows = rows_of<double>(4000);
  const gmm::model model = start(gmm::covariance_type::full).start;
  const shoal::matrix_view<const double> all(rows.data(), 4000, columns);
  const auto a = gmm::accumulate(model, all.middle_rows(0, 1500)),
             b = gmm::accumulate(model, all.middle_rows(1500, 2500));
  const auto both = gmm::combine(a, b);
  EXPECT_EQ(both.rows(), 4000u);
  EXPECT_NEAR(both.total_weight(), 4000, 1e-9);
  const auto left = gmm::subtract(both, b);
  EXPECT_EQ(left.rows(), 1500u);
  model_statistics::expect_close(gmm::maximise(left, model).means, gmm::maximise(a, model).means, 1e-11);
  model_statistics::expect_refused([&] { gmm::subtract(a, b); }, "cannot be taken out of");
}

TEST(MixtureStatisticsOfUsers, RefuseWhatDoesNotBelongTogether) {
  const auto rows = rows_of<double>(2048);
  const auto narrow = rows_of<float>(2048);
  const shoal::matrix_view<const double> all(rows.data(), 2048, columns);
  const gmm::model model = start(gmm::covariance_type::full).start;
  gmm::model other = model;
  other.means[0] += 1;
  const auto of = [&](const gmm::model& under, const shoal::accumulate_options& how = {}) {
    return gmm::accumulate(under, all, how);
  };
  const auto refused = [](const gmm::model_statistics& a, const gmm::model_statistics& b, const std::string& why) {
    model_statistics::expect_refused([&] { gmm::combine(a, b); }, why);
  };
  refused(of(model), of(other), "the model's fingerprint is");
  refused(of(model), of(start(gmm::covariance_type::diag).start), "the covariance type");
  refused(of(model), gmm::accumulate(model, {narrow.data(), 2048, columns}),
          "the scalar is float64 in one and float32");
  refused(of(model), of(model, {.part = {0, 4096}}), "is none in one and 4096 rows in the other");
  refused(of(model, {.part = {0, 4096}}), of(model, {.part = {512, 4096}}), "row 512 (counting from 0) is in both");
  model_statistics::expect_refused([&] { gmm::maximise(of(model), other); }, "needs the model");
  model_statistics::expect_refused([&] { of(model, {.part = {3000, 4096}}); }, "does not lie in a whole of 4096 rows");
  model_statistics::expect_refused([&] { of(model, {.part = {3, 0}}); }, "needs the number of all rows");
}

TEST(MixtureStatisticsOfUsers, AreReadWholeOrNotAtAll) {
  const auto rows = rows_of<double>(4096);
  const gmm::model model = start(gmm::covariance_type::full).start;
  const auto made = gmm::accumulate(model, {rows.data(), 3000, columns}, {.part = {0, 4096}});
  model_statistics::expect_robust(gmm::write(made),
                                  [](const std::string& bytes) { return gmm::write(gmm::read(bytes)); });
  const std::string path = testing::TempDir() + "mixture.statistics";
  gmm::save_statistics(path, made);
  EXPECT_EQ(gmm::write(gmm::load_statistics(path)), gmm::write(made));
}

}  // namespace
