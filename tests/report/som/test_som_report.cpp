// The page of a map: self-contained, escaped, and right about the fit that it shows.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>

#include "../well_formed.hpp"
#include "report/som/report.hpp"

namespace shoal::report {
namespace {

using tests::occurrences;
using tests::well_formed;

const std::string evil = "</style><script>alert('1')</script> & \xC3\x28";

// Images are part of the page; nothing else is named by a reference.
void expect_self_contained(const std::string& html) {
  EXPECT_EQ(well_formed(html, true), "");
  EXPECT_EQ(occurrences(html, "href="), occurrences(html, "href=\"data:image/png;base64,"));
  for (const std::string_view wrong : {"<script", "src=", "url(", "@import", "http:", "https:", " id="})
    EXPECT_EQ(html.find(wrong), std::string::npos) << wrong;
}

// A map of given size whose units have their own numbers as weights.
struct numbered_map {
  som::fit_result fit;
  map_fit_data data;

  numbered_map(std::size_t width, std::size_t height, som::lattice lattice) {
    som::model& map = fit.model;
    map.width = width;
    map.height = height;
    map.columns = 2;
    map.lattice = lattice;
    const std::size_t units = map.units();
    for (std::size_t u = 0; u < units; ++u) {
      map.codebook.push_back(static_cast<double>(u));
      map.codebook.push_back(-static_cast<double>(u));
      fit.quality.hits.push_back(static_cast<double>(u % 3));
      data.u_matrix.push_back(0.5 + static_cast<double>(u % 7));
    }
    fit.quality.quantization_error = 0.34375;
    fit.quality.topographic_error = 0.125;
    fit.history = {3, 2, 1, 0.34375};
    fit.epochs = 4;
    fit.rows = 1234;
    fit.total_weight = 1234;
    fit.loop_seconds = 0.008;
    fit.loop_epochs = 4;
    data.name = "folder/numbers.csv";
  }
};

TEST(som_report, shows_the_fit_on_each_lattice) {
  for (const auto lattice : {som::lattice::rectangular, som::lattice::hexagonal}) {
    const numbered_map numbered(4, 3, lattice);
    const std::string html = fit_page(numbered.fit, numbered.data).html();
    expect_self_contained(html);
    for (const char* part : {"Self-organizing map of numbers.csv", "4 × 3 units", "1,234", "0.34375", "12.5\u00A0%",
                             "U-matrix", "mean euclidean distance to the neighbours", ">rows</text>",
                             "Component planes", ">column 1</text>", "epoch</text>", "the data&#39;s units"}) {
      EXPECT_NE(html.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(html.find("Purity"), std::string::npos);
    EXPECT_NE(html.find(lattice == som::lattice::hexagonal ? "hexagonal" : "rectangular"), std::string::npos);
    EXPECT_EQ(html, fit_page(numbered.fit, numbered.data).html());
  }
}

TEST(som_report, shows_labels_and_their_purity) {
  numbered_map numbered(3, 2, som::lattice::hexagonal);
  numbered.data.unit_labels = som::unit_labels{{0, 0, 1, -1, 1, 1}, {1, 0.5, 1, 0, 1, 1}, 0.9};
  numbered.data.label_names = {evil, "b"};
  const std::vector<std::int32_t> units = {0, 1, 1, 2, 4, 5};
  const std::vector<std::int32_t> given = {0, 0, 1, 1, 1, 1};
  numbered.data.rows_by_label = count_rows_by_label(*numbered.data.unit_labels, units.data(), given, 2);
  EXPECT_EQ(numbered.data.rows_by_label[0].rows, 2u);
  EXPECT_EQ(numbered.data.rows_by_label[0].rows_at_home, 2u);
  EXPECT_EQ(numbered.data.rows_by_label[0].units, 2u);
  EXPECT_EQ(numbered.data.rows_by_label[1].rows, 4u);
  EXPECT_EQ(numbered.data.rows_by_label[1].rows_at_home, 3u);
  EXPECT_EQ(numbered.data.rows_by_label[1].units, 3u);
  numbered.data.options = {{evil, evil}};
  numbered.fit.model.column_names = {evil, "y"};
  const std::string html = fit_page(numbered.fit, numbered.data).html();
  expect_self_contained(html);
  EXPECT_NE(html.find("90.0\u00A0%"), std::string::npos);
  EXPECT_NE(html.find("75.0\u00A0%"), std::string::npos) << "three of four rows of b";
  EXPECT_NE(html.find("1 unit without rows left blank."), std::string::npos);
}

TEST(som_report, stays_light_for_a_large_map) {
  for (const auto lattice : {som::lattice::rectangular, som::lattice::hexagonal}) {
    const numbered_map numbered(200, 200, lattice);
    const std::string html = fit_page(numbered.fit, numbered.data).html();
    expect_self_contained(html);
    EXPECT_LT(html.size(), 400000u);
    EXPECT_EQ(occurrences(html, "<image "), 4u) << "U-matrix, hits and two planes";
    EXPECT_LT(occurrences(html, "<"), 1500u);
  }
}

TEST(som_report, takes_one_unit_and_no_epoch) {
  numbered_map numbered(1, 1, som::lattice::rectangular);
  numbered.fit.history.clear();
  numbered.fit.loop_epochs = 0;
  numbered.fit.total_weight = 99.5;
  const std::string html = fit_page(numbered.fit, numbered.data).html();
  expect_self_contained(html);
  EXPECT_NE(html.find("0.5 everywhere"), std::string::npos);
}

TEST(som_report, refuses_what_does_not_fit) {
  numbered_map numbered(3, 2, som::lattice::rectangular);
  numbered.data.u_matrix.pop_back();
  EXPECT_THROW(fit_page(numbered.fit, numbered.data), bad_argument);
  numbered = numbered_map(3, 2, som::lattice::rectangular);
  numbered.fit.model.codebook.pop_back();
  EXPECT_THROW(fit_page(numbered.fit, numbered.data), bad_argument);
  numbered = numbered_map(3, 2, som::lattice::rectangular);
  numbered.data.unit_labels = som::unit_labels{{0}, {1}, 1};
  EXPECT_THROW(fit_page(numbered.fit, numbered.data), bad_argument);
  const som::unit_labels labels{{0, -1}, {1, 0}, 1};
  const std::vector<std::int32_t> units = {0, 2};
  const std::vector<std::int32_t> given = {0, 1};
  EXPECT_THROW(count_rows_by_label(labels, units.data(), given, 2), bad_argument) << "there is no unit 2";
  EXPECT_THROW(count_rows_by_label(labels, given.data(), given, 1), bad_argument) << "there is no label 1";
}

}  // namespace
}  // namespace shoal::report
