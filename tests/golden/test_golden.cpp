// Fits of published data from fixed starts against what scikit-learn finds (make_golden.py), iteration by iteration.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <shoal/gmm/fit.hpp>
#include <shoal/io/io.hpp>
#include <shoal/kmeans/fit.hpp>

#include "../cuda_devices.hpp"
#include "../shared_data.hpp"

namespace {

using nlohmann::json;

// Programs that were packed for another machine find the project's files where SHOAL_SOURCE says.
std::filesystem::path source_folder() {
  if (const char* named = std::getenv("SHOAL_SOURCE")) return named;
  return SHOAL_SOURCE_DIR;
}

json facts(const char* file) {
  std::ifstream stream(source_folder() / "tests" / "golden" / file);
  return json::parse(stream).at("facts");
}

// The rows of one fact: every so manyth row of a file, seen through a view whose stride skips the others.
template <class Scalar>
struct data_set {
  explicit data_set(const json& fact) {
    const std::size_t columns = fact.at("columns");
    for (std::size_t j = 0; j < columns; ++j) options.columns.push_back(std::to_string(j));
    const auto path = shared_data::folder() / fact.at("file").get<std::string>();
    opened = shoal::open_rows<Scalar>(path.string(), options);
    const shoal::matrix_view<const Scalar> all = opened.rows->read(0, opened.rows->rows(), buffer);
    view = {all.data(), fact.at("rows"), columns, all.row_stride() * fact.at("every").get<std::size_t>()};
    EXPECT_EQ((all.rows() - 1) / fact.at("every").get<std::size_t>() + 1, view.rows());
  }
  shoal::read_options options;
  shoal::opened_rows<Scalar> opened;
  shoal::aligned_buffer<Scalar> buffer;
  shoal::matrix_view<const Scalar> view;
};

void expect_relative(double got, double expected, double tolerance, const std::string& where) {
  EXPECT_LE(std::abs(got - expected), tolerance * std::abs(expected))
      << where << ": " << got << " against " << expected << ", relative difference "
      << std::abs(got - expected) / std::abs(expected);
}

shoal::gmm::covariance_type type_named(const std::string& name) {
  if (name == "full") return shoal::gmm::covariance_type::full;
  if (name == "tied") return shoal::gmm::covariance_type::tied;
  if (name == "diag") return shoal::gmm::covariance_type::diag;
  return shoal::gmm::covariance_type::spherical;
}

// Means from rows, uniform weights and the fact's variances, in the shape of its type.
shoal::gmm::model start_of(const json& fact, const shoal::matrix_view<const double>& rows) {
  const std::vector<double> variances = fact.at("start_variances");
  shoal::gmm::model start;
  start.covariance_type = type_named(fact.at("covariance_type"));
  start.components = fact.at("components");
  start.columns = rows.columns();
  start.weights.assign(start.components, 1.0 / static_cast<double>(start.components));
  for (const std::size_t row : fact.at("start_rows"))
    start.means.insert(start.means.end(), rows.row(row), rows.row(row) + rows.columns());
  const bool matrices = start.covariance_type == shoal::gmm::covariance_type::full ||
                        start.covariance_type == shoal::gmm::covariance_type::tied;
  const std::size_t repeats = start.covariance_type == shoal::gmm::covariance_type::tied ? 1 : start.components;
  for (std::size_t k = 0; k < repeats; ++k) {
    if (start.covariance_type == shoal::gmm::covariance_type::spherical) {
      start.covariances.push_back(variances.front());
      continue;
    }
    for (std::size_t i = 0; i < rows.columns(); ++i)
      for (std::size_t j = 0; j < rows.columns(); ++j)
        if (i == j || matrices) start.covariances.push_back(i == j ? variances[i] : 0.0);
  }
  return start;
}

template <class Scalar>
void compare_gmm(double tolerance, const shoal::device_choice& device = {}) {
  SHOAL_NEEDS_DATA();
  for (const json& fact : facts("gmm.json")) {
    const std::string name = fact.at("name").get<std::string>() + ", " + fact.at("covariance_type").get<std::string>();
    const data_set<Scalar> data(fact);
    const data_set<double> exact(fact);
    const std::vector<double> history = fact.at("history");
    shoal::gmm::options options;
    options.start = start_of(fact, exact.view);
    options.components = options.start.components;
    options.covariance_type = options.start.covariance_type;
    options.init = shoal::gmm::initialization::model;
    options.max_iterations = history.size();
    options.tolerance = 0;
    options.regularization = fact.at("regularization");
    options.device = device;
    const shoal::gmm::fit_result fitted = shoal::gmm::fit(data.view, options);
    ASSERT_EQ(fitted.history.size(), history.size()) << name;
    for (std::size_t i = 0; i < history.size(); ++i)
      expect_relative(fitted.history[i], history[i], tolerance, name + ", iteration " + std::to_string(i));
    expect_relative(fitted.mean_log_likelihood, fact.at("mean_log_likelihood"), tolerance, name);
  }
}

template <class Scalar>
void compare_kmeans(double tolerance, const shoal::device_choice& device = {}) {
  SHOAL_NEEDS_DATA();
  for (const json& fact : facts("kmeans.json")) {
    const data_set<Scalar> data(fact);
    const std::vector<double> inertia = fact.at("inertia");
    shoal::kmeans::options options;
    options.clusters = fact.at("clusters");
    options.init = shoal::kmeans::seeding::centroids;
    for (const json& centroid : fact.at("centroids"))
      for (const double value : centroid) options.centroids.push_back(value);
    options.tolerance = 0;
    options.device = device;
    for (std::size_t i = 0; i < inertia.size(); ++i) {
      options.max_iterations = i + 1;
      const shoal::kmeans::fit_result fitted = shoal::kmeans::fit(data.view, options);
      expect_relative(fitted.inertia, inertia[i], tolerance,
                      fact.at("name").get<std::string>() + ", " + std::to_string(i + 1) + " iterations");
    }
  }
}

// The tolerances and their reasons are in docs/tolerances.md.
TEST(Golden, MixturesInFloat64) { compare_gmm<double>(1e-10); }
TEST(Golden, MixturesInFloat32) { compare_gmm<float>(1e-5); }
TEST(Golden, KmeansInFloat64) { compare_kmeans<double>(1e-12); }
TEST(Golden, KmeansInFloat32) { compare_kmeans<float>(1e-6); }

class GoldenOnCuda : public cuda_devices::on_one_device {
 protected:
  shoal::device_choice device_{{0}, 0};
};
TEST_F(GoldenOnCuda, MixturesInFloat64) { compare_gmm<double>(1e-10, device_); }
TEST_F(GoldenOnCuda, MixturesInFloat32) { compare_gmm<float>(1e-5, device_); }
TEST_F(GoldenOnCuda, KmeansInFloat64) { compare_kmeans<double>(1e-12, device_); }
TEST_F(GoldenOnCuda, KmeansInFloat32) { compare_kmeans<float>(1e-6, device_); }

}  // namespace
