// Every index against scikit-learn 1.9.1 on the same labels and rows, and by hand.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/metrics/metrics.hpp>

namespace {

using namespace shoal::metrics;

// The congruence x ← 6364136223846793005·x + 1442695040888963407 that the peer was given too.
struct sample {
  static constexpr std::size_t count = 200;
  std::vector<std::int32_t> truth, found;
  std::vector<double> values;

  sample() {
    std::vector<std::int64_t> words;
    std::uint64_t x = 7;
    for (std::size_t n = 0; n < 5 * count; ++n) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      words.push_back(static_cast<std::int64_t>(x >> 33));
    }
    for (std::size_t i = 0; i < count; ++i) {
      truth.push_back(static_cast<std::int32_t>(words[i] % 4));
      const std::int64_t other = words[count + i];
      found.push_back(other % 3 != 0 ? truth[i] : static_cast<std::int32_t>(other / 3 % 5));
      for (std::size_t j = 0; j < 3; ++j) {
        values.push_back(static_cast<double>(words[2 * count + 3 * i + j] % 1000) / 100.0 +
                         (j == 0 ? 3 * truth[i] : 0));
      }
    }
  }

  shoal::matrix_view<const double> rows() const { return {values.data(), count, 3}; }
};

TEST(metrics, agreement_equals_scikit_learn) {
  const sample data;
  const contingency_table table = contingency(data.truth, data.found);
  EXPECT_NEAR(rand_index(table), 0.8277386934673366, 1e-12);
  EXPECT_NEAR(adjusted_rand_index(table), 0.5166888000919448, 1e-12);
  EXPECT_NEAR(mutual_information(table), 0.7018848900273111, 1e-12);
  EXPECT_NEAR(normalized_mutual_information(table), 0.47879422981407965, 1e-12);
  EXPECT_NEAR(normalized_mutual_information(table, mean_entropy::geometric), 0.47950789748990863, 1e-12);
  EXPECT_NEAR(normalized_mutual_information(table, mean_entropy::minimum), 0.5064132680146974, 1e-12);
  EXPECT_NEAR(normalized_mutual_information(table, mean_entropy::maximum), 0.45403198983427817, 1e-12);
  EXPECT_NEAR(adjusted_mutual_information(table), 0.46748312936793646, 1e-12);
  EXPECT_NEAR(adjusted_mutual_information(table, mean_entropy::maximum), 0.4428088798304581, 1e-12);
  EXPECT_NEAR(v_measure_of(table).homogeneity, 0.5064132680146974, 1e-12);
  EXPECT_NEAR(v_measure_of(table).completeness, 0.45403198983427817, 1e-12);
  EXPECT_NEAR(v_measure_of(table).v, 0.4787942298140796, 1e-12);
  EXPECT_NEAR(v_measure_of(table, 2).v, 0.4702453979734957, 1e-12);
  EXPECT_NEAR(fowlkes_mallows_index(table), 0.629472246208623, 1e-12);
}

TEST(metrics, separation_equals_scikit_learn) {
  const sample data;
  for (const std::size_t threads : {1, 3})
    EXPECT_NEAR(silhouette(data.rows(), data.truth, threads), -0.0019323088699168577, 1e-12);
  EXPECT_NEAR(davies_bouldin_index(data.rows(), data.truth), 3.38222188336631, 1e-12 * 3.38222188336631);
  EXPECT_NEAR(calinski_harabasz_index(data.rows(), data.truth), 34.66319132077967, 1e-12 * 34.66319132077967);
}

// Gives few rows at a time, and none of them twice from one memory.
class file_like final : public shoal::row_source<double> {
 public:
  explicit file_like(shoal::matrix_view<const double> rows) : rows_(rows) {}
  std::size_t rows() const override { return rows_.rows(); }
  std::size_t columns() const override { return rows_.columns(); }
  shoal::matrix_view<const double> read(std::size_t first, std::size_t count,
                                        shoal::aligned_buffer<double>& buffer) const override {
    most = std::max(most, count);
    buffer.grow(count * columns());
    for (std::size_t i = 0; i < count; ++i) std::copy_n(rows_.row(first + i), columns(), buffer.data() + i * columns());
    return {buffer.data(), count, columns()};
  }
  bool resident() const override { return false; }

  mutable std::size_t most = 0;

 private:
  shoal::matrix_view<const double> rows_;
};

// The mean of (b − a) / max(a, b), row by row as it is defined.
double silhouette_by_hand(const std::vector<double>& values, const std::vector<std::int32_t>& labels,
                          std::size_t groups) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<double> far(groups, 0.0), count(groups, 0.0);
    for (std::size_t j = 0; j < values.size(); ++j) {
      if (j == i) continue;
      far[static_cast<std::size_t>(labels[j])] += std::abs(values[i] - values[j]);
      ++count[static_cast<std::size_t>(labels[j])];
    }
    const auto own = static_cast<std::size_t>(labels[i]);
    double nearest = 1e300;
    for (std::size_t k = 0; k < groups; ++k)
      if (k != own) nearest = std::min(nearest, far[k] / count[k]);
    const double within = far[own] / count[own];
    sum += (nearest - within) / std::max(nearest, within);
  }
  return sum / static_cast<double>(values.size());
}

TEST(metrics, rows_of_a_file_are_read_piece_by_piece) {
  std::vector<double> values;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 5000; ++i) {
    labels.push_back(i * 7 % 3);
    values.push_back(labels.back() + 1e-3 * (i * 131 % 997));
  }
  const shoal::matrix_view<const double> rows(values.data(), values.size(), 1);
  const file_like file(rows);
  const shoal::metrics::labelled_rows data{&file, [&](std::size_t first, std::span<std::int32_t> out) {
                                             std::copy_n(labels.begin() + static_cast<std::ptrdiff_t>(first),
                                                         out.size(), out.begin());
                                           }};
  EXPECT_NEAR(silhouette(data, 2), silhouette_by_hand(values, labels, 3), 1e-12);
  EXPECT_EQ(silhouette(data, 1), silhouette(rows, labels, 2));
  EXPECT_EQ(davies_bouldin_index(data), davies_bouldin_index(rows, labels));
  EXPECT_EQ(calinski_harabasz_index(data), calinski_harabasz_index(rows, labels));
  const group_means groups = means_of_groups(data);
  EXPECT_EQ(groups.labels, (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(simplified_silhouette(data, {groups.means.data(), 3, 1}),
            simplified_silhouette(rows, labels, {groups.means.data(), 3, 1}));
  EXPECT_LE(file.most, 4096u);
}

TEST(metrics, labellings_are_counted_piece_by_piece) {
  const sample data;
  contingency_table table;
  for (std::size_t first = 0; first < data.truth.size(); first += 7) {
    const std::size_t count = std::min<std::size_t>(7, data.truth.size() - first);
    add(table, std::span(data.truth).subspan(first, count), std::span(data.found).subspan(first, count));
  }
  const contingency_table whole = contingency(data.truth, data.found);
  EXPECT_EQ(table.counts, whole.counts);
  EXPECT_EQ(table.first, whole.first);
  EXPECT_EQ(table.second, whole.second);
  EXPECT_EQ(table.rows, whole.rows);
}

TEST(metrics, equal_cuts_agree_fully_and_single_groups_too) {
  const std::vector<std::int32_t> one = {0, 0, 1, 2}, renamed = {7, 7, -1, 3}, single = {4, 4, 4, 4};
  for (const contingency_table& table : {contingency(one, renamed), contingency(single, single)}) {
    EXPECT_EQ(rand_index(table), 1);
    EXPECT_NEAR(normalized_mutual_information(table), 1, 1e-15);
    EXPECT_NEAR(adjusted_mutual_information(table), 1, 1e-15);
    EXPECT_NEAR(v_measure_of(table).v, 1, 1e-15);
    EXPECT_NEAR(fowlkes_mallows_index(table), 1, 1e-15);
    EXPECT_EQ(match_labels(table).accuracy, 1);
  }
  EXPECT_NEAR(normalized_mutual_information(contingency(one, single)), 0, 1e-15);
  EXPECT_EQ(rand_index(contingency({}, {})), 1);
}

TEST(metrics, matched_accuracy_by_hand) {
  const contingency_table table =
      contingency(std::vector<std::int32_t>{0, 0, 0, 1, 1, 1, 2}, std::vector<std::int32_t>{5, 5, 6, 5, 5, 6, 8});
  const matched_labels found = match_labels(table);
  EXPECT_NEAR(found.accuracy, 4.0 / 7, 1e-15);  // 0 with 5 (2 rows) and 1 with 6 (1), or the other way round; 2 with 8
  EXPECT_EQ(found.match[2], 2u);
}

TEST(metrics, centroids_by_hand) {
  const std::vector<double> three = {0, 0, 10, 0, 0, 10}, crowded = {0, 0, 0.5, 0, 0, 10};
  const shoal::matrix_view<const double> one(three.data(), 3, 2), other(crowded.data(), 3, 2);
  EXPECT_EQ(centroid_index(one, one), 0u);
  EXPECT_EQ(centroid_index(one, other), 1u);
  EXPECT_EQ(centroid_index(other, one), 1u);
  const std::vector<double> rows = {1, 0, 9, 0};
  const std::vector<std::int32_t> labels = {0, 1};
  EXPECT_NEAR(simplified_silhouette({rows.data(), 2, 2}, labels, {three.data(), 2, 2}), 8.0 / 9, 1e-15);
}

TEST(metrics, refuse_what_does_not_fit) {
  const sample data;
  const std::vector<std::int32_t> few = {1, 2};
  EXPECT_THROW(silhouette(data.rows(), few), shoal::bad_argument);
  EXPECT_THROW(davies_bouldin_index(data.rows(), std::vector<std::int32_t>(200, 1)), shoal::bad_argument);
  EXPECT_THROW(simplified_silhouette(data.rows(), data.truth, {data.values.data(), 2, 3}), shoal::bad_argument);
}

}  // namespace
