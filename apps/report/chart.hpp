// The charts of a report. Each takes plain data and gives a drawing; what is not finite is left out of it, and the
// drawing's note says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <shoal/core/matrix_view.hpp>

#include "report/picture.hpp"

namespace shoal::report {

/// One line. Points whose x or y is not finite break it.
struct line_series {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;  ///< as many as x
  int colour = 0;
  bool dashed = false;
  bool mark_least = false;          ///< a ring on the least y, named by line_chart::mark_name and its x
  std::vector<double> errors = {};  ///< as many as x, drawn as bars of ±error about y; empty: none
};

struct line_chart {
  std::string title;
  std::string description;
  std::string x_label;
  std::string y_label;
  std::vector<line_series> series;
  bool whole_x = false;   ///< ticks at whole numbers only
  std::string mark_name;  ///< "K = "
};

/// Throws bad_argument when a series has not as many x as y.
picture draw(const line_chart& chart);

struct bar_series {
  std::string name;
  std::vector<double> values;  ///< ≥ 0, one for each name
  int colour = 0;
};

struct bar_chart {
  std::string title;
  std::string description;
  std::string x_label;
  std::string y_label;
  std::vector<std::string> names;
  std::vector<bar_series> series;  ///< a single series is coloured by bar
};

/// Draws at most 40 names, the first ones; the note says when there were more. Throws bad_argument when a series has
/// not one value for each name.
picture draw(const bar_chart& chart);

/// One group of a cloud: a mixture's component or a k-means cluster.
struct group_shape {
  double weight = 0;
  std::vector<double> mean;        ///< [columns]
  std::vector<double> covariance;  ///< [columns][columns], or empty: only the mean is drawn
};

/// Rows, the group of each, and the groups' shapes.
struct cloud {
  matrix_view<const double> rows;
  std::span<const std::int32_t> labels;   ///< [rows] in [0, groups), or empty: one colour
  std::vector<group_shape> shapes;        ///< may be empty
  std::vector<std::string> group_names;   ///< by label, "" for no legend entry; empty: numbers after `group_word`
  std::string group_word = "component";   ///< "component", "cluster"
  std::string mean_word = "mean";         ///< "mean", "centroid"
  std::vector<std::string> column_names;  ///< [columns], or empty: column 0, column 1, …
};

/// Two columns against each other: dots coloured by label, each group's mean, and its contours at Mahalanobis distance
/// 1 and 2 (39 % and 86 % of a Gaussian in the plane). Draws every row it is given. Throws bad_argument for a column
/// that is not there, labels or shapes of another size.
picture draw_scatter(const cloud& data, std::size_t x_column, std::size_t y_column, std::string title);

/// Every pair of the first `columns` ≤ 5 columns: dots below the diagonal, each column's density on it, contours above
/// it (those of the marginals: the ellipses are the shadows of the ellipsoids). Draws at most 1,500 rows a pair, chosen
/// by subsample(); the note says so.
picture draw_scatter_matrix(const cloud& data, std::size_t columns, std::string title);

/// The histogram of one column as a density, with each group's weighted density and their sum; means alone when the
/// shapes have no covariance.
picture draw_histogram(const cloud& data, std::size_t column, std::string title);

/// The right one of the three for so many columns.
picture draw_cloud(const cloud& data, std::string title);

}  // namespace shoal::report
