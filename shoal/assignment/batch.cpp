// Many small problems: threads take some at a time, and what solving needs is allocated once for these.
#include <shoal/assignment/batch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/assignment/certificate.hpp>
#include <shoal/assignment/dense_paths.hpp>
#include <shoal/assignment/wrong_cost.hpp>
#include <shoal/core/error.hpp>
#include <shoal/execution/executor.hpp>

namespace shoal::assignment {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t problems_at_once = 64;
constexpr std::size_t most_columns = 512;  // beyond, rows are not read whole

batch_solution memory_for(std::size_t problems, std::size_t rows, std::size_t columns) {
  return {problems,
          rows,
          columns,
          aligned_buffer<std::uint8_t>(problems),
          aligned_buffer<std::uint8_t>(problems),
          aligned_buffer<double>(problems),
          aligned_buffer<std::size_t>(problems * rows),
          aligned_buffer<std::size_t>(problems * columns),
          aligned_buffer<double>(problems * rows),
          aligned_buffer<double>(problems * columns)};
}

void keep(batch_solution& out, std::size_t n, const solution& found) {
  out.feasible.data()[n] = found.feasible ? 1 : 0;
  out.certified.data()[n] = found.certified ? 1 : 0;
  out.cost.data()[n] = found.cost;
  const auto copy = [&](const auto& from, auto& into, std::size_t count, auto none) {
    for (std::size_t k = 0; k < count; ++k) into.data()[n * count + k] = k < from.size() ? from[k] : none;
  };
  copy(found.column_of_row, out.column_of_row, out.rows, unassigned);
  copy(found.row_of_column, out.row_of_column, out.columns, unassigned);
  copy(found.row_potentials, out.row_potentials, out.rows, std::nan(""));
  copy(found.column_potentials, out.column_potentials, out.columns, std::nan(""));
}

// One thread's way through small problems that are minimised, by whole rows.
class small_problems {
 public:
  small_problems(batch_solution& out, bool maximise) : out_(out), maximise_(maximise) {}

  // False where `solve` must say what is wrong.
  bool solve(std::size_t n, matrix_view<const double> costs) {
    const bool tall = out_.rows > out_.columns;
    const matrix_view<const double> own = tall || maximise_ ? turned(costs) : costs;
    pairs_and_potentials into{out_.column_of_row.data() + n * out_.rows, out_.row_of_column.data() + n * out_.columns,
                              out_.row_potentials.data() + n * out_.rows,
                              out_.column_potentials.data() + n * out_.columns};
    if (tall) {
      std::swap(into.column_of_row, into.row_of_column);
      std::swap(into.row_potentials, into.column_potentials);
    }
    if (!all_valid(own, most_cost(costs)) || !dense_paths(own, memory_, into)) return false;
    double cost = 0;
    for (std::size_t i = 0; i < own.rows(); ++i) cost += own(i, into.column_of_row[i]);
    out_.feasible.data()[n] = 1;
    out_.certified.data()[n] =
        proves_itself(own, {into.column_of_row, into.row_of_column, into.row_potentials, into.column_potentials, cost},
                      infinity)
            ? 1
            : 0;
    if (tall) {  // in row order
      cost = 0;
      for (std::size_t i = 0; i < out_.rows; ++i) {
        const std::size_t j = out_.column_of_row.data()[n * out_.rows + i];
        if (j != unassigned) cost += own(j, i);
      }
    }
    out_.cost.data()[n] = maximise_ ? -cost : cost;
    if (maximise_) {
      const auto turn = [](double potential) { return potential == 0 ? 0 : -potential; };
      std::transform(into.row_potentials, into.row_potentials + own.rows(), into.row_potentials, turn);
      std::transform(into.column_potentials, into.column_potentials + own.columns(), into.column_potentials, turn);
    }
    return true;
  }

 private:
  matrix_view<const double> turned(matrix_view<const double> costs) {
    const bool tall = costs.rows() > costs.columns();
    copy_.resize(costs.rows() * costs.columns());
    for (std::size_t i = 0; i < costs.rows(); ++i) {
      for (std::size_t j = 0; j < costs.columns(); ++j) {
        const double cost = costs(i, j);
        copy_[tall ? j * costs.rows() + i : i * costs.columns() + j] = maximise_ && cost != infinity ? -cost : cost;
      }
    }
    return tall ? matrix_view<const double>(copy_.data(), costs.columns(), costs.rows())
                : matrix_view<const double>(copy_.data(), costs.rows(), costs.columns());
  }

  batch_solution& out_;
  bool maximise_;
  dense_memory memory_;
  std::vector<double> copy_;
};

}  // namespace

batch_solution solve_all(std::span<const double> costs, std::size_t rows, std::size_t columns, const options& options,
                         const solve_one& solve) {
  const std::size_t size = rows * columns;
  if (size == 0 || costs.size() % size != 0) {
    throw bad_argument(fmt::format("{} costs are no whole number of problems of {} × {}", costs.size(), rows, columns));
  }
  assignment::options own = options;
  own.threads = 1;
  const bool paths = options.method == method::automatic || options.method == method::shortest_augmenting_paths;
  const bool small = paths && std::isinf(options.price) && (options.price > 0 || options.maximise) &&
                     options.device.on_host() && std::max(rows, columns) <= most_columns;
  batch_solution found = memory_for(costs.size() / size, rows, columns);
  const auto one = [&](std::size_t n) {
    try {
      keep(found, n, solve(matrix_view<const double>(costs.data() + n * size, rows, columns), own));
    } catch (const bad_data& wrong) {
      throw bad_data(fmt::format("problem {}: {}", n, wrong.what()));
    }
  };
  make_threads(options.threads)
      ->run((found.problems + problems_at_once - 1) / problems_at_once, 1, [&](std::size_t task, const team_member&) {
        const std::size_t end = std::min(found.problems, (task + 1) * problems_at_once);
        small_problems quickly(found, options.maximise);
        for (std::size_t n = task * problems_at_once; n < end; ++n) {
          if (!small || !quickly.solve(n, {costs.data() + n * size, rows, columns})) one(n);
        }
      });
  return found;
}

}  // namespace shoal::assignment
