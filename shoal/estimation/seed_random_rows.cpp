#include <shoal/estimation/seeding.hpp>

#include <algorithm>
#include <cmath>

#include <shoal/estimation/seed_draw.hpp>

namespace shoal {
namespace {

// A row in the race: the time at which it arrives, exponential with the rate of its weight.
struct runner {
  double time;
  std::size_t row;
  bool operator<(const runner& other) const { return time != other.time ? time < other.time : row < other.row; }
};

// The first `places` runners, as a heap with the last of them on top. Keeping the least of a union is associative and
// commutative, so that the race has the same winners however the rows are cut.
struct race_monoid {
  using value_type = std::vector<runner>;
  std::size_t places;

  value_type identity() const { return {}; }
  void reset(value_type& value) const { value.clear(); }
  void arrive(value_type& value, runner runner) const {
    if (value.size() == places) {
      if (!(runner < value.front())) return;
      std::pop_heap(value.begin(), value.end());
      value.back() = runner;
    } else {
      value.push_back(runner);
    }
    std::push_heap(value.begin(), value.end());
  }
  void combine_into(value_type& into, const value_type& from) const {
    for (const runner& runner : from) arrive(into, runner);
  }
  std::size_t bytes() const { return places * sizeof(runner); }
};

template <class Scalar>
struct race_body {
  struct scratch {};
  race_monoid monoid;
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
      if (into.size() == monoid.places && (1 - u) / weight > into.front().time) continue;
      monoid.arrive(into, {-std::log(u) / weight, piece.first + i});
    }
  }
};

}  // namespace

template <class Scalar>
std::vector<double> seed_random_rows(const fold_context& context, const weighted_rows<Scalar>& data,
                                     const data_summary&, const seeding_request& request) {
  const race_monoid monoid{request.clusters};
  std::vector<runner> winners = fold<Scalar>(
      context, data, monoid, race_body<Scalar>{monoid, request.seed, seeding_stream(request, seeding_use::race)});
  std::sort(winners.begin(), winners.end());
  std::vector<double> points;
  for (std::size_t k = 0; k < request.clusters; ++k) append_row(*data.rows, winners[k % winners.size()].row, points);
  return points;
}

template std::vector<double> seed_random_rows(const fold_context&, const weighted_rows<float>&, const data_summary&,
                                              const seeding_request&);
template std::vector<double> seed_random_rows(const fold_context&, const weighted_rows<double>&, const data_summary&,
                                              const seeding_request&);

}  // namespace shoal
