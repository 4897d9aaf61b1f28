#include <shoal/gmm/first_model.hpp>

#include <algorithm>
#include <numeric>

#include <shoal/core/error.hpp>
#include <shoal/estimation/seeding.hpp>
#include <shoal/estimation/seeding_report.hpp>
#include <shoal/execution/communicator.hpp>
#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/jump.hpp>
#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/backend_fit.hpp>
#include <shoal/kmeans/offset_backend.hpp>
#include <shoal/kmeans/options.hpp>
#include <shoal/nearest/nearest.hpp>
#include <shoal/random/stream.hpp>

namespace shoal::gmm {
namespace {

// What sets these random numbers apart from all others of the same seed.
constexpr std::uint64_t responsibilities_stream = 0x726573706f6e7369;

template <class Scalar>
parameters<Scalar> about(const options& options, std::size_t columns, const std::vector<double>& centres) {
  return prepare_centres<Scalar>(options.covariance_type, options.components, columns, centres.data());
}

// Statistics about some centres of responsibilities that are known.
template <class Scalar>
statistics sums_of(const fold_context& context, const weighted_rows<Scalar>& data, const statistics_layout& layout,
                   const parameters<Scalar>& centres, const responsibilities_function<Scalar>& responsibilities) {
  return fold<Scalar>(context, data, statistics_group(layout), accumulation<Scalar>{&centres, &responsibilities});
}

// The model that one maximisation makes of statistics that `sums_about` gives, about `centres` if these will do.
template <class Scalar>
model maximised(const fold_context& context, const data_summary& summary, const options& options,
                const parameters<Scalar>& centres,
                const std::function<statistics(const parameters<Scalar>& centres)>& sums_about) {
  model first = pooled_model(options.covariance_type, centres.centres, summary, options.regularization);
  statistics sums = sums_about(centres);
  const auto again = [&](const parameters<Scalar>& about) -> const statistics& { return sums = sums_about(about); };
  maximise_closely<Scalar>(sums, centres.centres, options.regularization, first, context.workers, again);
  return first;
}

template <class Scalar>
model from_kmeans(const fold_context& context, const weighted_rows<Scalar>& data, const data_summary& summary,
                  const options& options, std::uint64_t seed, const first_model_steps& on) {
  kmeans::options clustering;
  clustering.clusters = options.components;
  clustering.seed = seed;
  clustering.threads = context.workers->threads();
  clustering.memory_limit = context.memory_limit;
  const auto cluster_here = [&] {
    const auto backend = kmeans::make_backend<Scalar>({}, {context, data.rows, data.weights});
    return kmeans::fit(*backend, clustering, while_seeding(context, summary, clustering.clusters),
                       kmeans::vanishing_rows::accepted)
        .model.centroids;
  };
  const std::vector<double> centroids = on.cluster ? on.cluster(clustering) : cluster_here();
  const statistics_layout layout(options.covariance_type, options.components, data.rows->columns());
  const parameters<Scalar> centres = about<Scalar>(options, data.rows->columns(), centroids);
  if (on.labelled) {
    return maximised<Scalar>(context, summary, options, centres, [&](const parameters<Scalar>& about) {
      return on.labelled(layout, about.centres, centroids);
    });
  }
  const centroid_index<Scalar> index(centroids, options.components, data.rows->columns(), data.rows->rows());
  const responsibilities_function<Scalar> hard = [&index](const row_block<Scalar>& block, Scalar* responsibilities,
                                                          std::size_t stride) {
    thread_local nearest_scratch<Scalar> scratch;
    thread_local std::vector<std::int32_t> labels;
    labels.resize(block.rows.rows());
    find_nearest(index, block.rows, labels.data(), scratch);
    for (std::size_t i = 0; i < labels.size(); ++i)
      responsibilities[static_cast<std::size_t>(labels[i]) * stride + i] = 1;
  };
  return maximised<Scalar>(context, summary, options, centres, [&](const parameters<Scalar>& about) {
    return sums_of(context, data, layout, about, hard);
  });
}

template <class Scalar>
model from_random_responsibilities(const fold_context& context, const weighted_rows<Scalar>& data,
                                   const data_summary& summary, const options& options, std::size_t restart,
                                   const first_model_steps& on) {
  const std::size_t components = options.components;
  const std::uint64_t id = random::mix(responsibilities_stream, restart);
  std::vector<double> means;
  for (std::size_t k = 0; k < components; ++k) means.insert(means.end(), summary.mean.begin(), summary.mean.end());
  const parameters<Scalar> centres = about<Scalar>(options, data.rows->columns(), means);
  const statistics_layout layout(options.covariance_type, components, data.rows->columns());
  if (on.random) {
    return maximised<Scalar>(context, summary, options, centres, [&](const parameters<Scalar>& about) {
      return on.random(layout, about.centres, options.seed, id);
    });
  }
  const responsibilities_function<Scalar> random_ones = [&](const row_block<Scalar>& block, Scalar* responsibilities,
                                                            std::size_t stride) {
    const std::size_t words = (components + 1) / 2;  // a block of the generator gives two uniforms
    for (std::size_t i = 0; i < block.rows.rows(); ++i) {
      random::stream uniforms(options.seed, id, (block.first + i) * words);
      double sum = 0;
      for (std::size_t k = 0; k < components; ++k) {
        const double uniform = uniforms.uniform();
        responsibilities[k * stride + i] = static_cast<Scalar>(uniform);
        sum += uniform;
      }
      for (std::size_t k = 0; k < components; ++k) responsibilities[k * stride + i] /= static_cast<Scalar>(sum);
    }
  };
  return maximised<Scalar>(context, summary, options, centres, [&](const parameters<Scalar>& about) {
    return sums_of(context, data, layout, about, random_ones);
  });
}

// Products of a row's column with a centroid's from which k-means on a tenth of the rows goes to a GPU: 100,000 x 8 and
// 20 clusters take 13 ms there and 24 on the host's 16 threads, 1000 x 8 1.5 ms more there than here.
constexpr double worthwhile_products = 0x1p20;

// Centroids of k-means on a tenth of the rows, drawn without replacement; on one GPU where the fit has some and they
// are many, those of the first rank, since GPUs may be of several kinds.
template <class Scalar>
std::vector<double> centroids_of_tenth(const fold_context& context, const weighted_rows<Scalar>& data,
                                       const data_summary& summary, const options& options,
                                       const seeding_request& request, const first_model_steps& on) {
  const std::size_t drawn = std::max(request.clusters, summary.positive_rows / 10);
  const seeding_request some{drawn, request.seed, request.stream};
  kmeans::options clustering;
  clustering.clusters = request.clusters;
  clustering.seed = random::mix(request.seed, request.stream);
  clustering.threads = context.workers->threads();
  const double products =
      static_cast<double>(drawn) * static_cast<double>(summary.columns) * static_cast<double>(request.clusters);
  const bool on_gpu = !options.device.on_host() && products >= worthwhile_products;
  if (on_gpu) {
    clustering.device.cuda = {options.device.cuda.front()};
    clustering.device.memory = options.device.memory;
  }
  const control stoppable{{}, context.stop};
  const fold_context alone = context_of(*context.workers, 0, stoppable);  // every rank has the whole sample
  const auto centroids_of = [&](kmeans::backend<double>& backend) {
    const auto clusters = kmeans::fit(backend, clustering, stoppable, kmeans::vanishing_rows::accepted);
    return shared_from(context.ranks, 0, clusters.model.centroids);
  };
  const std::size_t bytes = drawn * summary.columns * sizeof(double);
  if (on_gpu && (options.device.memory == 0 || 4 * bytes <= options.device.memory)) {
    const auto kept = keep_random_rows(context, data, summary, some, on.seeding);
    const auto backend = kmeans::make_backend<double>(clustering.device, {alone, kept.get(), nullptr});
    // Rows far from zero are clustered about their mean, for which the host moves them.
    if (kept->on_device() == nullptr || kmeans::offset_of(backend->summary()).empty()) return centroids_of(*backend);
  }
  const std::vector<double> sample = seed_random_rows(context, data, summary, some, on.seeding);
  const view_source<double> rows({sample.data(), drawn, summary.columns});
  return centroids_of(*kmeans::make_backend<double>(clustering.device, {alone, &rows, nullptr}));
}

}  // namespace

model pooled_model(covariance_type type, std::vector<double> means, const data_summary& summary,
                   double regularization) {
  const std::size_t columns = summary.columns;
  model made;
  made.covariance_type = type;
  made.columns = columns;
  made.components = means.size() / columns;
  made.weights.assign(made.components, 1.0 / static_cast<double>(made.components));
  made.means = std::move(means);
  std::vector<double> variance = summary.variance;
  for (double& value : variance) value += regularization;
  made.covariances.assign(covariance_size(type, made.components, columns), 0.0);
  switch (type) {
    case covariance_type::spherical: {
      const double mean = std::accumulate(variance.begin(), variance.end(), 0.0) / static_cast<double>(columns);
      std::fill(made.covariances.begin(), made.covariances.end(), mean);
      break;
    }
    case covariance_type::diag:
      for (std::size_t i = 0; i < made.covariances.size(); ++i) made.covariances[i] = variance[i % columns];
      break;
    case covariance_type::full:
    case covariance_type::tied:
      for (std::size_t matrix = 0; matrix < made.covariances.size(); matrix += columns * columns) {
        for (std::size_t j = 0; j < columns; ++j) made.covariances[matrix + j * (columns + 1)] = variance[j];
      }
      break;
  }
  return made;
}

control while_seeding(const fold_context& context, const data_summary& summary, std::size_t clusters) {
  const seeding_report report = seeding_report_of(context, summary.rows, summary.columns, clusters);
  return {[report](const progress& now) { report(now.step, now.steps); }, context.stop};
}

template <class Scalar>
model initial_model(const fold_context& context, const weighted_rows<Scalar>& data, const data_summary& summary,
                    const options& options, std::size_t restart, const first_model_steps& on) {
  const seeding_request request{options.components, options.seed, restart};
  const auto spread = [&](std::vector<double> means) {
    return pooled_model(options.covariance_type, std::move(means), summary, options.regularization);
  };
  switch (options.init) {
    case initialization::kmeans:
      return from_kmeans(context, data, summary, options, random::mix(options.seed, restart), on);
    case initialization::plus_plus:
      return spread(seed_plus_plus(context, data, summary, request, on.seeding));
    case initialization::parallel:
      return spread(seed_parallel(context, data, summary, request, on.seeding));
    case initialization::random_rows:
      return spread(seed_random_rows(context, data, summary, request, on.seeding));
    case initialization::random_responsibilities:
      return from_random_responsibilities(context, data, summary, options, restart, on);
    case initialization::model:
      return options.start;
    case initialization::kmeans_of_tenth:
      return spread(centroids_of_tenth(context, data, summary, options, request, on));
  }
  throw bad_argument("unknown initialization");
}

template model initial_model(const fold_context&, const weighted_rows<float>&, const data_summary&, const options&,
                             std::size_t, const first_model_steps&);
template model initial_model(const fold_context&, const weighted_rows<double>&, const data_summary&, const options&,
                             std::size_t, const first_model_steps&);

}  // namespace shoal::gmm
