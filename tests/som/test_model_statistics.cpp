// Statistics as users have them: maps trained by hand from parts, and what is refused.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/som/fit.hpp>
#include <shoal/som/statistics.hpp>

#include "../model_statistics.hpp"

namespace {

namespace som = shoal::som;

constexpr std::size_t columns = 3, width = 4, height = 3, epochs = 4;

template <class Scalar>
std::vector<Scalar> rows_of(std::size_t rows) {
  std::vector<Scalar> values;
  for (std::size_t i = 0; i < rows * columns; ++i) {
    values.push_back(static_cast<Scalar>(10 + std::sin(static_cast<double>(i) * 0.7) * static_cast<double>(i % 5)));
  }
  return values;
}

som::options start() {
  som::options options;
  options.width = width;
  options.height = height;
  options.epochs = epochs;
  options.init = som::initialization::codebook;
  for (std::size_t i = 0; i < width * height * columns; ++i) {
    options.codebook.push_back(8 + static_cast<double>((5 * i) % 11) / 2);
  }
  return options;
}

som::model first_model() {
  const som::options options = start();
  return {width, height, columns, options.lattice, options.toroidal, options.metric, options.codebook, {}};
}

template <class Scalar>
som::model_statistics all_of(const som::model& model, const std::vector<Scalar>& rows,
                             const std::vector<Scalar>& weights, const std::vector<std::size_t>& cuts,
                             const std::vector<double>& centre, bool places = true) {
  return model_statistics::merged(cuts, [&](std::size_t first, std::size_t end) {
    som::accumulate_options how;
    how.centre = centre;
    if (places) how.part = {first, cuts.back()};
    const auto part = model_statistics::part_of(rows, weights, columns, first, end);
    return som::read(som::write(som::accumulate(model, part.rows, how, part.weights_or_null())));
  });
}

som::maximise_options of_epoch(std::size_t epoch) {
  const som::options options = start();
  return {options.neighborhood, options.cutoff, som::radius_of(options, epoch), 1};
}

template <class Scalar>
class MapParts : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(MapParts, scalars);

TYPED_TEST(MapParts, GiveTheBitsOfAFitWhereTheyAreCutBetweenLanes) {
  for (const std::size_t count : {std::size_t{2000}, std::size_t{30011}}) {
    for (const bool weighted : {false, true}) {
      const auto rows = rows_of<TypeParam>(count);
      std::vector<TypeParam> weights;
      for (std::size_t i = 0; weighted && i < count; ++i)
        weights.push_back(static_cast<TypeParam>(i % 3) * TypeParam(1e-8));
      const auto whole = model_statistics::part_of(rows, weights, columns, 0, count);
      const auto fitted = som::fit(whole.rows, start(), whole.weights_or_null());
      const auto cuts = som::cut_rows(first_model(), count, sizeof(TypeParam), 3);
      ASSERT_EQ(cuts.size(), 4u);
      som::model model = first_model();
      const std::vector<double> centre = all_of(model, rows, weights, cuts, {}).row_mean();
      std::vector<double> history;
      for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
        const auto all = all_of(model, rows, weights, cuts, centre);
        EXPECT_TRUE(all.whole());
        history.push_back(all.quantization_error());
        model = som::maximise(all, model, of_epoch(epoch));
      }
      EXPECT_EQ(model.codebook, fitted.model.codebook);
      EXPECT_EQ(history, fitted.history);
    }
  }
}

TEST(MapStatistics, AgreeWithAFitWhereverTheyAreCut) {
  const auto rows = rows_of<double>(30011);
  const auto fitted = som::fit(shoal::matrix_view<const double>(rows.data(), 30011, columns), start());
  for (const bool places : {false, true}) {
    som::model model = first_model();
    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
      // Each part about its own mean.
      const auto all = all_of(model, rows, {}, {0, 1, 7001, 20480, 30011}, {}, places);
      model = som::maximise(all, model, of_epoch(epoch));
    }
    model_statistics::expect_close(model.codebook, fitted.model.codebook, 1e-12);
  }
}

TEST(MapStatistics, AddUpAndComeApart) {
  const auto rows = rows_of<double>(4000);
  const som::model model = first_model();
  const shoal::matrix_view<const double> all(rows.data(), 4000, columns);
  const auto a = som::accumulate(model, all.middle_rows(0, 1500));
  const auto b = som::accumulate(model, all.middle_rows(1500, 2500));
  const auto left = som::subtract(som::combine(a, b), b);
  EXPECT_EQ(left.rows(), 1500u);
  model_statistics::expect_close(left.row_mean(), a.row_mean(), 1e-12);
  EXPECT_NEAR(left.quantization_error(), a.quantization_error(), 1e-12);
  model_statistics::expect_close(som::maximise(left, model, of_epoch(0)).codebook,
                                 som::maximise(a, model, of_epoch(0)).codebook, 1e-11);
}

TEST(MapStatistics, RefuseWhatDoesNotFold) {
  som::options options = start();
  options.training = som::training::online;
  model_statistics::expect_refused([&] { som::radius_of(options, 0); }, "online training takes a step for each row");
  const auto rows = rows_of<double>(600);
  const shoal::matrix_view<const double> all(rows.data(), 600, columns);
  som::model other = first_model();
  other.toroidal = true;
  const auto a = som::accumulate(first_model(), all), b = som::accumulate(other, all);
  model_statistics::expect_refused([&] { som::combine(a, b); }, "the model's fingerprint is");
  model_statistics::expect_refused([&] { som::maximise(a, other, of_epoch(0)); }, "needs the model");
  model_statistics::expect_refused(
      [&] {
        som::accumulate(other, all, {.centre = {1, 2}});
      },
      "the centre must be 3 values");
  som::accumulate_options elsewhere;
  elsewhere.device.cuda = {0};
  model_statistics::expect_refused([&] { som::accumulate(other, all, elsewhere); },
                                   "choose the device cpu; got cuda:0");
}

TEST(MapStatistics, AreReadWholeOrNotAtAll) {
  const auto rows = rows_of<double>(3000);
  const auto made = som::accumulate(first_model(), {rows.data(), 3000, columns}, {.part = {512, 4096}});
  model_statistics::expect_robust(som::write(made),
                                  [](const std::string& bytes) { return som::write(som::read(bytes)); });
  const std::string path = testing::TempDir() + "map.statistics";
  som::save_statistics(path, made);
  EXPECT_EQ(som::write(som::load_statistics(path)), som::write(made));
}

}  // namespace
