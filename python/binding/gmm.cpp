// Mixtures for Python.
#include <memory>
#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/backend.hpp>
#include <shoal/gmm/backend_fit.hpp>
#include <shoal/gmm/check_options.hpp>
#include <shoal/gmm/generate.hpp>
#include <shoal/gmm/gmm.hpp>
#include <shoal/gmm/statistics.hpp>

#include "module.hpp"
#include "rows.hpp"
#include "running.hpp"
#include "statistics.hpp"

namespace shoal::python {
namespace {

gmm::covariance_type type_named(const std::string& name) {
  if (name == "full") return gmm::covariance_type::full;
  if (name == "tied") return gmm::covariance_type::tied;
  if (name == "diag") return gmm::covariance_type::diag;
  if (name == "spherical") return gmm::covariance_type::spherical;
  throw bad_argument("covariance_type must be full, tied, diag or spherical");
}

const char* name_of(gmm::covariance_type type) {
  switch (type) {
    case gmm::covariance_type::full:
      return "full";
    case gmm::covariance_type::tied:
      return "tied";
    case gmm::covariance_type::diag:
      return "diag";
    case gmm::covariance_type::spherical:
      break;
  }
  return "spherical";
}

gmm::initialization initialization_named(const std::string& name) {
  if (name == "kmeans") return gmm::initialization::kmeans;
  if (name == "k-means++") return gmm::initialization::plus_plus;
  if (name == "k-means||") return gmm::initialization::parallel;
  if (name == "random_from_data") return gmm::initialization::random_rows;
  if (name == "random") return gmm::initialization::random_responsibilities;
  if (name == "kmeans-of-tenth") return gmm::initialization::kmeans_of_tenth;
  if (name == "model") return gmm::initialization::model;
  throw bad_argument("init_params must be one of those that GaussianMixture's docstring lists");
}

// What moves a model, and how far a pass is cut for that.
struct algorithm_choice {
  std::string algorithm;
  std::string acceleration;
  gmm::chunk_options chunks;
  double step_exponent = 0;
  bool async_em_2013 = false;
};

void choose(const algorithm_choice& chosen, gmm::options& options) {
  using enum gmm::algorithm;
  for (const gmm::algorithm one : {batch, incremental, asynchronous, stepwise}) {
    if (gmm::name_of(one) == chosen.algorithm) options.algorithm = one;
  }
  if (chosen.acceleration == gmm::name_of(gmm::acceleration::squarem)) {
    options.acceleration = gmm::acceleration::squarem;
  }
  options.chunks = chosen.chunks;
  options.step_exponent = chosen.step_exponent;
  if (!chosen.async_em_2013) return;
  // The preset's start and iterations, but for a start that was given and a fit that is to return its start.
  const gmm::options given = options;
  gmm::set_async_em_2013(options);
  if (given.init == gmm::initialization::model) options.init = given.init;
  if (given.max_iterations == 0) options.max_iterations = 0;
}

// A mixture as Python holds it: (covariance_type, weights, means, covariances).
gmm::model model_from(const std::string& type, const numbers& weights, const numbers& means,
                      const numbers& covariances) {
  if (weights.ndim() != 1 || means.ndim() != 2) throw bad_argument("weights must be 1-D and means 2-D");
  gmm::model made;
  made.covariance_type = type_named(type);
  made.components = weights.shape(0);
  made.columns = means.shape(1);
  made.weights = copied(weights);
  made.means = copied(means);
  made.covariances = copied(covariances);
  return made;
}

void put_model(nb::dict& into, const gmm::model& model) {
  const std::size_t K = model.components, d = model.columns;
  into["weights"] = array_of(model.weights, {K});
  into["means"] = array_of(model.means, {K, d});
  switch (model.covariance_type) {
    case gmm::covariance_type::full:
      into["covariances"] = array_of(model.covariances, {K, d, d});
      break;
    case gmm::covariance_type::tied:
      into["covariances"] = array_of(model.covariances, {d, d});
      break;
    case gmm::covariance_type::diag:
      into["covariances"] = array_of(model.covariances, {K, d});
      break;
    case gmm::covariance_type::spherical:
      into["covariances"] = array_of(model.covariances, {K});
      break;
  }
}

using labels_out = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::dict fit(const rows& data, const gmm::options& options, const resources& where, const output& labels,
             const nb::object& report) {
  gmm::fit_result result;
  std::int32_t* const labels_at = pointer_of<std::int32_t>(labels, data.count());
  run_with_python(report, where.brief, data, [&](const control& control) {
    result = data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights weights) {
      gmm::validate_options(options, source.columns());
      const std::unique_ptr<executor> workers = make_executor(options.threads);
      const fold_context context = context_of(*workers, options.memory_limit, control);
      const auto on =
          gmm::make_backend<Scalar>(options.device, {context, &source, weights, !options.checkpoint.empty()});
      gmm::fit_result fitted = gmm::fit(*on, options, control);
      // Labels of the same rows, which are there and checked already.
      if (labels_at != nullptr) on->predict(fitted.model, {labels_at, nullptr, nullptr});
      return fitted;
    });
  });
  nb::dict made;
  put_model(made, result.model);
  made["mean_log_likelihood"] = result.mean_log_likelihood;
  const std::size_t iterations = result.history.size();
  made["history"] = array_of(std::move(result.history), {iterations});
  made["iterations"] = result.iterations;
  made["converged"] = result.converged;
  made["reseeded"] = result.reseeded;
  made["total_weight"] = result.total_weight;
  made["bic"] = result.bic;
  made["aic"] = result.aic;
  made["hardware"] = result.hardware;
  made["seconds"] = result.seconds;
  made["seeding_seconds"] = result.seeding_seconds;
  return made;
}

double predict(const rows& data, const gmm::model& model, const resources& where, const output& labels,
               const output& probabilities, const output& log_density, const nb::object& report) {
  double mean = 0;
  run_with_python(report, where.brief, data, [&](const control& control) {
    mean = data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights weights) {
      gmm::prediction<Scalar> out;
      out.labels = pointer_of<std::int32_t>(labels, source.rows());
      out.probabilities = pointer_of<Scalar>(probabilities, source.rows() * model.components);
      out.log_density = pointer_of<Scalar>(log_density, source.rows());
      return gmm::predict(model, source, out, where.threads, where.memory_limit, weights, control, where.choice());
    });
  });
  return mean;
}

}  // namespace

const add_family added([](nb::module_& module) {
  module.def(
      "gmm_fit",
      [](const rows& data, std::size_t components, const std::string& covariance_type, const std::string& init,
         nb::object start, std::size_t max_iterations, double tolerance, double regularization, std::size_t restarts,
         std::uint64_t seed, std::optional<double> previous, const std::string& algorithm,
         const std::string& acceleration, std::size_t chunk_rows, std::size_t superchunks, double threshold,
         double step_exponent, bool async_em_2013, const std::string& checkpoint, std::size_t threads,
         std::size_t memory_limit, const std::string& device, std::size_t device_memory, const std::string& products,
         bool brief, const output& labels, const nb::object& report) {
        const resources where{threads, memory_limit, device, device_memory, products, brief};
        gmm::options options;
        options.components = components;
        options.covariance_type = type_named(covariance_type);
        options.init = initialization_named(init);
        if (!start.is_none()) {
          options.start = model_from(covariance_type, nb::cast<numbers>(start[0]), nb::cast<numbers>(start[1]),
                                     nb::cast<numbers>(start[2]));
        }
        options.max_iterations = max_iterations;
        options.tolerance = tolerance;
        options.regularization = regularization;
        options.restarts = restarts;
        options.seed = seed;
        if (previous) options.previous_log_likelihood = *previous;
        gmm::chunk_options chunks;
        chunks.rows = chunk_rows;
        chunks.superchunks = superchunks;
        chunks.threshold = threshold;
        choose({algorithm, acceleration, chunks, step_exponent, async_em_2013}, options);
        options.checkpoint = checkpoint;
        options.threads = threads;
        options.memory_limit = memory_limit;
        options.device = where.choice();
        return fit(data, options, where, labels, report);
      },
      nb::arg("rows"), nb::kw_only(), nb::arg("components"), nb::arg("covariance_type"), nb::arg("init"),
      nb::arg("start").none(), nb::arg("max_iterations"), nb::arg("tolerance"), nb::arg("regularization"),
      nb::arg("restarts"), nb::arg("seed"), nb::arg("previous_log_likelihood").none(), nb::arg("algorithm"),
      nb::arg("acceleration"), nb::arg("chunk_rows"), nb::arg("superchunks"), nb::arg("threshold"),
      nb::arg("step_exponent"), nb::arg("async_em_2013"), nb::arg("checkpoint"), nb::arg("threads"),
      nb::arg("memory_limit"), nb::arg("device"), nb::arg("device_memory"), nb::arg("products"), nb::arg("brief"),
      nb::arg("labels").none(), nb::arg("report").none(),
      "Fits a mixture and writes the labels of the rows, unless None, into `labels` (int32).");

  module.def(
      "gmm_predict",
      [](const rows& data, const std::string& type, const numbers& weights, const numbers& means,
         const numbers& covariances, std::size_t threads, std::size_t memory_limit, const std::string& device,
         std::size_t device_memory, const std::string& products, bool brief, const output& labels,
         const output& probabilities, const output& log_density, const nb::object& report) {
        return predict(data, model_from(type, weights, means, covariances),
                       {threads, memory_limit, device, device_memory, products, brief}, labels, probabilities,
                       log_density, report);
      },
      nb::arg("rows"), nb::arg("covariance_type"), nb::arg("weights"), nb::arg("means"), nb::arg("covariances"),
      nb::kw_only(), nb::arg("threads"), nb::arg("memory_limit"), nb::arg("device"), nb::arg("device_memory"),
      nb::arg("products"), nb::arg("brief"), nb::arg("labels") = nb::none(), nb::arg("probabilities") = nb::none(),
      nb::arg("log_density") = nb::none(), nb::arg("report") = nb::none(),
      "Writes labels (int32), responsibilities and log-densities (of the rows' scalar); returns the mean "
      "log-likelihood.");

  module.def(
      "gmm_update",
      [](const rows& data, const std::string& type, const numbers& weights, const numbers& means,
         const numbers& covariances, double step_size, std::size_t batches, double weight_seen, double regularization,
         std::size_t threads, std::size_t memory_limit, const std::string& device, std::size_t device_memory,
         const std::string& products, bool brief) {
        const resources where{threads, memory_limit, device, device_memory, products, brief};
        gmm::model model = model_from(type, weights, means, covariances);
        const gmm::update_options options{step_size, regularization, threads, memory_limit, where.choice()};
        double mean = 0;
        batches_seen seen{batches, weight_seen};
        run_with_python(nb::none(), brief, data, [&](const control& control) {
          mean = data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights held) {
            return gmm::update(model, source, options, held, control, &seen);
          });
        });
        nb::dict made;
        put_model(made, model);
        made["mean_log_likelihood"] = mean;
        made["weight_seen"] = seen.weight;
        return made;
      },
      nb::arg("rows"), nb::arg("covariance_type"), nb::arg("weights"), nb::arg("means"), nb::arg("covariances"),
      nb::kw_only(), nb::arg("step_size"), nb::arg("batches"), nb::arg("weight_seen"), nb::arg("regularization"),
      nb::arg("threads"), nb::arg("memory_limit"), nb::arg("device"), nb::arg("device_memory"), nb::arg("products"),
      nb::arg("brief"),
      "One step of stepwise EM after `batches` that weighed `weight_seen`; returns the model that it leads to, and "
      "what "
      "all batches then weigh.");

  module.def(
      "gmm_sample",
      [](const std::string& type, const numbers& weights, const numbers& means, const numbers& covariances,
         std::uint64_t seed, std::size_t first, nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> out,
         labels_out labels) {
        const gmm::model model = model_from(type, weights, means, covariances);
        if (labels.shape(0) != out.shape(0)) throw bad_argument("labels must have one element for each row");
        const matrix_view<double> rows(out.data(), out.shape(0), out.shape(1));
        run_with_python(nb::none(), true,
                        [&](const control&) { gmm::sample(model, seed, first, rows, labels.data()); });
      },
      nb::arg("covariance_type"), nb::arg("weights"), nb::arg("means"), nb::arg("covariances"), nb::kw_only(),
      nb::arg("seed"), nb::arg("first"), nb::arg("out"), nb::arg("labels"),
      "Draws rows [first, first + len(out)) of the sequence that the mixture and the seed define.");

  module.def(
      "gmm_generate",
      [](std::size_t components, std::size_t columns, const std::string& type, std::optional<double> dirichlet_alpha,
         double mean_scale, double wishart_degrees, bool divide_by_degrees, std::uint64_t seed) {
        gmm::generator_options options;
        options.components = components;
        options.columns = columns;
        options.covariance_type = type_named(type);
        if (dirichlet_alpha) {
          options.weights = gmm::weight_distribution::dirichlet;
          options.dirichlet_alpha = *dirichlet_alpha;
        }
        options.mean_scale = mean_scale;
        options.wishart_degrees = wishart_degrees;
        options.divide_by_degrees = divide_by_degrees;
        options.seed = seed;
        const gmm::model model = gmm::generate_model(options);
        nb::dict made;
        put_model(made, model);
        made["covariance_type"] = name_of(model.covariance_type);
        return made;
      },
      nb::kw_only(), nb::arg("components"), nb::arg("columns"), nb::arg("covariance_type"),
      nb::arg("dirichlet_alpha").none(), nb::arg("mean_scale"), nb::arg("wishart_degrees"),
      nb::arg("divide_by_degrees"), nb::arg("seed"), "Draws a mixture.");

  bind_statistics<gmm::model_statistics>(module, "gmm_statistics", &gmm::read, &gmm::load_statistics)
      .def_prop_ro("log_likelihood", &gmm::model_statistics::log_likelihood)
      .def_prop_ro("mean_log_likelihood", &gmm::model_statistics::mean_log_likelihood)
      .def_prop_ro("weights", [](const gmm::model_statistics& made) {
        const gmm::statistics sums = made.sums();
        std::vector<double> weights;
        for (std::size_t k = 0; k < made.components(); ++k) weights.push_back(sums.weight(k));
        return array_of(std::move(weights), {made.components()});
      });
  module.def(
      "gmm_accumulate",
      [](const rows& data, const std::string& type, const numbers& weights, const numbers& means,
         const numbers& covariances, std::size_t first, std::size_t total, std::size_t threads,
         std::size_t memory_limit, const std::string& device, std::size_t device_memory, const std::string& products,
         bool brief) {
        const resources where{threads, memory_limit, device, device_memory, products, brief};
        const gmm::model model = model_from(type, weights, means, covariances);
        std::optional<gmm::model_statistics> made;
        run_with_python(nb::none(), brief, data, [&](const control& control) {
          data.visit([&]<class Scalar>(const row_source<Scalar>& source, row_weights held) {
            made =
                gmm::accumulate(model, source, {threads, memory_limit, where.choice(), {first, total}}, held, control);
          });
        });
        return *made;
      },
      nb::arg("rows"), nb::arg("covariance_type"), nb::arg("weights"), nb::arg("means"), nb::arg("covariances"),
      nb::kw_only(), nb::arg("first"), nb::arg("total"), nb::arg("threads"), nb::arg("memory_limit"), nb::arg("device"),
      nb::arg("device_memory"), nb::arg("products"), nb::arg("brief"), "Statistics of rows under a mixture.");
  module.def(
      "gmm_maximise",
      [](const gmm::model_statistics& made, const std::string& type, const numbers& weights, const numbers& means,
         const numbers& covariances, double regularization) {
        nb::dict next;
        put_model(next, gmm::maximise(made, model_from(type, weights, means, covariances), {regularization}));
        return next;
      },
      nb::arg("statistics"), nb::arg("covariance_type"), nb::arg("weights"), nb::arg("means"), nb::arg("covariances"),
      nb::kw_only(), nb::arg("regularization"), "The mixture that they lead to.");
  module.def(
      "gmm_cut_rows",
      [](const std::string& type, const numbers& weights, const numbers& means, const numbers& covariances,
         std::size_t count, std::size_t scalar_bytes, std::size_t parts) {
        return gmm::cut_rows(model_from(type, weights, means, covariances), count, scalar_bytes, parts);
      },
      nb::arg("covariance_type"), nb::arg("weights"), nb::arg("means"), nb::arg("covariances"), nb::kw_only(),
      nb::arg("count"), nb::arg("scalar_bytes"), nb::arg("parts"), "Where rows can be cut between lanes.");
});

}  // namespace shoal::python
