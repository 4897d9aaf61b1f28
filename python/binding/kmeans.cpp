// k-means for Python.
#include <memory>
#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <shoal/core/error.hpp>
#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/backend_fit.hpp>
#include <shoal/kmeans/check_options.hpp>
#include <shoal/kmeans/kmeans.hpp>
#include <shoal/kmeans/statistics.hpp>

#include "module.hpp"
#include "rows.hpp"
#include "running.hpp"
#include "statistics.hpp"

namespace shoal::python {
namespace {

kmeans::seeding seeding_named(const std::string& name) {
  if (name == "k-means++") return kmeans::seeding::plus_plus;
  if (name == "k-means||") return kmeans::seeding::parallel;
  if (name == "random") return kmeans::seeding::random_rows;
  if (name == "auto") return kmeans::seeding::automatic;
  if (name == "centroids") return kmeans::seeding::centroids;
  throw bad_argument("init must be auto, k-means++, k-means||, random or centroids");
}

kmeans::model model_from(const numbers& centroids) {
  if (centroids.ndim() != 2) throw bad_argument("centroids must be 2-D");
  return {centroids.shape(0), centroids.shape(1), copied(centroids), {}};
}

}  // namespace

const add_family added([](nb::module_& module) {
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
        run_with_python(report, brief, data, [&](const control& control) {
          result = data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights weights) {
            kmeans::check_options(options);
            const std::unique_ptr<executor> workers = make_executor(options.threads);
            const fold_context context = context_of(*workers, options.memory_limit, control);
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
        made["seeding_seconds"] = result.seeding_seconds;
        made["column_variances"] = array_of(std::move(result.column_variances), {result.model.columns});
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
        run_with_python(nb::none(), brief, data, [&](const control& control) {
          inertia = data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights weights) {
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
      [](const rows& data, const numbers& centroids, std::size_t threads, std::size_t memory_limit,
         const std::string& device, std::size_t device_memory, const std::string& products, bool brief,
         const output& distances) {
        const resources where{threads, memory_limit, device, device_memory, products, brief};
        const kmeans::model model = model_from(centroids);
        run_with_python(nb::none(), brief, data, [&](const control& control) {
          data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights) {
            kmeans::distances(model, source, pointer_of<Scalar>(distances, source.rows() * model.clusters), threads,
                              memory_limit, control, where.choice());
          });
        });
      },
      nb::arg("rows"), nb::arg("centroids"), nb::kw_only(), nb::arg("threads"), nb::arg("memory_limit"),
      nb::arg("device"), nb::arg("device_memory"), nb::arg("products"), nb::arg("brief"), nb::arg("distances"),
      "Writes the distance of each row to every centroid into `distances`, of the rows' scalar.");

  module.def(
      "kmeans_update",
      [](const rows& data, const numbers& centroids, const numbers& seen, std::size_t threads, std::size_t memory_limit,
         const std::string& device, std::size_t device_memory, const std::string& products, bool brief,
         const output& labels) {
        const resources where{threads, memory_limit, device, device_memory, products, brief};
        kmeans::model model = model_from(centroids);
        std::vector<double> weights_seen = copied(seen);
        std::int32_t* const labels_at = pointer_of<std::int32_t>(labels, data.count());
        double inertia = 0;
        run_with_python(nb::none(), brief, data, [&](const control& control) {
          inertia = data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights weights) {
            return kmeans::update(model, weights_seen, source, labels_at, threads, memory_limit, weights, control,
                                  where.choice());
          });
        });
        nb::dict made;
        made["centroids"] = array_of(model.centroids, {model.clusters, model.columns});
        made["seen"] = array_of(std::move(weights_seen), {model.clusters});
        made["inertia"] = inertia;
        return made;
      },
      nb::arg("rows"), nb::arg("centroids"), nb::arg("seen"), nb::kw_only(), nb::arg("threads"),
      nb::arg("memory_limit"), nb::arg("device"), nb::arg("device_memory"), nb::arg("products"), nb::arg("brief"),
      nb::arg("labels").none(), "One step of k-means on a batch; returns the centroids that it leads to.");

  module.def(
      "kmeans_choose_rows",
      [](const rows& data, std::size_t clusters, std::size_t trials, std::uint64_t seed, std::size_t threads,
         std::size_t memory_limit, const std::string& device, std::size_t device_memory, const std::string& products,
         bool brief) {
        const resources where{threads, memory_limit, device, device_memory, products, brief};
        std::vector<std::size_t> chosen;
        run_with_python(nb::none(), brief, data, [&](const control& control) {
          chosen = data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights weights) {
            return kmeans::choose_rows(source, {clusters, seed, trials, threads, memory_limit, where.choice()}, weights,
                                       control);
          });
        });
        return chosen;
      },
      nb::arg("rows"), nb::kw_only(), nb::arg("clusters"), nb::arg("trials"), nb::arg("seed"), nb::arg("threads"),
      nb::arg("memory_limit"), nb::arg("device"), nb::arg("device_memory"), nb::arg("products"), nb::arg("brief"),
      "The rows that greedy k-means++ chooses; `trials` of 0 is the usual number.");

  bind_statistics<kmeans::model_statistics>(module, "kmeans_statistics", &kmeans::read, &kmeans::load_statistics)
      .def_prop_ro("inertia", &kmeans::model_statistics::inertia)
      .def_prop_ro("label_fingerprint", &kmeans::model_statistics::label_fingerprint)
      .def_prop_ro("weights", [](const kmeans::model_statistics& made) {
        return array_of(made.sums().weights, {made.clusters()});
      });
  module.def(
      "kmeans_accumulate",
      [](const rows& data, const numbers& centroids, std::size_t first, std::size_t total, std::size_t threads,
         std::size_t memory_limit, const std::string& device, std::size_t device_memory, const std::string& products,
         bool brief) {
        const resources where{threads, memory_limit, device, device_memory, products, brief};
        const kmeans::model model = model_from(centroids);
        std::optional<kmeans::model_statistics> made;
        run_with_python(nb::none(), brief, data, [&](const control& control) {
          data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights held) {
            made = kmeans::accumulate(model, source, {threads, memory_limit, where.choice(), {first, total}}, held,
                                      control);
          });
        });
        return *made;
      },
      nb::arg("rows"), nb::arg("centroids"), nb::kw_only(), nb::arg("first"), nb::arg("total"), nb::arg("threads"),
      nb::arg("memory_limit"), nb::arg("device"), nb::arg("device_memory"), nb::arg("products"), nb::arg("brief"),
      "Statistics of rows about centroids.");
  module.def(
      "kmeans_maximise",
      [](const kmeans::model_statistics& made, const numbers& centroids) {
        kmeans::model next = kmeans::maximise(made, model_from(centroids));
        return array_of(std::move(next.centroids), {next.clusters, next.columns});
      },
      nb::arg("statistics"), nb::arg("centroids"), "The centroids that they lead to.");
  module.def(
      "kmeans_cut_rows",
      [](const numbers& centroids, std::size_t count, std::size_t scalar_bytes, std::size_t parts) {
        return kmeans::cut_rows(model_from(centroids), count, scalar_bytes, parts);
      },
      nb::arg("centroids"), nb::kw_only(), nb::arg("count"), nb::arg("scalar_bytes"), nb::arg("parts"),
      "Where rows can be cut between lanes.");
});

}  // namespace shoal::python
