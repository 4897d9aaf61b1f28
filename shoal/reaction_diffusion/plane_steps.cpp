#include <shoal/reaction_diffusion/plane_steps.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <shoal/reaction_diffusion/explicit_steps.hpp>
#include <shoal/reaction_diffusion/plane_row.hpp>

namespace shoal::reaction_diffusion {
namespace {

// Own nodes of a tile in each direction, and how many around them are stepped with it, one fewer with each step. Both
// states of a tile lie in a core's second cache.
constexpr std::size_t own_nodes = 128;
constexpr std::size_t halo = 8;

// Indices [first − before, end + behind) of one direction, and what stands at its ends.
struct extent {
  std::size_t first, end, before, behind;
  bool low_open, high_open;

  std::size_t count() const { return before + (end - first) + behind; }
};

extent extent_of(std::size_t tile, std::size_t nodes, bool periodic) {
  const std::size_t first = tile * own_nodes, end = std::min(nodes, first + own_nodes);
  const bool low_open = periodic || first > halo, high_open = periodic || end + halo < nodes;
  return {first, end, low_open ? halo : first, high_open ? halo : nodes - end, low_open, high_open};
}

template <class Scalar>
class plane_steps final : public stepper<Scalar> {
 public:
  plane_steps(const problem& wave, double step, executor& executor)
      : wave_(wave), step_(step), executor_(executor), rows_(wave.grid.rows), columns_(wave.grid.columns) {
    next_v_.grow(rows_ * columns_);
    next_w_.grow(rows_ * columns_);
    rooms_.resize(executor.threads());
  }

  std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) override {
    const std::size_t steps = over.steps_of(step_);
    const double step = (over.end - over.begin) / static_cast<double>(steps);
    const auto by = explicit_coefficients_of<Scalar>(wave_, step);
    const std::size_t begin = now.done, end = std::min(steps, begin + most);
    const std::size_t across = (columns_ + own_nodes - 1) / own_nodes, down = (rows_ + own_nodes - 1) / own_nodes;
    while (now.done < end) {
      const std::size_t count = std::min(end - now.done, halo);
      executor_.run(across * down, 1, [&](std::size_t tile, const team_member& member) {
        pass(now, by, tile / across, tile % across, count, rooms_[member.team()]);
      });
      std::swap(now.v, next_v_);
      std::swap(now.w, next_w_);
      now.done += count;
    }
    now.time = end == steps ? over.end : over.begin + static_cast<double>(end) * step;
    return end - begin;
  }

 private:
  struct pair {
    aligned_buffer<Scalar> v, w;
  };
  struct room {
    pair now, next;
  };

  // A tile's rows lie `stride` apart, with one more row and column around for the mirrors.
  static constexpr std::size_t stride = own_nodes + 2 * halo + 2;

  void pass(const state<Scalar>& now, const explicit_coefficients<Scalar>& by, std::size_t tile_row,
            std::size_t tile_column, std::size_t steps, room& own) {
    const bool periodic = wave_.boundary == boundary::periodic;
    const extent rows = extent_of(tile_row, rows_, periodic), columns = extent_of(tile_column, columns_, periodic);
    for (pair* part : {&own.now, &own.next}) {
      part->v.grow(stride * stride);
      part->w.grow(stride * stride);
    }
    gather(now.v.data(), rows, columns, own.now.v.data());
    gather(now.w.data(), rows, columns, own.now.w.data());
    for (std::size_t step = 0; step < steps; ++step) {
      mirror(own.now.v.data(), rows, columns);
      if (by.recovery_spread != 0) mirror(own.now.w.data(), rows, columns);
      // At an open end one more row or column is no longer known.
      const auto low = [&](const extent& of) { return of.low_open ? step + 1 : 0; };
      const auto high = [&](const extent& of) { return of.count() - (of.high_open ? step + 1 : 0); };
      for (std::size_t i = low(rows); i < high(rows); ++i) {
        const std::size_t at = (i + 1) * stride + 1;
        const Scalar* v = own.now.v.data() + at;
        const Scalar* w = own.now.w.data() + at;
        step_plane_row(
            {v - stride, v, v + stride, w - stride, w, w + stride, own.next.v.data() + at, own.next.w.data() + at}, by,
            low(columns), high(columns));
      }
      std::swap(own.now, own.next);
    }
    for (std::size_t i = rows.first; i < rows.end; ++i) {
      const std::size_t at = (i - rows.first + rows.before + 1) * stride + columns.before + 1;
      const std::size_t to = i * columns_ + columns.first, count = columns.end - columns.first;
      std::copy_n(own.now.v.data() + at, count, next_v_.data() + to);
      std::copy_n(own.now.w.data() + at, count, next_w_.data() + to);
    }
  }

  void gather(const Scalar* from, const extent& rows, const extent& columns, Scalar* to) const {
    const auto around = [](std::size_t first, std::size_t before, std::size_t nodes) {
      return (first + nodes * (1 + before / nodes) - before) % nodes;
    };
    std::size_t row = around(rows.first, rows.before, rows_);
    for (std::size_t i = 0; i < rows.count(); ++i, row = row + 1 == rows_ ? 0 : row + 1) {
      Scalar* out = to + (i + 1) * stride + 1;
      std::size_t at = around(columns.first, columns.before, columns_);
      for (std::size_t done = 0; done < columns.count(); at = 0) {
        const std::size_t some = std::min(columns.count() - done, columns_ - at);
        std::copy_n(from + row * columns_ + at, some, out + done);
        done += some;
      }
    }
  }

  // Ghost nodes at the walls of a tile.
  static void mirror(Scalar* tile, const extent& rows, const extent& columns) {
    const std::size_t height = rows.count(), width = columns.count();
    if (!rows.low_open) std::copy_n(tile + 2 * stride, stride, tile);
    if (!rows.high_open) std::copy_n(tile + (height - 1) * stride, stride, tile + (height + 1) * stride);
    for (std::size_t i = 1; i <= height; ++i) {
      Scalar* row = tile + i * stride;
      if (!columns.low_open) row[0] = row[2];
      if (!columns.high_open) row[width + 1] = row[width - 1];
    }
  }

  problem wave_;
  double step_;
  executor& executor_;
  std::size_t rows_, columns_;
  aligned_buffer<Scalar> next_v_, next_w_;
  std::vector<room> rooms_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_plane_steps(const problem& wave, double step, executor& executor) {
  return std::make_unique<plane_steps<Scalar>>(wave, step, executor);
}

template std::unique_ptr<stepper<double>> make_plane_steps<double>(const problem&, double, executor&);
template std::unique_ptr<stepper<float>> make_plane_steps<float>(const problem&, double, executor&);

}  // namespace shoal::reaction_diffusion
