// k-means for Python.
#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <shoal/core/error.hpp>
#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/kmeans.hpp>
#include <shoal/kmeans/options.hpp>

#include "module.hpp"
#include "rows.hpp"
#include "running.hpp"

namespace shoal::python {
namespace {

kmeans::seeding seeding_named(const std::string& name) {
  if (name == "k-means++") return kmeans::seeding::plus_plus;
  if (name == "k-means||") return kmeans::seeding::parallel;
  if (name == "random") return kmeans::seeding::random_rows;
  if (name == "centroids") return kmeans::seeding::centroids;
  throw bad_argument("init names no seeding");
}

kmeans::model model_from(const numbers& centroids) {
  if (centroids.ndim() != 2) throw bad_argument("centroids must be 2-D");
  return {centroids.shape(0), centroids.shape(1), copied(centroids), {}};
}

// The first row that equals each of the points, another one for each time that a point comes again while there is one.
template <class Scalar>
std::vector<std::int64_t> rows_that_equal(const row_source<Scalar>& rows, const std::vector<double>& points) {
  const std::size_t columns = rows.columns(), count = points.size() / columns;
  std::vector<std::string> bytes(count);
  std::unordered_multimap<std::string_view, std::size_t> wanted;
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<Scalar> point(columns);
    // Adding zero makes −0 the 0 that it equals.
    for (std::size_t j = 0; j < columns; ++j) point[j] = static_cast<Scalar>(points[k * columns + j]) + Scalar(0);
    bytes[k].assign(reinterpret_cast<const char*>(point.data()), columns * sizeof(Scalar));
    wanted.emplace(bytes[k], k);
  }
  std::vector<std::int64_t> found(count, -1);
  std::unordered_map<std::string_view, std::int64_t> last;  // for points that come more often than their row
  aligned_buffer<Scalar> buffer;
  std::vector<Scalar> row(columns);
  constexpr std::size_t piece = 4096;
  for (std::size_t first = 0; first < rows.rows() && !wanted.empty(); first += piece) {
    const auto read = rows.read(first, std::min(piece, rows.rows() - first), buffer);
    for (std::size_t i = 0; i < read.rows(); ++i) {
      for (std::size_t j = 0; j < columns; ++j) row[j] = read(i, j) + Scalar(0);
      const std::string_view key(reinterpret_cast<const char*>(row.data()), columns * sizeof(Scalar));
      const auto at = wanted.find(key);
      if (at == wanted.end()) continue;
      found[at->second] = static_cast<std::int64_t>(first + i);
      last[bytes[at->second]] = found[at->second];
      wanted.erase(at);
    }
  }
  for (const auto& [key, k] : wanted) found[k] = last.contains(key) ? last[key] : -1;
  return found;
}

}  // namespace

void bind_kmeans(nb::module_& module) {
  module.def(
      "kmeans_fit",
      [](const rows& data, std::size_t clusters, const std::string& init, nb::object centroids,
         std::size_t max_iterations, double tolerance, std::size_t restarts, std::uint64_t seed,
         const std::string& checkpoint, std::size_t threads, std::size_t memory_limit, const std::string& device,
         std::size_t device_memory, const std::string& products, bool brief, const output& labels,
         const nb::object& report) {
        const resources where{threads, memory_limit, device, device_memory, products, brief};
        kmeans::options options;
        options.clusters = clusters;
        options.init = seeding_named(init);
        if (!centroids.is_none()) options.centroids = copied(nb::cast<numbers>(centroids));
        options.max_iterations = max_iterations;
        options.tolerance = tolerance;
        options.restarts = restarts;
        options.seed = seed;
        options.checkpoint = checkpoint;
        options.threads = threads;
        options.memory_limit = memory_limit;
        options.device = where.choice();
        std::int32_t* const labels_at = pointer_of<std::int32_t>(labels, data.count());
        kmeans::fit_result result;
        run_with_python(report, brief, [&](const control& control) {
          result = data.visit([&]<class Scalar>(const row_source<Scalar>& source, const row_source<Scalar>* weights) {
            kmeans::check_options(options);
            const std::unique_ptr<executor> workers = make_executor(options.threads);
            const fold_context context{workers.get(), options.memory_limit, control.stop};
            const auto on =
                kmeans::make_backend<Scalar>(options.device, {context, &source, weights, !options.checkpoint.empty()});
            kmeans::fit_result fitted = kmeans::fit(*on, options, control);
            // Labels of the same rows, which are there and checked already.
            if (labels_at != nullptr) on->predict(fitted.model, labels_at);
            return fitted;
          });
        });
        nb::dict made;
        made["centroids"] = array_of(result.model.centroids, {result.model.clusters, result.model.columns});
        made["inertia"] = result.inertia;
        const std::size_t iterations = result.history.size();
        made["history"] = array_of(std::move(result.history), {iterations});
        made["iterations"] = result.iterations;
        made["converged"] = result.converged;
        made["relocated"] = result.relocated;
        made["cluster_weights"] = array_of(std::move(result.cluster_weights), {result.model.clusters});
        made["bic"] = result.bic;
        made["aic"] = result.aic;
        made["hardware"] = result.hardware;
        made["seconds"] = result.seconds;
        return made;
      },
      nb::arg("rows"), nb::kw_only(), nb::arg("clusters"), nb::arg("init"), nb::arg("centroids").none(),
      nb::arg("max_iterations"), nb::arg("tolerance"), nb::arg("restarts"), nb::arg("seed"), nb::arg("checkpoint"),
      nb::arg("threads"), nb::arg("memory_limit"), nb::arg("device"), nb::arg("device_memory"), nb::arg("products"),
      nb::arg("brief"), nb::arg("labels").none(), nb::arg("report").none(),
      "Fits centroids and writes the labels of the rows, unless None, into `labels` (int32).");

  module.def(
      "kmeans_predict",
      [](const rows& data, const numbers& centroids, std::size_t threads, std::size_t memory_limit,
         const std::string& device, std::size_t device_memory, const std::string& products, bool brief,
         const output& labels) {
        const resources where{threads, memory_limit, device, device_memory, products, brief};
        const kmeans::model model = model_from(centroids);
        std::int32_t* const labels_at = pointer_of<std::int32_t>(labels, data.count());
        double inertia = 0;
        run_with_python(nb::none(), brief, [&](const control& control) {
          inertia = data.visit([&]<class Scalar>(const row_source<Scalar>& source, const row_source<Scalar>* weights) {
            return kmeans::predict(model, source, labels_at, threads, memory_limit, weights, control, where.choice());
          });
        });
        return inertia;
      },
      nb::arg("rows"), nb::arg("centroids"), nb::kw_only(), nb::arg("threads"), nb::arg("memory_limit"),
      nb::arg("device"), nb::arg("device_memory"), nb::arg("products"), nb::arg("brief"), nb::arg("labels").none(),
      "Writes the nearest centroid of each row, unless `labels` is None; returns the inertia.");

  module.def(
      "kmeans_distances",
      [](const rows& data, const numbers& centroids, std::size_t threads, std::size_t memory_limit, bool brief,
         nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu> out) {
        const kmeans::model model = model_from(centroids);
        if (out.shape(0) != data.count() || out.shape(1) != model.clusters) {
          throw bad_argument("distances must be rows x clusters");
        }
        run_with_python(nb::none(), brief, [&](const control& control) {
          data.visit([&]<class Scalar>(const row_source<Scalar>& source, const row_source<Scalar>*) {
            if (out.dtype() != nb::dtype<Scalar>()) throw bad_argument("distances must be of the rows' scalar");
            kmeans::distances(model, source, static_cast<Scalar*>(out.data()), threads, memory_limit, control);
          });
        });
      },
      nb::arg("rows"), nb::arg("centroids"), nb::kw_only(), nb::arg("threads"), nb::arg("memory_limit"),
      nb::arg("brief"), nb::arg("out"), "Writes the distance of each row to every centroid.");

  module.def(
      "kmeans_update",
      [](const rows& data, const numbers& centroids, const numbers& seen, std::size_t threads, std::size_t memory_limit,
         bool brief, const output& labels) {
        kmeans::model model = model_from(centroids);
        std::vector<double> weights_seen = copied(seen);
        std::int32_t* const labels_at = pointer_of<std::int32_t>(labels, data.count());
        double inertia = 0;
        run_with_python(nb::none(), brief, [&](const control& control) {
          inertia = data.visit([&]<class Scalar>(const row_source<Scalar>& source, const row_source<Scalar>* weights) {
            return kmeans::update(model, weights_seen, source, labels_at, threads, memory_limit, weights, control);
          });
        });
        nb::dict made;
        made["centroids"] = array_of(model.centroids, {model.clusters, model.columns});
        made["seen"] = array_of(std::move(weights_seen), {model.clusters});
        made["inertia"] = inertia;
        return made;
      },
      nb::arg("rows"), nb::arg("centroids"), nb::arg("seen"), nb::kw_only(), nb::arg("threads"),
      nb::arg("memory_limit"), nb::arg("brief"), nb::arg("labels").none(),
      "One step of k-means on a batch; returns the centroids that it leads to.");

  module.def(
      "rows_that_equal",
      [](const rows& data, const numbers& points) {
        const std::vector<double> values = copied(points);
        const std::vector<std::int64_t> found =
            data.visit([&]<class Scalar>(const row_source<Scalar>& source, const row_source<Scalar>*) {
              return rows_that_equal(source, values);
            });
        nb::list indices;
        for (const std::int64_t index : found) indices.append(index);
        return indices;
      },
      nb::arg("rows"), nb::arg("points"), "The index of a row that equals each point, or -1.");
}

}  // namespace shoal::python
