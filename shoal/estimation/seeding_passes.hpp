// The passes over all rows that seeding is made of, on whichever executor holds the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <shoal/estimation/draws_ahead.hpp>
#include <shoal/estimation/seed_draw.hpp>
#include <shoal/estimation/seeding_report.hpp>
#include <shoal/io/row_source.hpp>

namespace shoal {

/// Greedy k-means++ that also says whether the rows ran out: every row of positive weight coincided with a chosen one.
struct plus_plus_result {
  std::vector<double> points;     ///< [clusters][columns]
  std::vector<std::size_t> rows;  ///< [clusters] which they are
  bool ran_out = false;
};

/// The random side of greedy k-means++.
struct greedy_draws {
  std::size_t clusters = 0;
  std::size_t trials = 0;  ///< of every step but the first
  std::size_t first = 0;   ///< the row that is chosen first
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  /// By which trial `index` of step `step`, from 1 on, is drawn.
  constexpr double uniform(std::uint64_t step, std::uint64_t index) const {
    return random::uniform_at(seed, random::mix(stream, step), index);
  }
  /// Rows that a step from first_step_ahead on draws where none are left.
  constexpr std::size_t ahead() const { return steps_drawn_ahead * trials; }
  /// By which row `index` of those that step `step` draws ahead is drawn, and by which it is thinned.
  constexpr double ahead_uniform(std::uint64_t step, std::uint64_t index) const { return uniform(step, index); }
  constexpr double thinning_uniform(std::uint64_t step, std::uint64_t index) const {
    return uniform(step, ahead() + index);
  }
};

/// The random side of k-means‖'s rounds, each of which keeps rows by a sample().
struct round_draws {
  std::size_t rounds = 0;
  double expected = 0;    ///< rows that a round keeps at most, as expected
  std::size_t first = 0;  ///< the row that is kept before them
  std::uint64_t seed = 0;
  std::function<std::uint64_t(std::size_t round)> stream;
};

/// What rounds have kept.
struct weighted_points {
  std::vector<double> points;  ///< [n][columns]
  /// In place of points, where the executor keeps them: run_among() may find them there.
  std::shared_ptr<const row_source<double>> rows;
  std::vector<double> weights;  ///< [n] Σ weight of the rows nearest to each; the lowest index on a tie
};

/// Draws rows, and measures them against a growing set of points. A row's mass is its weight times the square of its
/// distance to the nearest point added so far.
class seeding_passes {
 public:
  virtual ~seeding_passes() = default;

  /// The cut of the rows that sums and draws go by.
  virtual const row_units& units() const = 0;
  /// Adds points [n][columns].
  virtual void add(std::span<const double> points) = 0;
  /// [units] Σ mass.
  virtual std::vector<double> masses_by_unit() = 0;
  /// [units][trials] what Σ mass would be if that trial [trials][columns] were added too.
  virtual std::vector<double> trial_masses_by_unit(std::span<const double> trials) = 0;
  /// The masses of all rows of these units, one unit after the other.
  virtual std::vector<double> masses_of_units(std::span<const std::size_t> wanted) = 0;
  /// The rows whose own uniform, of philox4x32 with (seed, stream), four rows to a block, is below rate · mass; in
  /// order.
  virtual std::vector<std::size_t> sample(std::uint64_t seed, std::uint64_t stream, double rate) = 0;
  /// [points] Σ weight of the rows nearest to each point; the lowest index on a tie.
  virtual std::vector<double> weights_by_point() = 0;

  /// The first `count` rows to arrive in an exponential race, in order: a row of positive weight arrives at −ln u /
  /// weight, where u = random::uniform_at(seed, stream, row); fewer when fewer have positive weight.
  virtual std::vector<std::size_t> race(std::uint64_t seed, std::uint64_t stream, std::size_t count) = 0;

  /// The rows that greedy k-means++ chooses, in order, where the executor goes through its steps without coming back
  /// between them: the first of them where it cannot go through all, fewer too when no other row has any mass.
  virtual plus_plus_result choose_greedily(const greedy_draws&, const seeding_report&) { return {}; }

  /// The rows of all rounds, in order, and their weights, where the executor goes through the rounds without coming
  /// back between them.
  virtual std::optional<weighted_points> choose_in_rounds(const round_draws&) { return {}; }

  /// run_plus_plus() among other rows, where the executor does that sooner than the host; `request` as for that.
  virtual std::optional<plus_plus_result> run_among(const weighted_rows<double>&, const seeding_request&,
                                                    const seeding_report&) {
    return {};
  }

  /// What else the algorithms ask of the rows.
  virtual std::size_t columns() const = 0;
  /// These rows in float64, appended in this order.
  virtual void append_rows(std::span<const std::size_t> rows, std::vector<double>& points) = 0;
  /// These rows in float64, in memory of their own where the executor holds the rows: of a GPU, when all are on one.
  virtual std::unique_ptr<row_source<double>> keep_rows(std::span<const std::size_t> rows);
  /// A row drawn in proportion to the weights alone.
  virtual std::size_t draw_by_weight(double u) = 0;
  /// The weight of a row.
  virtual double weight_of(std::size_t row) = 0;
  /// The squares of the distances of points [n][columns] to another one, to the bit as rows are measured.
  virtual std::vector<double> distances(std::span<const double> points, std::span<const double> to) const = 0;
};

plus_plus_result run_plus_plus(seeding_passes& passes, const seeding_request& request, const seeding_report& report);

/// The draws of run_plus_plus(): that of the first row, by its weight alone, and those of all others.
double first_draw(const seeding_request& request);
greedy_draws draws_after(const seeding_request& request, std::size_t first);

}  // namespace shoal
