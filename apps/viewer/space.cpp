#include "viewer/space.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <Eigen/Eigenvalues>

#include <shoal/core/error.hpp>

#include "report/cloud.hpp"
#include "report/text.hpp"

namespace shoal::viewer {
namespace {

std::vector<double> unit(std::size_t columns, std::size_t column) {
  std::vector<double> direction(columns, 0);
  direction[column] = 1;
  return direction;
}

space space_of_columns(const report::cloud& data, const std::vector<std::size_t>& chosen) {
  const std::size_t columns = data.rows.columns();
  space made;
  made.origin.assign(columns, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    const bool shown = i < chosen.size();
    made.names[i] = shown ? report::shorten(report::column_name(data, chosen[i]), 40) : std::string();
    made.directions[i] = shown ? unit(columns, chosen[i]) : std::vector<double>(columns, 0);
  }
  return made;
}

struct moments {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
};

using row_vector = Eigen::Map<const Eigen::VectorXd>;

bool is_finite(const double* values, std::size_t count) {
  return std::all_of(values, values + count, [](double value) { return std::isfinite(value); });
}

std::optional<moments> moments_of_shapes(const report::cloud& data) {
  const auto d = static_cast<Eigen::Index>(data.rows.columns());
  moments total{Eigen::VectorXd::Zero(d), Eigen::MatrixXd::Zero(d, d)};
  double weight = 0;
  for (const report::group_shape& shape : data.shapes) {
    if (shape.covariance.empty()) return std::nullopt;
    total.mean += shape.weight * row_vector(shape.mean.data(), d);
    weight += shape.weight;
  }
  if (!(weight > 0)) return std::nullopt;
  total.mean /= weight;
  for (const report::group_shape& shape : data.shapes) {
    const Eigen::VectorXd apart = row_vector(shape.mean.data(), d) - total.mean;
    total.covariance += shape.weight / weight *
                        (Eigen::Map<const Eigen::MatrixXd>(shape.covariance.data(), d, d) + apart * apart.transpose());
  }
  return total;
}

// Of the rows, or of the means where there are no rows.
moments moments_of_rows(const report::cloud& data) {
  const std::size_t columns = data.rows.columns();
  const auto d = static_cast<Eigen::Index>(columns);
  std::vector<const double*> rows;
  for (std::size_t i = 0; i < data.rows.rows(); ++i)
    if (is_finite(data.rows.row(i), columns)) rows.push_back(data.rows.row(i));
  if (rows.empty())
    for (const report::group_shape& shape : data.shapes) rows.push_back(shape.mean.data());
  moments total{Eigen::VectorXd::Zero(d), Eigen::MatrixXd::Zero(d, d)};
  if (rows.empty()) return total;
  const double share = 1.0 / static_cast<double>(rows.size());
  for (const double* row : rows) total.mean += share * row_vector(row, d);
  for (const double* row : rows) {
    const Eigen::VectorXd apart = row_vector(row, d) - total.mean;
    total.covariance.selfadjointView<Eigen::Lower>().rankUpdate(apart, share);
  }
  total.covariance = Eigen::MatrixXd(total.covariance.selfadjointView<Eigen::Lower>());
  return total;
}

space principal_space(const report::cloud& data) {
  std::optional<moments> known = moments_of_shapes(data);
  const moments total = known ? *known : moments_of_rows(data);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(total.covariance);
  const auto d = static_cast<Eigen::Index>(data.rows.columns());
  const double variance = total.covariance.trace();
  space made;
  made.one_scale = true;
  made.origin.assign(total.mean.data(), total.mean.data() + d);
  for (Eigen::Index i = 0; i < 3; ++i) {
    made.directions[static_cast<std::size_t>(i)].assign(static_cast<std::size_t>(d), 0);
    if (i >= d) continue;
    Eigen::VectorXd direction = solver.eigenvectors().col(d - 1 - i);
    Eigen::Index greatest = 0;
    direction.cwiseAbs().maxCoeff(&greatest);
    if (direction(greatest) < 0) direction *= -1;
    made.directions[static_cast<std::size_t>(i)].assign(direction.data(), direction.data() + d);
    const double share = variance > 0 ? std::max(0.0, solver.eigenvalues()(d - 1 - i)) / variance : 0;
    made.names[static_cast<std::size_t>(i)] = fmt::format("principal axis {} ({})", i + 1, report::percent(share));
  }
  return made;
}

std::size_t column_named(const report::cloud& data, const std::string& word) {
  const auto& names = data.column_names;
  const auto named = std::find(names.begin(), names.end(), word);
  if (named != names.end()) return static_cast<std::size_t>(named - names.begin());
  std::size_t number = 0;
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (fault == std::errc() && end == word.data() + word.size() && number < data.rows.columns()) return number;
  throw bad_argument(
      fmt::format("the model has no column '{}'; give names, or numbers below {}", word, data.rows.columns()));
}

}  // namespace

std::size_t space::dimensions() const {
  return static_cast<std::size_t>(std::count_if(names.begin(), names.end(), [](auto& name) { return !name.empty(); }));
}

space choose_space(const report::cloud& data, const std::vector<std::string>& asked) {
  const std::size_t columns = data.rows.columns();
  if (asked == std::vector<std::string>{"principal"} || (asked.empty() && columns > 3)) return principal_space(data);
  if (asked.size() > 3) {
    throw bad_argument(fmt::format("{} axes were asked for; three at most can be shown", asked.size()));
  }
  std::vector<std::size_t> chosen;
  for (const std::string& word : asked) chosen.push_back(column_named(data, word));
  for (std::size_t i = 0; asked.empty() && i < columns; ++i) chosen.push_back(i);
  return space_of_columns(data, chosen);
}

projected project(const report::cloud& data, const space& onto) {
  const std::size_t columns = data.rows.columns();
  const auto along = [&](const double* row, std::size_t i) {
    double sum = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      // A column that counts for nothing may hold anything.
      if (onto.directions[i][j] != 0) sum += (row[j] - onto.origin[j]) * onto.directions[i][j];
    }
    return sum;
  };
  projected made;
  made.rows.reserve(3 * data.rows.rows());
  for (std::size_t r = 0; r < data.rows.rows(); ++r)
    for (std::size_t i = 0; i < 3; ++i) made.rows.push_back(along(data.rows.row(r), i));
  made.cloud = data;
  made.cloud.rows = {made.rows.data(), data.rows.rows(), 3};
  made.cloud.column_names.assign(onto.names.begin(), onto.names.end());
  for (report::group_shape& shape : made.cloud.shapes) {
    std::vector<double> mean, covariance;
    for (std::size_t i = 0; i < 3; ++i) mean.push_back(along(shape.mean.data(), i));
    for (std::size_t i = 0; i < 3 && !shape.covariance.empty(); ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        double sum = 0;
        for (std::size_t a = 0; a < columns; ++a) {
          if (onto.directions[i][a] == 0) continue;
          for (std::size_t b = 0; b < columns; ++b)
            sum += onto.directions[i][a] * onto.directions[j][b] * shape.covariance[a * columns + b];
        }
        covariance.push_back(sum);
      }
    }
    shape.mean = std::move(mean);
    shape.covariance = std::move(covariance);
  }
  return made;
}

}  // namespace shoal::viewer
