#include <shoal/estimation/seeding.hpp>

#include <cmath>

#include <shoal/estimation/race.hpp>
#include <shoal/estimation/seed_draw.hpp>

namespace shoal {
namespace {

template <class Scalar>
struct race_body {
  struct scratch {};
  const race_monoid* race;
  std::uint64_t seed;
  std::uint64_t stream;

  void operator()(const row_block<Scalar>& piece, const team_member& member, scratch&,
                  race_monoid::value_type& into) const {
    if (member.rank() != 0) return;
    for (std::size_t i = 0; i < piece.rows.rows(); ++i) {
      const double weight = piece.weights == nullptr ? 1.0 : static_cast<double>(piece.weights[i]);
      if (!(weight > 0)) continue;
      const double u = random::uniform_at(seed, stream, piece.first + i);
      // −ln u ≥ 1 − u: most rows need no logarithm to lose.
      if (race->refuses(into, {(1 - u) / weight, piece.first + i})) continue;
      race->insert(into, {-std::log(u) / weight, piece.first + i});
    }
  }
};

}  // namespace

template <class Scalar>
std::vector<double> seed_random_rows(const fold_context& context, const weighted_rows<Scalar>& data,
                                     const data_summary&, const seeding_request& request) {
  const race_monoid race(request.clusters);
  const std::vector<runner> winners = race.sorted(fold<Scalar>(
      context, data, race, race_body<Scalar>{&race, request.seed, seeding_stream(request, seeding_use::race)}));
  std::vector<double> points;
  for (std::size_t k = 0; k < request.clusters; ++k) append_row(*data.rows, winners[k % winners.size()].row, points);
  return points;
}

template std::vector<double> seed_random_rows(const fold_context&, const weighted_rows<float>&, const data_summary&,
                                              const seeding_request&);
template std::vector<double> seed_random_rows(const fold_context&, const weighted_rows<double>&, const data_summary&,
                                              const seeding_request&);

}  // namespace shoal
