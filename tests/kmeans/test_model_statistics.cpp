// Statistics as users have them: fits made by hand from parts, and what is refused.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/kmeans/fit.hpp>
#include <shoal/kmeans/statistics.hpp>

#include "../model_statistics.hpp"

namespace {

namespace kmeans = shoal::kmeans;

constexpr std::size_t columns = 3, clusters = 4, iterations = 6;

template <class Scalar>
std::vector<Scalar> rows_of(std::size_t rows) {
  std::vector<Scalar> values;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      values.push_back(static_cast<Scalar>(std::sin(static_cast<double>(i * columns + j) * 0.7) +
                                           3.0 * static_cast<double>((i % clusters) == j)));
    }
  }
  return values;
}

kmeans::options start() {
  kmeans::options options;
  options.clusters = clusters;
  options.init = kmeans::seeding::centroids;
  for (std::size_t i = 0; i < clusters * columns; ++i) {
    options.centroids.push_back(static_cast<double>((5 * i) % 7) / 3);
  }
  options.max_iterations = iterations;
  options.tolerance = 0;
  return options;
}

kmeans::model first_model() { return {clusters, columns, start().centroids, {}}; }

template <class Scalar>
class CentroidParts : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(CentroidParts, scalars);

template <class Scalar>
kmeans::model_statistics all_of(const kmeans::model& model, const std::vector<Scalar>& rows,
                                const std::vector<Scalar>& weights, const std::vector<std::size_t>& cuts,
                                bool places = true) {
  return model_statistics::merged(cuts, [&](std::size_t first, std::size_t end) {
    kmeans::model_statistics made = [&] {
      shoal::accumulate_options how;
      if (places) how.part = {first, cuts.back()};
      const auto part = model_statistics::part_of(rows, weights, columns, first, end);
      return kmeans::accumulate(model, part.rows, how, part.weights_or_null());
    }();
    return kmeans::read(kmeans::write(made));
  });
}

TYPED_TEST(CentroidParts, GiveTheBitsOfAFitWhereTheyAreCutBetweenLanes) {
  for (const std::size_t count : {std::size_t{2000}, std::size_t{30011}}) {
    for (const bool weighted : {false, true}) {
      const auto rows = rows_of<TypeParam>(count);
      std::vector<TypeParam> weights;
      for (std::size_t i = 0; weighted && i < count; ++i)
        weights.push_back(static_cast<TypeParam>(i % 3) * TypeParam(1e-8));
      const auto whole = model_statistics::part_of(rows, weights, columns, 0, count);
      const auto fitted = kmeans::fit(whole.rows, start(), whole.weights_or_null());
      const auto cuts = kmeans::cut_rows(first_model(), count, sizeof(TypeParam), 3);
      ASSERT_EQ(cuts.size(), 4u);
      kmeans::model model = first_model();
      std::vector<double> history;
      std::uint64_t labels = 0;
      for (std::size_t step = 0; step < fitted.iterations; ++step) {
        const auto all = all_of(model, rows, weights, cuts);
        EXPECT_TRUE(all.whole());
        history.push_back(all.inertia());
        if (step > 0 && all.label_fingerprint() == labels) break;
        labels = all.label_fingerprint();
        model = kmeans::maximise(all, model);
      }
      EXPECT_EQ(model.centroids, fitted.model.centroids);
      EXPECT_EQ(history, fitted.history);
    }
  }
}

TEST(CentroidStatistics, AgreeWithAFitWhereverTheyAreCut) {
  const auto rows = rows_of<double>(30011);
  const auto fitted = kmeans::fit(shoal::matrix_view<const double>(rows.data(), 30011, columns), start());
  for (const bool places : {false, true}) {
    kmeans::model model = first_model();
    for (std::size_t step = 0; step < fitted.iterations; ++step) {
      model = kmeans::maximise(all_of(model, rows, {}, {0, 1, 7001, 20480, 30011}, places), model);
    }
    model_statistics::expect_close(model.centroids, fitted.model.centroids, 1e-12);
  }
}

// The label of a row counts for its place among all rows, in whichever parts of whole blocks they come.
TEST(CentroidStatistics, KnowEveryLabelWhereverTheyAreCut) {
  const auto rows = rows_of<double>(5000);
  const kmeans::model model = first_model();
  const auto one = all_of(model, rows, {}, {0, 5000}).label_fingerprint();
  EXPECT_EQ(all_of(model, rows, {}, {0, 512, 2560, 5000}).label_fingerprint(), one);
  const std::vector<std::size_t> anywhere{0, 3, 512, 777, 5000};
  const auto cut = all_of(model, rows, {}, anywhere).label_fingerprint();
  EXPECT_EQ(all_of(model, rows, {}, anywhere).label_fingerprint(), cut);
  kmeans::model other = model;
  other.centroids[0] += 0.5;
  EXPECT_NE(all_of(other, rows, {}, {0, 5000}).label_fingerprint(), one);
  EXPECT_NE(all_of(other, rows, {}, anywhere).label_fingerprint(), cut);
}

TEST(CentroidStatistics, AddUpAndComeApart) {
  const auto rows = rows_of<double>(4000);
  const kmeans::model model = first_model();
  const shoal::matrix_view<const double> all(rows.data(), 4000, columns);
  const auto a = kmeans::accumulate(model, all.middle_rows(0, 1500));
  const auto b = kmeans::accumulate(model, all.middle_rows(1500, 2500));
  const auto left = kmeans::subtract(kmeans::combine(a, b), b);
  EXPECT_EQ(left.rows(), 1500u);
  EXPECT_EQ(left.label_fingerprint(), a.label_fingerprint());
  EXPECT_NEAR(left.total_weight(), 1500, 1e-9);
  model_statistics::expect_close(kmeans::maximise(left, model).centroids, kmeans::maximise(a, model).centroids, 1e-12);
}

TEST(CentroidStatistics, LeaveEmptyClustersWhereTheyAre) {
  kmeans::model model = first_model();
  for (std::size_t j = 0; j < columns; ++j) model.centroids[j] = 1e6;
  const auto rows = rows_of<double>(600);
  const auto made = kmeans::accumulate(model, shoal::matrix_view<const double>(rows.data(), 600, columns));
  EXPECT_EQ(made.sums().weights[0], 0);
  EXPECT_EQ(kmeans::maximise(made, model).centroids[0], 1e6);
}

TEST(CentroidStatistics, RefuseWhatDoesNotBelongTogether) {
  const auto rows = rows_of<double>(600);
  const shoal::matrix_view<const double> all(rows.data(), 600, columns);
  const kmeans::model model = first_model();
  kmeans::model fewer{clusters - 1, columns, {}, {}};
  fewer.centroids.assign(model.centroids.begin(), model.centroids.end() - columns);
  const auto a = kmeans::accumulate(model, all), b = kmeans::accumulate(fewer, all);
  model_statistics::expect_refused([&] { kmeans::combine(a, b); },
                                   "the number of clusters is 4 in one and 3 in the other");
  model_statistics::expect_refused([&] { kmeans::maximise(a, fewer); }, "needs the model");
}

TEST(CentroidStatistics, AreReadWholeOrNotAtAll) {
  const auto rows = rows_of<double>(3000);
  const auto made = kmeans::accumulate(first_model(), {rows.data(), 3000, columns}, {.part = {512, 4096}});
  model_statistics::expect_robust(kmeans::write(made),
                                  [](const std::string& bytes) { return kmeans::write(kmeans::read(bytes)); });
  const std::string path = testing::TempDir() + "centroids.statistics";
  kmeans::save_statistics(path, made);
  EXPECT_EQ(kmeans::write(kmeans::load_statistics(path)), kmeans::write(made));
}

}  // namespace
