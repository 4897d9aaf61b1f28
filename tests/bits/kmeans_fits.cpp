// k-means: every seeding and stop rule, few and many columns and clusters.
#include <shoal/kmeans/choose_rows.hpp>
#include <shoal/kmeans/distances.hpp>
#include <shoal/kmeans/fit.hpp>
#include <shoal/kmeans/predict.hpp>
#include <shoal/kmeans/update.hpp>

#include "fits.hpp"
#include "hash.hpp"

namespace bits {
namespace {

namespace kmeans = shoal::kmeans;
using kmeans::seeding;

kmeans::options from(seeding init, std::size_t clusters, std::size_t iterations = 8) {
  kmeans::options options;
  options.clusters = clusters;
  options.init = init;
  options.max_iterations = iterations;
  options.tolerance = 0;
  options.seed = 7;
  return options;
}

kmeans::options until(kmeans::stop_rule stop, double tolerance, kmeans::options options) {
  options.stop = stop;
  options.tolerance = tolerance;
  options.max_iterations = 100;
  return options;
}

// Centroids of which the last lies where there are no rows, so that it is given the farthest one.
kmeans::options with_an_empty_cluster(std::size_t clusters, std::size_t columns) {
  kmeans::options options = from(seeding::centroids, clusters);
  for (std::size_t k = 0; k < clusters; ++k) {
    for (std::size_t j = 0; j < columns; ++j) {
      options.centroids.push_back(k + 1 == clusters ? 1000 : static_cast<double>((7 * k + 5 * j) % 23) - 11);
    }
  }
  return options;
}

template <class Scalar>
std::uint64_t hash_of(const shape& shape, kmeans::options options, const place& place) {
  const given_rows<Scalar> given(shape);
  options.threads = place.threads;
  options.memory_limit = host_memory<Scalar>(shape, place);
  options.device = device_of<Scalar>(shape, place, options.device.precision);
  const kmeans::fit_result fitted = kmeans::fit(given.rows(), options, given.weights());
  hash into;
  into.take(fitted.model.centroids).take(fitted.history).take(fitted.inertia).take(fitted.bic).take(fitted.aic);
  into.take(fitted.iterations).take(fitted.converged).take(fitted.relocated);
  into.take(fitted.cluster_weights).take(fitted.total_weight);

  std::vector<std::int32_t> labels(shape.rows);
  into.take(kmeans::predict(fitted.model, given.rows(), labels.data(), place.threads, options.memory_limit,
                            given.weights(), {}, options.device));
  return into.take(labels).value();
}

// Distances to the rows that k-means++ chooses, then steps on the rows as batches of them come.
template <class Scalar>
std::uint64_t hash_of_updates(const shape& shape, std::size_t clusters, const place& place) {
  const given_rows<Scalar> given(shape);
  kmeans::choice_options choice;
  choice.clusters = clusters;
  choice.seed = 3;
  choice.threads = place.threads;
  choice.device = place.device;
  hash into;
  kmeans::model model{clusters, shape.columns, {}, {}};
  for (const std::size_t row : kmeans::choose_rows(given.rows(), choice)) {
    into.take(row);
    const Scalar* values = &given.values()[row * shape.columns];
    model.centroids.insert(model.centroids.end(), values, values + shape.columns);
  }
  std::vector<Scalar> distances(shape.rows * clusters);
  kmeans::distances(model, given.rows(), distances.data(), place.threads, 0, {}, place.device);
  into.take(distances);

  std::vector<double> seen(clusters, 0.0);
  const std::size_t part = shape.rows / 3;
  std::vector<std::int32_t> labels(part);
  for (std::size_t first = 0; first + part <= shape.rows; first += part) {
    const shoal::view_source<Scalar> rows({&given.values()[first * shape.columns], part, shape.columns});
    into.take(kmeans::update(model, seen, rows, labels.data(), place.threads, 0, nullptr, {}, place.device));
    into.take(model.centroids).take(seen).take(labels);
  }
  return into.value();
}

}  // namespace

const add_fits added([]() -> std::vector<kept_fit> {
  std::vector<kept_fit> fits;
  const auto keep = [&]<class Scalar>(Scalar, const char* name, const shape& shape, const kmeans::options& options,
                                      runs_on where = runs_on::host_and_devices) {
    fits.push_back({std::string("k-means, ") + name, where,
                    [=](const place& place) { return hash_of<Scalar>(shape, options, place); }});
  };
  constexpr float f = 0;
  constexpr double d = 0;
  using enum seeding;
  using enum kmeans::stop_rule;

  keep(f, "k-means++, float, until it stops", {70'000, 3}, until(scikit_learn, 1e-4, from(plus_plus, 8)));
  keep(d, "k-means‖, double, until shifts are small", {20'011, 5}, until(relative_shift, 0.1, from(parallel, 20)));
  keep(f, "random rows, float, 129 columns", {4'099, 129}, from(random_rows, 9));
  keep(d, "random rows, double, 17 columns, weights", {9'001, 17, 20, true}, from(random_rows, 33));
  keep(d, "k-means++, double, 1 column, 300 clusters", {4'001, 1, 40}, from(plus_plus, 300));
  keep(f, "k-means‖, float, 2 columns, 257 clusters", {20'011, 2, 60}, from(parallel, 257));
  keep(f, "random rows, float, 16 columns, 1000 clusters", {9'001, 16, 300}, from(random_rows, 1000, 4));
  keep(d, "k-means++, double, 2 clusters until no label changes", {1'021, 4}, from(plus_plus, 2, 100));
  keep(f, "k-means++, float, weights, streamed", {30'011, 5, 6, true, true}, from(plus_plus, 20));
  keep(d, "k-means‖, double, streamed", {30'011, 3, 12, false, true}, from(parallel, 12));
  kmeans::options restarted = from(random_rows, 7);
  restarted.restarts = 3;
  keep(f, "random rows, float, three restarts", {9'001, 6}, restarted);
  keep(f, "centroids, float, an empty cluster", {20'011, 4}, with_an_empty_cluster(10, 4));
  kmeans::options rough = from(random_rows, 64);
  rough.device.precision = shoal::precision::bf16;
  keep(f, "random rows, float in bf16, 32 columns", {20'011, 32, 40}, rough, runs_on::devices);

  fits.push_back({"k-means, updates, float", runs_on::host_and_devices, [](const place& place) {
                    return hash_of_updates<float>({6'007, 5}, 10, place);
                  }});
  fits.push_back({"k-means, updates, double", runs_on::host_and_devices, [](const place& place) {
                    return hash_of_updates<double>({6'007, 9}, 6, place);
                  }});
  return fits;
});

}  // namespace bits
