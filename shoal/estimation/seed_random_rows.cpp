#include <shoal/estimation/seeding.hpp>

#include <shoal/estimation/host_seeding.hpp>
#include <shoal/estimation/seed_draw.hpp>

namespace shoal {

template <class Scalar>
std::vector<double> seed_random_rows(const fold_context& context, const weighted_rows<Scalar>& data,
                                     const data_summary& summary, const seeding_request& request,
                                     const make_passes& make) {
  const std::unique_ptr<seeding_passes> passes = make ? make() : make_host_passes(context, data, summary);
  const std::vector<std::size_t> winners =
      passes->race(request.seed, seeding_stream(request, seeding_use::race), request.clusters);
  std::vector<std::size_t> rows;
  for (std::size_t k = 0; k < request.clusters; ++k) rows.push_back(winners[k % winners.size()]);
  std::vector<double> points;
  passes->append_rows(rows, points);
  return points;
}

template std::vector<double> seed_random_rows(const fold_context&, const weighted_rows<float>&, const data_summary&,
                                              const seeding_request&, const make_passes&);
template std::vector<double> seed_random_rows(const fold_context&, const weighted_rows<double>&, const data_summary&,
                                              const seeding_request&, const make_passes&);

}  // namespace shoal
