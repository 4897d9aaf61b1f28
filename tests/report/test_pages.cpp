// Whole pages: self-contained, escaped, and right about the fit they show.
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/io/io.hpp>

#include "report/gmm/report.hpp"
#include "report/kmeans/report.hpp"
#include "well_formed.hpp"

namespace shoal::report {
namespace {

using tests::occurrences;
using tests::well_formed;

const std::string evil = "</style><script>alert('1')</script> & \xC3\x28";

void expect_self_contained(const std::string& html) {
  EXPECT_EQ(well_formed(html, true), "");
  for (const std::string_view wrong : {"<script", "src=", "href=", "url(", "@import", "http:", "https:", " id="})
    EXPECT_EQ(html.find(wrong), std::string::npos) << wrong;
}

// Two groups of rows in d columns, 0 around −3 and 1 around 3, and the mixture they came from.
struct two_groups {
  std::vector<double> values;
  std::vector<std::int32_t> labels;
  gmm::fit_result fit;
  fit_data data;

  explicit two_groups(std::size_t columns, gmm::covariance_type type = gmm::covariance_type::full) {
    std::mt19937 engine(7);
    std::normal_distribution<double> normal;
    for (int i = 0; i < 300; ++i) {
      labels.push_back(i % 3 == 0 ? 0 : 1);
      for (std::size_t j = 0; j < columns; ++j) values.push_back((labels.back() == 0 ? -3 : 3) + normal(engine));
    }
    gmm::model& model = fit.model;
    model.components = 2;
    model.columns = columns;
    model.covariance_type = type;
    model.weights = {1.0 / 3, 2.0 / 3};
    model.means.assign(columns, -3);
    model.means.insert(model.means.end(), columns, 3);
    const std::size_t matrix = columns * columns;
    switch (type) {
      case gmm::covariance_type::full:
        model.covariances.assign(2 * matrix, 0.0);
        break;
      case gmm::covariance_type::tied:
        model.covariances.assign(matrix, 0.0);
        break;
      case gmm::covariance_type::diag:
        model.covariances.assign(2 * columns, 1.0);
        break;
      case gmm::covariance_type::spherical:
        model.covariances.assign(2, 1.0);
        break;
    }
    if (type == gmm::covariance_type::full || type == gmm::covariance_type::tied)
      for (std::size_t at = 0; at < model.covariances.size(); ++at)
        if (at % matrix % (columns + 1) == 0) model.covariances[at] = 1;
    fit.rows = 300;
    fit.total_weight = 300;
    fit.mean_log_likelihood = -3.4375;
    fit.history = {-5, -4, -3.5, -3.4375};
    fit.iterations = 4;
    fit.converged = true;
    fit.bic = 2100.5;
    fit.aic = 2060.25;
    fit.loop_seconds = 0.001;
    fit.loop_iterations = 8;  // those of another restart too
    data.name = "two groups";
    data.rows = {values.data(), labels.size(), columns};
    data.labels = labels;
  }
};

TEST(page, is_valid_and_escaped) {
  page out(evil, evil);
  out.section(evil);
  out.paragraph(evil);
  out.facts({{evil, evil}});
  out.tiles({{evil, evil}});
  out.add({evil, {evil, evil}, {{{evil, 0, 3}, {evil, std::numeric_limits<double>::quiet_NaN()}}}, evil});
  out.figure({evil, evil, evil, 10, 10, ""}, evil);
  out.part(evil, evil);
  expect_self_contained(out.html());
  EXPECT_EQ(occurrences(out.html(), "&lt;/style&gt;&lt;script&gt;"), 22u);
}

TEST(page, sections_rank_below_parts) {
  page plain("t", "");
  plain.section("one");
  EXPECT_NE(plain.html().find("<h2>one</h2>"), std::string::npos);
  page parted("t", "");
  parted.part("whole");
  parted.section("one");
  EXPECT_NE(parted.html().find("<h3>one</h3>"), std::string::npos);
}

TEST(page, is_written_whole) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "shoal_report_page.html";
  page out("written", "");
  out.paragraph("to a file");
  out.write(file.string());
  EXPECT_EQ(read_whole_file(file.string(), 1 << 20), out.html());
  std::filesystem::remove(file);
  EXPECT_THROW(out.write((std::filesystem::path(testing::TempDir()) / "no such folder" / "x.html").string()), io_error);
}

TEST(gmm_report, shows_the_fit_for_each_covariance_type_and_dimension) {
  using enum gmm::covariance_type;
  for (const auto type : {full, tied, diag, spherical})
    for (const std::size_t columns : {1, 2, 3, 7}) {
      const two_groups groups(columns, type);
      const std::string html = fit_page(groups.fit, groups.data).html();
      expect_self_contained(html);
      EXPECT_NE(html.find("−3.4375"), std::string::npos);
      EXPECT_NE(html.find("2100.5"), std::string::npos);
      EXPECT_NE(html.find("33.3\u00A0%"), std::string::npos);
      EXPECT_NE(html.find("Converged after 4 iterations."), std::string::npos);
      EXPECT_NE(html.find("2,400,000"), std::string::npos) << "300 rows, 8 times in a millisecond";
      EXPECT_EQ(html.find("Agreement with"), std::string::npos);
      EXPECT_EQ(html, fit_page(groups.fit, groups.data).html());
    }
}

TEST(gmm_report, component_covariance_of_each_type) {
  gmm::model model;
  model.components = 2;
  model.columns = 2;
  model.covariances = {1, 2, 2, 5, 6, 7, 7, 9};
  EXPECT_EQ(component_covariance(model, 1), (std::vector<double>{6, 7, 7, 9}));
  model.covariance_type = gmm::covariance_type::tied;
  model.covariances = {1, 2, 2, 5};
  EXPECT_EQ(component_covariance(model, 1), (std::vector<double>{1, 2, 2, 5}));
  model.covariance_type = gmm::covariance_type::diag;
  EXPECT_EQ(component_covariance(model, 1), (std::vector<double>{2, 0, 0, 5}));
  model.covariance_type = gmm::covariance_type::spherical;
  model.covariances = {3, 4};
  EXPECT_EQ(component_covariance(model, 1), (std::vector<double>{4, 0, 0, 4}));
}

TEST(gmm_report, shows_agreement_choice_and_options) {
  two_groups groups(2);
  std::vector<std::int32_t> given;
  for (const std::int32_t label : groups.labels) given.push_back(label == 0 ? 9 : 4);
  given[0] = 4;
  groups.data.given = given;
  groups.data.options = {{"seed", "0"}, {evil, evil}};
  groups.data.choices = {{1, -6, 3000, 2990}, {2, -3.4, 2100.5, 2060.25}, {3, -3.39, 2120, 2058}};
  const std::string html = fit_page(groups.fit, groups.data).html();
  expect_self_contained(html);
  const double index = metrics::adjusted_rand_index(metrics::contingency(groups.labels, given));
  EXPECT_LT(index, 1);
  EXPECT_NE(html.find("Adjusted Rand index 0.98"), std::string::npos) << index;
  EXPECT_NE(html.find(">K = 2</text>"), std::string::npos);
  EXPECT_NE(html.find(">K = 3</text>"), std::string::npos);
}

TEST(gmm_report, says_how_many_rows_are_drawn) {
  two_groups groups(2);
  groups.data.rows_in_all = 1000000;
  EXPECT_NE(fit_page(groups.fit, groups.data).html().find("A sample of 300 of the 1,000,000 rows"), std::string::npos);
}

TEST(gmm_report, takes_a_fit_without_rows_or_finite_figures) {
  two_groups groups(2);
  groups.data.rows = {nullptr, 0, 2};
  groups.data.labels = {};
  groups.fit.history.clear();
  groups.fit.mean_log_likelihood = std::numeric_limits<double>::quiet_NaN();
  groups.fit.loop_seconds = 0;
  groups.fit.loop_iterations = 0;
  groups.fit.iterations = 0;
  groups.fit.model.covariances[0] = std::numeric_limits<double>::infinity();
  expect_self_contained(fit_page(groups.fit, groups.data).html());
}

TEST(gmm_report, refuses_what_does_not_fit) {
  two_groups groups(2);
  two_groups other(3);
  EXPECT_THROW(fit_page(groups.fit, other.data), bad_argument);
  groups.fit.model.means.pop_back();
  EXPECT_THROW(fit_page(groups.fit, groups.data), bad_argument);
  const std::vector<std::int32_t> few(7, 0);
  other.data.given = few;
  EXPECT_THROW(fit_page(other.fit, other.data), bad_argument);
}

TEST(kmeans_report, shows_the_fit) {
  for (const std::size_t columns : {1, 2, 4}) {
    two_groups groups(columns);
    kmeans::fit_result fit;
    fit.model.clusters = 2;
    fit.model.columns = columns;
    fit.model.centroids = groups.fit.model.means;
    fit.inertia = 123.5;
    fit.history = {400, 130, 123.5};
    fit.iterations = 3;
    const std::string html = fit_page(fit, groups.data).html();
    expect_self_contained(html);
    EXPECT_NE(html.find("123.5"), std::string::npos);
    EXPECT_NE(html.find("Stopped after 3 iterations."), std::string::npos);
    EXPECT_NE(html.find("66.7\u00A0%"), std::string::npos);
    EXPECT_NE(html.find(">centroid</text>"), std::string::npos);
  }
}

TEST(match_groups, takes_each_label_once_largest_first) {
  // 0 shares 5 rows with 8 and 4 with 9; 1 shares 6 with 8: so 1 takes 8 and 0 takes 9.
  metrics::contingency_table counts;
  counts.first = {0, 1};
  counts.second = {8, 9};
  counts.counts = {5, 4, 6, 0};
  counts.rows = 15;
  EXPECT_EQ(match_groups(counts, 3), (std::vector<std::int32_t>{9, 8, -1}));
}

TEST(agreement_table, puts_the_matching_labels_on_the_diagonal) {
  metrics::contingency_table counts;
  counts.first = {0, 1};
  counts.second = {3, 4, 5};
  counts.counts = {1, 0, 9, 8, 2, 0};
  counts.rows = 20;
  const table out = agreement_table(counts, "component", {});
  EXPECT_EQ(out.headings, (std::vector<std::string>{"component", "5", "3", "4", "rows"}));
  EXPECT_EQ(out.rows[0][1].text, "9");
  EXPECT_DOUBLE_EQ(out.rows[0][1].shade, 0.9);
  EXPECT_EQ(out.rows[1][2].text, "8");
  EXPECT_EQ(out.rows[1][4].text, "10");
}

TEST(agreement_table, shows_the_largest_groups_of_many) {
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> second;
  for (std::int32_t i = 0; i < 2000; ++i) {
    first.push_back(i % 50);
    second.push_back(i % 3);
  }
  const table out = agreement_table(metrics::contingency(first, second), "component", {"a", "b"});
  EXPECT_EQ(out.rows.size(), 24u);
  EXPECT_EQ(out.headings, (std::vector<std::string>{"component", "a", "b", "2", "rows"}));
  EXPECT_NE(out.note.find("The largest 24 of 50 and 3 of 3 labels"), std::string::npos);
}

}  // namespace
}  // namespace shoal::report
