#include <shoal/kmeans/first_model.hpp>

#include <shoal/kmeans/tuning.hpp>

namespace shoal::kmeans {

seeding chosen_seeding(const options& options, std::size_t rows) {
  if (options.init != seeding::automatic) return options.init;
  const bool many = options.clusters >= least_parallel_clusters && rows >= rows_a_parallel_cluster * options.clusters;
  return many && rows * options.clusters >= least_parallel_pairs ? seeding::parallel : seeding::plus_plus;
}

template <class Scalar>
std::vector<double> first_centroids(const fold_context& context, const weighted_rows<Scalar>& data,
                                    const data_summary& summary, const options& options, std::size_t restart,
                                    const make_passes& passes) {
  const seeding_request request{options.clusters, options.seed, restart};
  switch (chosen_seeding(options, summary.rows)) {
    case seeding::automatic:
    case seeding::plus_plus:
      return seed_plus_plus(context, data, summary, request, passes);
    case seeding::parallel:
      return seed_parallel(context, data, summary, request, passes);
    case seeding::random_rows:
      return seed_random_rows(context, data, summary, request, passes);
    case seeding::centroids:
      break;
  }
  return options.centroids;
}

template std::vector<double> first_centroids(const fold_context&, const weighted_rows<float>&, const data_summary&,
                                             const options&, std::size_t, const make_passes&);
template std::vector<double> first_centroids(const fold_context&, const weighted_rows<double>&, const data_summary&,
                                             const options&, std::size_t, const make_passes&);

double mean_variance(const data_summary& summary) {
  double mean = 0;
  for (const double variance : summary.variance) mean += variance / static_cast<double>(summary.columns);
  return mean;
}

}  // namespace shoal::kmeans
