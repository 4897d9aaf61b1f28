// Self-organizing maps for Python.
#include <memory>
#include <optional>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <shoal/core/error.hpp>
#include <shoal/som/backend.hpp>
#include <shoal/som/backend_fit.hpp>
#include <shoal/som/check_model.hpp>
#include <shoal/som/check_options.hpp>
#include <shoal/som/schedule.hpp>
#include <shoal/som/som.hpp>
#include <shoal/som/statistics.hpp>

#include "module.hpp"
#include "rows.hpp"
#include "running.hpp"
#include "statistics.hpp"

namespace shoal::python {
namespace {

som::lattice lattice_named(const std::string& name) {
  if (name == "rectangular") return som::lattice::rectangular;
  if (name == "hexagonal") return som::lattice::hexagonal;
  throw bad_argument("lattice must be rectangular or hexagonal");
}

som::metric metric_named(const std::string& name) {
  if (name == "euclidean") return som::metric::euclidean;
  if (name == "taxicab") return som::metric::taxicab;
  if (name == "cosine") return som::metric::cosine;
  if (name == "chebyshev") return som::metric::chebyshev;
  throw bad_argument("metric must be euclidean, taxicab, cosine or chebyshev");
}

som::neighborhood neighborhood_named(const std::string& name) {
  if (name == "gaussian") return som::neighborhood::gaussian;
  if (name == "bubble") return som::neighborhood::bubble;
  if (name == "mexican-hat") return som::neighborhood::mexican_hat;
  if (name == "triangle") return som::neighborhood::triangle;
  throw bad_argument("neighborhood must be gaussian, bubble, mexican-hat or triangle");
}

som::decay decay_named(const std::string& name) {
  if (name == "linear") return som::decay::linear;
  if (name == "exponential") return som::decay::exponential;
  if (name == "asymptotic") return som::decay::asymptotic;
  throw bad_argument("a decay must be linear, exponential or asymptotic");
}

som::training training_named(const std::string& name) {
  if (name == "batch") return som::training::batch;
  if (name == "online") return som::training::online;
  throw bad_argument("training must be batch or online");
}

som::initialization initialization_named(const std::string& name) {
  if (name == "principal-plane") return som::initialization::principal_plane;
  if (name == "sampled-rows") return som::initialization::sampled_rows;
  if (name == "random-values") return som::initialization::random_values;
  if (name == "codebook") return som::initialization::codebook;
  throw bad_argument("init must be principal-plane, sampled-rows, random-values or codebook");
}

// The lattice and the units of a map as Python holds them.
som::model model_from(const numbers& codebook, std::size_t width, std::size_t height, const std::string& lattice,
                      bool toroidal, const std::string& metric) {
  if (codebook.ndim() != 2 || codebook.shape(0) != width * height) {
    throw bad_argument("the codebook must have one row for each unit");
  }
  som::model map;
  map.width = width;
  map.height = height;
  map.columns = codebook.shape(1);
  map.lattice = lattice_named(lattice);
  map.toroidal = toroidal;
  map.metric = metric_named(metric);
  map.codebook = copied(codebook);
  return map;
}

void put_quality(nb::dict& into, som::quality quality, std::size_t units) {
  into["quantization_error"] = quality.quantization_error;
  into["topographic_error"] = quality.topographic_error;
  into["hits"] = array_of(std::move(quality.hits), {units});
}

nb::dict fit(const rows& data, const som::options& options, const resources& where, const output& units,
             const nb::object& report) {
  std::int32_t* const units_at = pointer_of<std::int32_t>(units, data.count());
  som::fit_result result;
  run_with_python(report, where.brief, data, [&](const control& control) {
    result = data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights weights) {
      som::check_options(options);
      const std::unique_ptr<executor> workers = make_executor(options.threads);
      const fold_context context = context_of(*workers, options.memory_limit, control);
      const auto on =
          som::make_backend<Scalar>(options.device, {context, &source, weights, !options.checkpoint.empty()});
      som::fit_result fitted = som::fit(*on, options, control);
      // Units of the same rows, which are there and checked already.
      if (units_at != nullptr) on->predict(fitted.model, units_at);
      return fitted;
    });
  });
  nb::dict made;
  made["codebook"] = array_of(result.model.codebook, {result.model.units(), result.model.columns});
  put_quality(made, std::move(result.quality), result.model.units());
  const std::size_t steps = result.history.size();
  made["history"] = array_of(std::move(result.history), {steps});
  made["epochs"] = result.epochs;
  made["weight_seen"] = result.total_weight * static_cast<double>(result.epochs);
  made["hardware"] = result.hardware;
  made["seconds"] = result.seconds;
  made["seeding_seconds"] = result.seeding_seconds;
  made["column_variances"] = array_of(std::move(result.column_variances), {result.model.columns});
  return made;
}

}  // namespace

const add_family added([](nb::module_& module) {
  module.def(
      "som_fit",
      [](const rows& data, std::size_t width, std::size_t height, const std::string& lattice, bool toroidal,
         const std::string& metric, const std::string& neighborhood, double cutoff,
         const std::optional<std::pair<double, double>>& radius, const std::string& radius_decay,
         const std::string& training, std::size_t epochs, const std::pair<double, double>& rate,
         const std::string& rate_decay, const std::string& init, const nb::object& codebook, std::uint64_t seed,
         const std::string& checkpoint, std::size_t threads, std::size_t memory_limit, const std::string& device,
         std::size_t device_memory, const std::string& products, bool brief, const output& units,
         const nb::object& report) {
        const resources where{threads, memory_limit, device, device_memory, products, brief};
        som::options options;
        options.width = width;
        options.height = height;
        options.lattice = lattice_named(lattice);
        options.toroidal = toroidal;
        options.metric = metric_named(metric);
        options.neighborhood = neighborhood_named(neighborhood);
        options.cutoff = cutoff;
        if (radius) options.radius = som::range{radius->first, radius->second};
        options.radius_decay = decay_named(radius_decay);
        options.training = training_named(training);
        options.epochs = epochs;
        options.rate = {rate.first, rate.second};
        options.rate_decay = decay_named(rate_decay);
        options.init = initialization_named(init);
        if (!codebook.is_none()) options.codebook = copied(nb::cast<numbers>(codebook));
        options.seed = seed;
        options.checkpoint = checkpoint;
        options.threads = threads;
        options.memory_limit = memory_limit;
        options.device = where.choice();
        return fit(data, options, where, units, report);
      },
      nb::arg("rows"), nb::kw_only(), nb::arg("width"), nb::arg("height"), nb::arg("lattice"), nb::arg("toroidal"),
      nb::arg("metric"), nb::arg("neighborhood"), nb::arg("cutoff"), nb::arg("radius").none(), nb::arg("radius_decay"),
      nb::arg("training"), nb::arg("epochs"), nb::arg("rate"), nb::arg("rate_decay"), nb::arg("init"),
      nb::arg("codebook").none(), nb::arg("seed"), nb::arg("checkpoint"), nb::arg("threads"), nb::arg("memory_limit"),
      nb::arg("device"), nb::arg("device_memory"), nb::arg("products"), nb::arg("brief"), nb::arg("units").none(),
      nb::arg("report").none(),
      "Trains a map and writes the best-matching units of the rows, unless None, into `units` (int32).");

  module.def(
      "som_predict",
      [](const rows& data, const numbers& codebook, std::size_t width, std::size_t height, const std::string& lattice,
         bool toroidal, const std::string& metric, std::size_t threads, std::size_t memory_limit,
         const std::string& device, std::size_t device_memory, const std::string& products, bool brief,
         const output& units) {
        const resources where{threads, memory_limit, device, device_memory, products, brief};
        const som::model map = model_from(codebook, width, height, lattice, toroidal, metric);
        std::int32_t* const units_at = pointer_of<std::int32_t>(units, data.count());
        double error = 0;
        run_with_python(nb::none(), brief, data, [&](const control& control) {
          error = data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights weights) {
            return som::predict(map, source, units_at, threads, memory_limit, weights, control, where.choice());
          });
        });
        return error;
      },
      nb::arg("rows"), nb::arg("codebook"), nb::kw_only(), nb::arg("width"), nb::arg("height"), nb::arg("lattice"),
      nb::arg("toroidal"), nb::arg("metric"), nb::arg("threads"), nb::arg("memory_limit"), nb::arg("device"),
      nb::arg("device_memory"), nb::arg("products"), nb::arg("brief"), nb::arg("units").none(),
      "Writes the best-matching unit of each row, unless `units` is None; returns the quantization error.");

  module.def(
      "som_score",
      [](const rows& data, const numbers& codebook, std::size_t width, std::size_t height, const std::string& lattice,
         bool toroidal, const std::string& metric, std::size_t threads, std::size_t memory_limit,
         const std::string& device, std::size_t device_memory, const std::string& products, bool brief) {
        const resources where{threads, memory_limit, device, device_memory, products, brief};
        const som::model map = model_from(codebook, width, height, lattice, toroidal, metric);
        som::quality quality;
        run_with_python(nb::none(), brief, data, [&](const control& control) {
          quality = data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights weights) {
            return som::score(map, source, threads, memory_limit, weights, control, where.choice());
          });
        });
        nb::dict made;
        put_quality(made, std::move(quality), map.units());
        return made;
      },
      nb::arg("rows"), nb::arg("codebook"), nb::kw_only(), nb::arg("width"), nb::arg("height"), nb::arg("lattice"),
      nb::arg("toroidal"), nb::arg("metric"), nb::arg("threads"), nb::arg("memory_limit"), nb::arg("device"),
      nb::arg("device_memory"), nb::arg("products"), nb::arg("brief"), "How well a map stands for the rows.");

  module.def(
      "som_distances",
      [](const rows& data, const numbers& codebook, std::size_t width, std::size_t height, const std::string& lattice,
         bool toroidal, const std::string& metric, std::size_t threads, std::size_t memory_limit,
         const std::string& device, std::size_t device_memory, const std::string& products, bool brief,
         const output& distances) {
        const resources where{threads, memory_limit, device, device_memory, products, brief};
        const som::model map = model_from(codebook, width, height, lattice, toroidal, metric);
        run_with_python(nb::none(), brief, data, [&](const control& control) {
          data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights) {
            som::distances(map, source, pointer_of<Scalar>(distances, source.rows() * map.units()), threads,
                           memory_limit, control, where.choice());
          });
        });
      },
      nb::arg("rows"), nb::arg("codebook"), nb::kw_only(), nb::arg("width"), nb::arg("height"), nb::arg("lattice"),
      nb::arg("toroidal"), nb::arg("metric"), nb::arg("threads"), nb::arg("memory_limit"), nb::arg("device"),
      nb::arg("device_memory"), nb::arg("products"), nb::arg("brief"), nb::arg("distances"),
      "Writes the distance of each row to every unit into `distances`, of the rows' scalar.");

  module.def(
      "som_update",
      [](const rows& data, const numbers& codebook, std::size_t width, std::size_t height, const std::string& lattice,
         bool toroidal, const std::string& metric, const std::string& neighborhood, double cutoff, double radius,
         double rate, std::size_t batches, double weight_seen, std::size_t threads, std::size_t memory_limit,
         const std::string& device, std::size_t device_memory, const std::string& products, bool brief,
         const output& units) {
        const resources where{threads, memory_limit, device, device_memory, products, brief};
        som::model map = model_from(codebook, width, height, lattice, toroidal, metric);
        const som::update_options options{
            neighborhood_named(neighborhood), cutoff, radius, rate, threads, memory_limit, where.choice()};
        std::int32_t* const units_at = pointer_of<std::int32_t>(units, data.count());
        double started_from = 0;
        batches_seen seen{batches, weight_seen};
        som::quality quality;
        run_with_python(nb::none(), brief, data, [&](const control& control) {
          data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights weights) {
            som::check_model(map, source.columns());
            som::check_options(options);
            const std::unique_ptr<executor> workers = make_executor(threads);
            const fold_context context{workers.get(), memory_limit, control.stop};
            const auto on = som::make_backend<Scalar>(options.device, {context, &source, weights});
            started_from = som::update(*on, map, options, nullptr, &seen);
            // Of the same rows, which are there and checked already.
            quality = on->score(map, units_at);
          });
        });
        nb::dict made;
        put_quality(made, std::move(quality), map.units());
        made["codebook"] = array_of(std::move(map.codebook), {width * height, map.columns});
        made["started_from"] = started_from;
        made["weight_seen"] = seen.weight;
        return made;
      },
      nb::arg("rows"), nb::arg("codebook"), nb::kw_only(), nb::arg("width"), nb::arg("height"), nb::arg("lattice"),
      nb::arg("toroidal"), nb::arg("metric"), nb::arg("neighborhood"), nb::arg("cutoff"), nb::arg("radius"),
      nb::arg("rate"), nb::arg("batches"), nb::arg("weight_seen"), nb::arg("threads"), nb::arg("memory_limit"),
      nb::arg("device"), nb::arg("device_memory"), nb::arg("products"), nb::arg("brief"), nb::arg("units").none(),
      "One batch step on a part of the rows; returns the codebook that it leads to, the rows' quality on that, and the "
      "quantization error of the one that came; writes the best-matching units of the new one, unless None, into "
      "`units`. Before it came `batches` that weighed `weight_seen`; what all then weigh is returned too.");

  module.def(
      "som_radius",
      [](std::size_t width, std::size_t height, const std::optional<std::pair<double, double>>& radius,
         const std::string& radius_decay, std::size_t step, std::size_t steps) {
        som::options options;
        options.width = width;
        options.height = height;
        if (radius) options.radius = som::range{radius->first, radius->second};
        options.radius_decay = decay_named(radius_decay);
        options.epochs = steps;
        som::check_options(options);
        return som::decayed(options.radius_decay, som::radius_range(options), step, steps);
      },
      nb::kw_only(), nb::arg("width"), nb::arg("height"), nb::arg("radius").none(), nb::arg("radius_decay"),
      nb::arg("step"), nb::arg("steps"), "The radius of the neighbourhood at one step of training.");

  module.def(
      "som_u_matrix",
      [](const numbers& codebook, std::size_t width, std::size_t height, const std::string& lattice, bool toroidal,
         const std::string& metric) {
        return array_of(som::u_matrix(model_from(codebook, width, height, lattice, toroidal, metric)), {height, width});
      },
      nb::arg("codebook"), nb::kw_only(), nb::arg("width"), nb::arg("height"), nb::arg("lattice"), nb::arg("toroidal"),
      nb::arg("metric"), "The mean distance of each unit to its neighbours.");

  bind_statistics<som::model_statistics>(module, "som_statistics", &som::read, &som::load_statistics)
      .def_prop_ro("quantization_error", &som::model_statistics::quantization_error)
      .def_prop_ro("centre",
                   [](const som::model_statistics& made) { return array_of(made.centre(), {made.columns()}); })
      .def_prop_ro("row_mean",
                   [](const som::model_statistics& made) { return array_of(made.row_mean(), {made.columns()}); })
      .def_prop_ro("weights",
                   [](const som::model_statistics& made) { return array_of(made.sums().weights, {made.units()}); });
  module.def(
      "som_accumulate",
      [](const rows& data, const numbers& codebook, std::size_t width, std::size_t height, const std::string& lattice,
         bool toroidal, const std::string& metric, std::optional<numbers> centre, std::size_t first, std::size_t total,
         std::size_t threads, std::size_t memory_limit, const std::string& device, std::size_t device_memory,
         const std::string& products, bool brief) {
        const resources where{threads, memory_limit, device, device_memory, products, brief};
        const som::model map = model_from(codebook, width, height, lattice, toroidal, metric);
        som::accumulate_options options{threads, memory_limit, where.choice(), {first, total}, {}};
        if (centre) options.centre = copied(*centre);
        std::optional<som::model_statistics> made;
        run_with_python(nb::none(), brief, data, [&](const control& control) {
          data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights held) {
            made = som::accumulate(map, source, options, held, control);
          });
        });
        return *made;
      },
      nb::arg("rows"), nb::arg("codebook"), nb::kw_only(), nb::arg("width"), nb::arg("height"), nb::arg("lattice"),
      nb::arg("toroidal"), nb::arg("metric"), nb::arg("centre").none(), nb::arg("first"), nb::arg("total"),
      nb::arg("threads"), nb::arg("memory_limit"), nb::arg("device"), nb::arg("device_memory"), nb::arg("products"),
      nb::arg("brief"), "Statistics of rows on a map.");
  module.def(
      "som_maximise",
      [](const som::model_statistics& made, const numbers& codebook, std::size_t width, std::size_t height,
         const std::string& lattice, bool toroidal, const std::string& metric, const std::string& neighborhood,
         double cutoff, double radius, std::size_t threads) {
        som::model next = som::maximise(made, model_from(codebook, width, height, lattice, toroidal, metric),
                                        {neighborhood_named(neighborhood), cutoff, radius, threads});
        return array_of(std::move(next.codebook), {width * height, next.columns});
      },
      nb::arg("statistics"), nb::arg("codebook"), nb::kw_only(), nb::arg("width"), nb::arg("height"),
      nb::arg("lattice"), nb::arg("toroidal"), nb::arg("metric"), nb::arg("neighborhood"), nb::arg("cutoff"),
      nb::arg("radius"), nb::arg("threads"), "The codebook that they lead to.");
  module.def(
      "som_cut_rows",
      [](const numbers& codebook, std::size_t width, std::size_t height, const std::string& lattice, bool toroidal,
         const std::string& metric, std::size_t count, std::size_t scalar_bytes, std::size_t parts) {
        return som::cut_rows(model_from(codebook, width, height, lattice, toroidal, metric), count, scalar_bytes,
                             parts);
      },
      nb::arg("codebook"), nb::kw_only(), nb::arg("width"), nb::arg("height"), nb::arg("lattice"), nb::arg("toroidal"),
      nb::arg("metric"), nb::arg("count"), nb::arg("scalar_bytes"), nb::arg("parts"),
      "Where rows can be cut between lanes.");
});

}  // namespace shoal::python
