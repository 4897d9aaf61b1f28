// Seeding: distributions at a fixed seed, the same rows for any threads and memory, weights, duplicates, quality.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/draws_ahead.hpp>
#include <shoal/estimation/race.hpp>
#include <shoal/estimation/seed_draw.hpp>
#include <shoal/estimation/seeding.hpp>
#include <shoal/estimation/seeding_passes.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/random/stream.hpp>

#include "../copying_source.hpp"
#include "../kmeans/kmeans_reference.hpp"
#include "../random/statistics.hpp"

namespace {

using copied_rows::copying_source;
using kmeans_reference::clouds;
using kmeans_reference::table;

enum class method { random_rows, plus_plus, parallel };
constexpr method methods[] = {method::random_rows, method::plus_plus, method::parallel};

template <class Scalar>
std::vector<double> seed(method how, const shoal::row_source<Scalar>& rows, const shoal::row_source<Scalar>* weights,
                         const shoal::seeding_request& request, std::size_t threads = 1, std::size_t memory = 0) {
  const auto workers = shoal::make_threads(threads);
  const shoal::fold_context context{workers.get(), memory, {}};
  const shoal::data_summary summary = shoal::check_data(context, rows, weights);
  const shoal::scaled_rows<Scalar> scaled(rows, weights, summary);
  if (how == method::random_rows) return shoal::seed_random_rows(context, scaled.data(), summary, request);
  if (how == method::plus_plus) return shoal::seed_plus_plus(context, scaled.data(), summary, request);
  return shoal::seed_parallel(context, scaled.data(), summary, request);
}

template <class Scalar>
std::vector<double> seed(method how, const table<Scalar>& rows, const shoal::seeding_request& request) {
  const shoal::view_source<Scalar> source(rows.view());
  return seed<Scalar>(how, source, nullptr, request);
}

std::vector<std::vector<double>> points_of(const std::vector<double>& values, std::size_t columns) {
  std::vector<std::vector<double>> points;
  for (std::size_t i = 0; i < values.size(); i += columns) {
    points.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(i),
                        values.begin() + static_cast<std::ptrdiff_t>(i + columns));
  }
  return points;
}

TEST(Seeding, ReturnsDistinctRowsOfTheData) {
  const auto data = clouds<float>(2000, 3, 6, 8);
  std::set<std::vector<double>> rows;
  for (const auto& row : points_of({data.values.begin(), data.values.end()}, 3)) rows.insert(row);
  for (const method how : methods) {
    for (const std::size_t clusters : {1, 2, 17, 200}) {
      const auto points = points_of(seed(how, data, {clusters, 3, 0}), 3);
      ASSERT_EQ(points.size(), clusters);
      EXPECT_EQ(std::set(points.begin(), points.end()).size(), clusters);
      for (const auto& point : points) EXPECT_TRUE(rows.contains(point));
    }
  }
}

TEST(Seeding, ChoosesTheSameRowsForAnyThreadsAndMemory) {
  const auto data = clouds<float>(150001, 2, 9, 5);
  std::vector<float> weight_values(data.rows);
  for (std::size_t i = 0; i < data.rows; ++i) weight_values[i] = static_cast<float>(i % 5);
  const shoal::view_source<float> rows(data.view());
  const shoal::view_source<float> weights({weight_values.data(), data.rows, 1});
  const copying_source<float> streamed(data.view());
  for (const method how : methods) {
    const auto expected = seed<float>(how, rows, &weights, {12, 5, 1});
    for (const std::size_t threads : {2, 3, 8}) {
      EXPECT_EQ(seed<float>(how, rows, &weights, {12, 5, 1}, threads), expected);
    }
    EXPECT_EQ(seed<float>(how, streamed, &weights, {12, 5, 1}, 2, 3 * 4096 * 2), expected);
    EXPECT_NE(seed<float>(how, rows, &weights, {12, 6, 1}), expected);
    EXPECT_NE(seed<float>(how, rows, &weights, {12, 5, 2}), expected);
  }
}

TEST(Seeding, NeverDrawsARowOfWeightZero) {
  const auto data = clouds<double>(1500, 2, 3, 5);
  std::vector<double> weight_values(1500, 0.0);
  std::set<std::vector<double>> allowed;
  for (std::size_t i = 0; i < 1500; i += 50) {
    weight_values[i] = 1e-3 * static_cast<double>(i + 1);
    allowed.insert({data.values[2 * i], data.values[2 * i + 1]});
  }
  const shoal::view_source<double> rows(data.view());
  const shoal::view_source<double> weights({weight_values.data(), 1500, 1});
  for (const method how : methods) {
    for (std::uint64_t trial = 0; trial < 20; ++trial) {
      for (const auto& point : points_of(seed<double>(how, rows, &weights, {10, trial, 0}), 2)) {
        EXPECT_TRUE(allowed.contains(point));
      }
    }
  }
}

TEST(Seeding, FillsUpWhenThereAreFewerDistinctRowsThanClusters) {
  table<float> data{600, 2, {}};
  for (std::size_t i = 0; i < 600; ++i) {
    data.values.push_back(static_cast<float>(i % 3));
    data.values.push_back(1);
  }
  for (const method how : {method::plus_plus, method::parallel}) {
    const auto points = points_of(seed(how, data, {5, 1, 0}), 2);
    ASSERT_EQ(points.size(), 5u);
    EXPECT_EQ(std::set(points.begin(), points.end()).size(), 3u);
  }
  const table<float> two{2, 1, {4, 9}};
  const auto points = seed(method::random_rows, two, {5, 1, 0});
  ASSERT_EQ(points.size(), 5u);
  EXPECT_EQ(std::set(points.begin(), points.end()).size(), 2u);
}

TEST(Seeding, KEqualsNTakesEveryRow) {
  const auto data = clouds<float>(37, 2, 5, 3);
  for (const method how : methods) {
    const auto points = points_of(seed(how, data, {37, 2, 0}), 2);
    EXPECT_EQ(std::set(points.begin(), points.end()).size(), 37u);
  }
}

// How often each of the rows is the first that is chosen, over many streams.
TEST(Seeding, FirstRowsFollowTheWeights) {
  const table<double> data{5, 1, {0, 1, 2, 3, 4}};
  const std::vector<double> weight_values = {1, 0.5, 4, 2, 0.25};
  std::vector<double> probabilities;
  for (const double weight : weight_values) probabilities.push_back(weight / 7.75);
  const shoal::view_source<double> rows(data.view());
  const shoal::view_source<double> weights({weight_values.data(), 5, 1});
  for (const method how : {method::random_rows, method::plus_plus}) {
    std::vector<std::size_t> counts(5);
    for (std::uint64_t stream = 0; stream < 4000; ++stream) {
      ++counts[static_cast<std::size_t>(seed<double>(how, rows, &weights, {1, 11, stream}).front())];
    }
    EXPECT_GT(shoal::testing::chi_squared_test(counts, probabilities), shoal::testing::least_p_value);
  }
}

TEST(Seeding, RandomRowsAreDrawnOneAfterAnotherWithoutReplacement) {
  const table<double> data{3, 1, {0, 1, 2}};
  const std::vector<double> weight_values = {1, 2, 5};
  const shoal::view_source<double> rows(data.view());
  const shoal::view_source<double> weights({weight_values.data(), 3, 1});
  std::vector<std::size_t> counts(9);
  std::vector<double> probabilities(9);
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      if (a != b) probabilities[a * 3 + b] = weight_values[a] / 8 * weight_values[b] / (8 - weight_values[a]);
  for (std::uint64_t stream = 0; stream < 4000; ++stream) {
    const auto pair = seed<double>(method::random_rows, rows, &weights, {2, 8, stream});
    ++counts[static_cast<std::size_t>(pair[0]) * 3 + static_cast<std::size_t>(pair[1])];
  }
  std::vector<std::size_t> possible;
  std::vector<double> expected;
  for (std::size_t i = 0; i < 9; ++i) {
    if (i % 4 == 0) {
      EXPECT_EQ(counts[i], 0u);
      continue;
    }
    possible.push_back(counts[i]);
    expected.push_back(probabilities[i]);
  }
  EXPECT_GT(shoal::testing::chi_squared_test(possible, expected), shoal::testing::least_p_value);
}

TEST(Seeding, DrawsInProportionToMass) {
  // Masses over three units; rows of mass zero at their ends.
  const std::size_t rows = 3 * shoal::block_rows;
  const shoal::row_units units(rows, 4, sizeof(float));
  ASSERT_EQ(units.count(), 3u);
  std::vector<double> masses(rows), sums(3);
  for (const std::size_t row : {3, 700, 701, 1400}) masses[row] = static_cast<double>(row);
  for (std::size_t i = 0; i < rows; ++i) sums[units.unit_of(i)] += masses[i];
  const auto draw = [&](double u) {
    const shoal::unit_draw drawn = shoal::draw_unit(units, sums, u);
    if (drawn.unit == shoal::no_unit) return shoal::no_row;
    const std::size_t first = units.first_row(drawn.unit);
    return shoal::row_of_draw(units, drawn, std::span(masses).subspan(first, units.end_row(drawn.unit) - first));
  };
  std::map<std::size_t, double> shares;
  constexpr int draws = 28040;
  for (int i = 0; i < draws; ++i) ++shares[draw((i + 0.5) / draws)];
  EXPECT_EQ(shares.size(), 4u);
  for (const std::size_t row : {3, 700, 701, 1400}) {
    EXPECT_NEAR(shares[row] / draws, static_cast<double>(row) / 2804, 1.0 / draws);
  }
  EXPECT_EQ(draw(1 - 1e-16), 1400u);
  std::fill(sums.begin(), sums.end(), 0.0);
  EXPECT_EQ(draw(0.5), shoal::no_row);
}

// Two trials, as for K = 2: both are drawn in proportion to weight · squared distance, and the better is kept. Which of
// two is better is known here, so the distribution of the second row is too.
// Whole masses, whose sums no order changes: a draw in groups is the draw of one row after the other, at every size
// around the groups', with masses of zero, and at the very end.
TEST(Seeding, DrawsInGroupsAsInOneLine) {
  for (const std::size_t count : {1ul, 31ul, 32ul, 33ul, 64ul, 65ul, 1025ul}) {
    const shoal::row_units units(count * 512, 1, 4);
    ASSERT_EQ(units.count(), count);
    for (const std::size_t step : {1ul, 3ul, 40ul}) {
      std::vector<double> sums(count, 0.0);
      for (std::size_t i = count - 1; i < count; i -= std::min(step, i + 1)) sums[i] = 1.0 + static_cast<double>(i % 5);
      const double total = shoal::total_of(sums);
      for (const double u : {1e-9, 0.25, 0.5, 0.75, 1 - 1e-9}) {
        std::size_t expected = 0;
        double through = 0;
        for (std::size_t i = 0; i < count; ++i) {
          if (sums[i] > 0 && through <= u * total) expected = i;
          through += sums[i];
        }
        EXPECT_EQ(through, total);
        const shoal::unit_draw draw = shoal::draw_unit(units, sums, u);
        EXPECT_EQ(draw.unit, expected) << count << " units, u " << u;
        EXPECT_EQ(shoal::row_of_draw(units, {0, 0, u * total}, sums), expected);
      }
      // Rounding may put the target beyond the last row.
      EXPECT_EQ(shoal::row_of_draw(units, {0, 0, 2 * total}, sums), count - 1);
    }
    EXPECT_EQ(shoal::draw_unit(units, std::vector<double>(count, 0.0), 0.5).unit, shoal::no_unit);
    EXPECT_EQ(shoal::row_of_draw(units, {0, 0, 0.5}, std::vector<double>(count, 0.0)), shoal::no_row);
  }
}

TEST(Seeding, PlusPlusFollowsTheSquaredDistances) {
  const table<double> data{4, 1, {0, 1, 3, 7}};
  const std::vector<double> weight_values = {3, 2, 4, 1};
  const shoal::view_source<double> rows(data.view());
  const shoal::view_source<double> weights({weight_values.data(), 4, 1});
  const auto potential = [&](std::size_t a, std::size_t b) {
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const double to_a = data.values[i] - data.values[a], to_b = data.values[i] - data.values[b];
      sum += weight_values[i] * std::min(to_a * to_a, to_b * to_b);
    }
    return sum;
  };
  std::vector<double> probabilities(16);
  for (std::size_t a = 0; a < 4; ++a) {
    std::vector<double> draw(4);
    double total = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const double distance = data.values[i] - data.values[a];
      total += draw[i] = weight_values[i] * distance * distance;
    }
    for (std::size_t first = 0; first < 4; ++first) {
      for (std::size_t second = 0; second < 4; ++second) {
        const std::size_t kept = potential(a, second) < potential(a, first) ? second : first;
        probabilities[a * 4 + kept] += weight_values[a] / 10 * draw[first] / total * draw[second] / total;
      }
    }
  }
  std::vector<std::size_t> counts(16);
  const auto place = [&](double value) {
    return static_cast<std::size_t>(std::find(data.values.begin(), data.values.end(), value) - data.values.begin());
  };
  for (std::uint64_t stream = 0; stream < 6000; ++stream) {
    const auto pair = seed<double>(method::plus_plus, rows, &weights, {2, 4, stream});
    ++counts[place(pair[0]) * 4 + place(pair[1])];
  }
  std::vector<std::size_t> possible;
  std::vector<double> expected;
  for (std::size_t i = 0; i < 16; ++i) {
    if (probabilities[i] == 0) {
      EXPECT_EQ(counts[i], 0u);
    } else if (probabilities[i] * 6000 > 5) {
      possible.push_back(counts[i]);
      expected.push_back(probabilities[i]);
    }
  }
  double sum = 0;
  for (const double probability : expected) sum += probability;
  for (double& probability : expected) probability /= sum;
  EXPECT_GT(shoal::testing::chi_squared_test(possible, expected), shoal::testing::least_p_value);
}

// Greedy k-means++ in float64, for clarity: the sum of masses and every mass are computed anew, and rows are drawn one
// after the other. `ahead`: whether steps share draws as they do from one on (draws_ahead.hpp), or draw for themselves.
class greedy_reference {
 public:
  greedy_reference(const table<double>& data, const std::vector<double>& weights) : data_(data), weights_(weights) {}

  std::vector<std::size_t> choose(const shoal::seeding_request& request, std::size_t first, bool ahead) {
    const shoal::greedy_draws draws = shoal::draws_after(request, first);
    std::vector<std::size_t> chosen = {first}, drawn;
    std::vector<double> then;
    std::size_t next = 0, step_of_draw = 0;
    for (std::size_t step = 1; step < request.clusters; ++step) {
      std::vector<std::size_t> trials;
      const auto take = [&] {
        trials.clear();
        std::size_t at = next;
        for (; at < drawn.size() && trials.size() < draws.trials; ++at) {
          const double kept = least(drawn[at], chosen) / then[at];
          if (draws.uniform(step_of_draw, drawn.size() + at) < kept) trials.push_back(drawn[at]);
        }
        if (trials.size() == draws.trials) next = at;
        return trials.size() == draws.trials;
      };
      const bool shared = ahead && step >= shoal::first_step_ahead;
      if (!shared || !take()) {
        drawn.clear();
        then.clear();
        next = 0;
        step_of_draw = step;
        const std::size_t count = shared ? shoal::steps_drawn_ahead * draws.trials : draws.trials;
        for (std::size_t i = 0; i < count; ++i) {
          drawn.push_back(draw(draws.uniform(step, i), chosen));
          then.push_back(least(drawn.back(), chosen));
        }
        if (shared) {
          EXPECT_TRUE(take());
        } else {
          trials = drawn;
        }
      }
      std::size_t best = trials.front();
      for (const std::size_t trial : trials) {
        if (potential(chosen, trial) < potential(chosen, best)) best = trial;
      }
      chosen.push_back(best);
    }
    return chosen;
  }

  double potential(std::vector<std::size_t> chosen, std::size_t another) const {
    chosen.push_back(another);
    double sum = 0;
    for (std::size_t i = 0; i < data_.rows; ++i) sum += weights_[i] * least(i, chosen);
    return sum;
  }

 private:
  double least(std::size_t row, const std::vector<std::size_t>& chosen) const {
    double found = std::numeric_limits<double>::infinity();
    for (const std::size_t other : chosen) {
      double sum = 0;
      for (std::size_t j = 0; j < data_.columns; ++j) {
        const double difference = data_.values[row * data_.columns + j] - data_.values[other * data_.columns + j];
        sum += difference * difference;
      }
      found = std::min(found, sum);
    }
    return found;
  }
  std::size_t draw(double u, const std::vector<std::size_t>& chosen) const {
    double total = 0, through = 0;
    for (std::size_t i = 0; i < data_.rows; ++i) total += weights_[i] * least(i, chosen);
    std::size_t found = 0;
    for (std::size_t i = 0; i < data_.rows; ++i) {
      const double mass = weights_[i] * least(i, chosen);
      if (mass > 0 && through <= u * total) found = i;
      through += mass;
    }
    return found;
  }

  const table<double>& data_;
  const std::vector<double>& weights_;
};

// The first rows of steps that share a draw, of the next draw, and beyond it; with weights, some of them zero.
TEST(Seeding, DrawsAheadAsTheReferenceDoes) {
  const auto data = clouds<double>(307, 2, 30, 6);
  std::vector<double> weight_values(data.rows);
  for (std::size_t i = 0; i < data.rows; ++i) weight_values[i] = static_cast<double>(i % 4) / 2;
  const shoal::view_source<double> rows(data.view());
  const shoal::view_source<double> weights({weight_values.data(), data.rows, 1});
  const auto workers = shoal::make_sequential();
  const shoal::fold_context context{workers.get(), 0, {}};
  const shoal::data_summary summary = shoal::check_data<double>(context, rows, &weights);
  const shoal::scaled_rows<double> scaled(rows, &weights, summary);
  for (const std::size_t clusters : {64ul, 65ul, 66ul, 110ul, 150ul}) {
    for (const std::size_t trials : {0ul, 1ul, 9ul}) {
      const shoal::seeding_request request{clusters, 5, clusters, trials};
      const std::vector<std::size_t> chosen = shoal::choose_plus_plus(context, scaled.data(), summary, request);
      EXPECT_EQ(chosen, greedy_reference(data, weight_values).choose(request, chosen.front(), true))
          << clusters << " clusters, " << trials << " trials";
    }
  }
}

// Rows that are thinned are drawn in proportion to the masses of now: what is left of them is what draws of each step's
// own leave.
TEST(Seeding, DrawsAheadAreAsGoodAsEachStepsOwn) {
  const auto data = clouds<double>(400, 2, 90, 12);
  const std::vector<double> weights(data.rows, 1.0);
  double shared = 0, own = 0;
  constexpr std::uint64_t streams = 24;
  for (std::uint64_t stream = 0; stream < streams; ++stream) {
    greedy_reference reference(data, weights);
    const shoal::seeding_request request{96, 17, stream, 2};
    for (const bool ahead : {false, true}) {
      const auto chosen = reference.choose(request, stream, ahead);
      (ahead ? shared : own) += std::log(reference.potential(chosen, chosen.front())) / streams;
    }
  }
  EXPECT_NEAR(shared, own, 0.05);
}

// Eight rows of mass 1; each trial leaves `step` of the mass less than the one before.
class nearly_equal_trials final : public shoal::seeding_passes {
 public:
  explicit nearly_equal_trials(double step) : step_(step) {}
  const shoal::row_units& units() const override { return units_; }
  void add(std::span<const double>) override {}
  std::vector<double> masses_by_unit() override { return {8}; }
  std::vector<double> trial_masses_by_unit(std::span<const double> trials) override {
    std::vector<double> masses;
    for (std::size_t t = 0; t < trials.size(); ++t) masses.push_back(8 * (1 - step_ * static_cast<double>(t)));
    return masses;
  }
  std::vector<double> masses_of_units(std::span<const std::size_t> wanted) override {
    return std::vector<double>(8 * wanted.size(), 1.0);
  }
  std::vector<std::size_t> sample(std::uint64_t, std::uint64_t, double) override { return {}; }
  std::vector<double> weights_by_point() override { return {}; }
  std::vector<std::size_t> race(std::uint64_t, std::uint64_t, std::size_t) override { return {}; }
  std::size_t columns() const override { return 1; }
  void append_rows(std::span<const std::size_t> rows, std::vector<double>& points) override {
    points.insert(points.end(), rows.begin(), rows.end());
  }
  std::size_t draw_by_weight(double) override { return 0; }
  double weight_of(std::size_t) override { return 1; }
  std::vector<double> distances(std::span<const double> points, std::span<const double>) const override {
    return std::vector<double>(points.size(), 1.0);
  }

 private:
  shoal::row_units units_{8, 1, 8};
  double step_;
};

// Rounding must not choose: two rows near to each other alone leave the same mass, in another order of additions.
TEST(Seeding, KeepsTheFirstOfTrialsThatRoundingTellsApart) {
  const auto chosen = [](double step) {
    nearly_equal_trials passes(step);
    return shoal::run_plus_plus(passes, {20, 5, 0, 8}, [](std::size_t, std::size_t) {}).rows;
  };
  const std::vector<std::size_t> first = chosen(-1e-9), last = chosen(1e-9);
  EXPECT_NE(first, last);
  EXPECT_EQ(chosen(0), first);
  EXPECT_EQ(chosen(0x1p-51), first);
}

TEST(Seeding, FindsEveryOneOfClustersFarApart) {
  // 20 tight clusters on a line: careful seeding takes one row of each.
  table<float> data{20 * 60, 2, {}};
  for (std::size_t i = 0; i < data.rows; ++i) {
    data.values.push_back(static_cast<float>(1000.0 * static_cast<double>(i % 20) + 0.01 * static_cast<double>(i % 7)));
    data.values.push_back(static_cast<float>(0.01 * static_cast<double>(i % 11)));
  }
  for (const method how : {method::plus_plus, method::parallel}) {
    std::size_t found = 0;
    for (std::uint64_t trial = 0; trial < 10; ++trial) {
      std::set<int> clusters;
      for (const auto& point : points_of(seed(how, data, {20, trial, 0}), 2)) {
        clusters.insert(static_cast<int>(std::lround(point[0] / 1000)));
      }
      found += clusters.size();
    }
    EXPECT_GE(found, 196u);
  }
}

TEST(Seeding, WorksAtTheEndsOfFloat32) {
  for (const double scale : {1e37, 1e-25}) {
    auto data = clouds<float>(600, 2, 2, 40, 0, 3);
    for (float& value : data.values) value = static_cast<float>(value / 45 * scale);
    for (const method how : {method::plus_plus, method::parallel}) {
      const auto points = points_of(seed(how, data, {2, 9, 0}), 2);
      double apart = 0;
      for (std::size_t j = 0; j < 2; ++j) apart = std::max(apart, std::abs(points[0][j] - points[1][j]));
      EXPECT_GT(apart, 0.5 * scale) << "one row of each cluster";
    }
  }
}

// Rows × columns × clusters decide alone whether a seeding tells of its steps.
TEST(Seeding, SaysHowFarItIsWhereItTakesAWhile) {
  const auto reports = [](method how, std::size_t rows, std::size_t clusters) {
    const auto data = clouds<float>(rows, 2, 9, 5);
    const shoal::view_source<float> source(data.view());
    const auto workers = shoal::make_threads(2);
    std::vector<shoal::progress> seen;
    const shoal::fold_context context{
        workers.get(), 0, {}, nullptr, [&](const shoal::progress& now) { seen.push_back(now); }};
    const shoal::data_summary summary = shoal::check_data<float>(context, source, nullptr);
    const shoal::weighted_rows<float> all{&source, nullptr, 1};
    if (how == method::plus_plus) shoal::seed_plus_plus(context, all, summary, {clusters, 3, 0, 1});
    if (how == method::parallel) shoal::seed_parallel(context, all, summary, {clusters, 3, 0, 1});
    return seen;
  };
  const std::vector<shoal::progress> steps = reports(method::plus_plus, 1 << 19, 129);
  ASSERT_EQ(steps.size(), 128u);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].phase, "seeding");
    EXPECT_EQ(steps[i].step, i + 2);
    EXPECT_EQ(steps[i].steps, 129u);
    EXPECT_TRUE(std::isnan(steps[i].objective));
  }
  const std::vector<shoal::progress> rounds = reports(method::parallel, 1 << 19, 129);
  ASSERT_EQ(rounds.size(), 6u);
  EXPECT_EQ(rounds.back().step, rounds.back().steps);
  EXPECT_TRUE(reports(method::plus_plus, 1 << 12, 129).empty());
}

// By the time that is waited for the winners have arrived, and few more, whatever share of the rows they are.
TEST(Seeding, KnowsWhenEnoughRowsHaveArrived) {
  constexpr std::size_t rows = 20'011;
  for (const double weight : {1.0, 0.003, 250.0}) {
    for (const std::size_t winners : {1ul, 2ul, 100ul, 2000ul, 10'000ul, 17'000ul, 19'000ul}) {
      const double enough = shoal::enough_runners(winners);
      const double latest = shoal::time_of_arrivals(enough, rows, weight);
      std::size_t arrived = 0;
      for (std::size_t row = 0; row < rows; ++row) {
        arrived += -std::log(shoal::random::uniform_at(7, winners, row)) / weight <= latest ? 1 : 0;
      }
      EXPECT_GE(arrived, winners) << winners << " of rows of weight " << weight;
      EXPECT_LE(static_cast<double>(arrived), enough + 8 * std::sqrt(enough)) << winners << " of weight " << weight;
    }
    EXPECT_TRUE(std::isfinite(shoal::time_of_arrivals(2.0 * rows, rows, weight)));
  }
}

}  // namespace
