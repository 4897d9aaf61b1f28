// One large system in chunks of rows, a vector of chunks at a time (Wang, "A parallel method for tridiagonal
// equations", 1981). The first pass eliminates the rows inside each chunk, which leaves two equations a chunk: its
// first and its last row. These are solved one after another; the second pass finds the rows between. Every pass reads
// each number once.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/core/simd_targets.hpp>
#include <shoal/reaction_diffusion/tridiagonal/methods.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/reaction_diffusion/tridiagonal/partition.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <shoal/reaction_diffusion/tridiagonal/transpose-inl.hpp>

#ifndef SHOAL_TRIDIAGONAL_PARTITION_ONCE
#define SHOAL_TRIDIAGONAL_PARTITION_ONCE
namespace shoal::reaction_diffusion::tridiagonal {
namespace {

// Chunks of `rows` rows; a group is a vector of them, and what is left behind the last group is solved with the ends.
struct chunk_plan {
  std::size_t rows = 0;
  std::size_t groups = 0;
  std::size_t lanes = 0;

  std::size_t chunks() const { return groups * lanes; }
  std::size_t covered() const { return chunks() * rows; }
};

// Of a group's two passes: the equations of its ends, [2 · chunks].
template <class Scalar>
struct chunk_ends {
  Scalar* lower;
  Scalar* diagonal;
  Scalar* upper;
  Scalar* right;
};

}  // namespace
}  // namespace shoal::reaction_diffusion::tridiagonal
#endif

HWY_BEFORE_NAMESPACE();
namespace shoal::reaction_diffusion::tridiagonal {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class Scalar>
using tag_of = hn::ScalableTag<Scalar>;
template <class Scalar>
constexpr std::size_t lanes_of = hn::MaxLanes(tag_of<Scalar>());

// Squares lie in as many streams as there are lanes, more than hardware looks ahead in.
template <class Scalar>
constexpr std::size_t ahead = 3 * 64 / sizeof(Scalar);

template <class Scalar>
std::size_t lanes() {
  return hn::Lanes(tag_of<Scalar>());
}

// Rows [at, at + lanes) of a group's chunks, `stride` apart, with one chunk a lane.
template <class Scalar>
HWY_INLINE void load_square(const Scalar* HWY_RESTRICT from, std::size_t stride, Scalar* HWY_RESTRICT to) {
  const tag_of<Scalar> d;
  constexpr std::size_t lanes = lanes_of<Scalar>;
  hn::Vec<tag_of<Scalar>> rows[lanes];
  for (std::size_t i = 0; i < lanes; ++i) {
    rows[i] = hn::LoadU(d, from + i * stride);
    hwy::Prefetch(from + i * stride + ahead<Scalar>);
  }
  transpose(d, rows);
  for (std::size_t i = 0; i < lanes; ++i) hn::Store(rows[i], d, to + i * lanes);
}

template <class Scalar>
HWY_INLINE void store_square(const Scalar* HWY_RESTRICT from, std::size_t stride, Scalar* HWY_RESTRICT to) {
  const tag_of<Scalar> d;
  constexpr std::size_t lanes = lanes_of<Scalar>;
  hn::Vec<tag_of<Scalar>> rows[lanes];
  for (std::size_t i = 0; i < lanes; ++i) rows[i] = hn::Load(d, from + i * lanes);
  transpose(d, rows);
  for (std::size_t i = 0; i < lanes; ++i) hn::StoreU(rows[i], d, to + i * stride);
}

// The squares of the four arrays that stand in work.
template <class Scalar>
struct square {
  static constexpr std::size_t size = lanes_of<Scalar> * lanes_of<Scalar>;
  HWY_ALIGN Scalar lower[size];
  HWY_ALIGN Scalar diagonal[size];
  HWY_ALIGN Scalar upper[size];
  HWY_ALIGN Scalar right[size];

  HWY_INLINE void load(const systems<Scalar>& system, std::size_t first, std::size_t stride) {
    load_square(system.lower + first, stride, lower);
    load_square(system.diagonal + first, stride, diagonal);
    load_square(system.upper + first, stride, upper);
    load_square(system.right + first, stride, right);
  }
};

// What a lane's eliminated row says: x[i] = right − first·x[first row of the chunk] − upper·x[i + 1].
template <class Vector>
struct eliminated_row {
  Vector right, first, upper;
};

// Pass one over `count` neighbouring groups at a time, so that one's division runs beside the other's. Each keeps two
// rows: the present one, and the second of the chunk, which is the one next to the chunk's first. Returns whether all
// pivots differ from zero.
template <class Scalar, std::size_t count>
bool reduce_groups(const systems<Scalar>& system, std::size_t first_row, std::size_t rows,
                   const chunk_ends<Scalar>& ends) {
  const tag_of<Scalar> d;
  using vector = hn::Vec<tag_of<Scalar>>;
  constexpr std::size_t lanes = lanes_of<Scalar>;
  const vector zero = hn::Zero(d), one = hn::Set(d, Scalar(1));
  square<Scalar> squares[count] = {};
  eliminated_row<vector> present[count], second[count];
  for (std::size_t g = 0; g < count; ++g) present[g] = second[g] = {zero, zero, zero};
  for (std::size_t g = 0; g < count; ++g) present[g].first = second[g].upper = hn::Set(d, Scalar(-1));
  auto refused = hn::Eq(one, zero);
  HWY_ALIGN Scalar first_equation[count][4][lanes] = {};
  for (std::size_t at = 0; at < rows; at += lanes) {
    for (std::size_t g = 0; g < count; ++g) squares[g].load(system, first_row + g * lanes * rows + at, rows);
    if (at == 0) {
      for (std::size_t g = 0; g < count; ++g) {
        hn::Store(hn::Load(d, squares[g].lower), d, first_equation[g][0]);
        hn::Store(hn::Load(d, squares[g].diagonal), d, first_equation[g][1]);
        hn::Store(hn::Load(d, squares[g].upper), d, first_equation[g][2]);
        hn::Store(hn::Load(d, squares[g].right), d, first_equation[g][3]);
      }
    }
    const std::size_t end = at + lanes == rows ? lanes - 1 : lanes;
    for (std::size_t i = at == 0 ? 1 : 0; i < end; ++i) {
      for (std::size_t g = 0; g < count; ++g) {
        const vector lower = hn::Load(d, squares[g].lower + i * lanes);
        eliminated_row<vector>& row = present[g];
        const vector pivot = hn::NegMulAdd(lower, row.upper, hn::Load(d, squares[g].diagonal + i * lanes));
        const vector inverse = hn::Div(one, pivot);
        refused = hn::Or(refused, hn::Eq(pivot, zero));
        row.right = hn::Mul(hn::NegMulAdd(lower, row.right, hn::Load(d, squares[g].right + i * lanes)), inverse);
        row.first = hn::Neg(hn::Mul(hn::Mul(lower, row.first), inverse));
        row.upper = hn::Mul(hn::Load(d, squares[g].upper + i * lanes), inverse);
        second[g].right = hn::NegMulAdd(second[g].upper, row.right, second[g].right);
        second[g].first = hn::NegMulAdd(second[g].upper, row.first, second[g].first);
        second[g].upper = hn::Neg(hn::Mul(second[g].upper, row.upper));
      }
    }
  }
  for (std::size_t g = 0; g < count; ++g) {
    const std::size_t last = (lanes - 1) * lanes;
    HWY_ALIGN Scalar of_first[4][lanes], of_last[4][lanes];
    const vector above = hn::Load(d, first_equation[g][2]);
    hn::Store(hn::NegMulAdd(above, second[g].first, hn::Load(d, first_equation[g][1])), d, of_first[1]);
    hn::Store(hn::Neg(hn::Mul(above, second[g].upper)), d, of_first[2]);
    hn::Store(hn::NegMulAdd(above, second[g].right, hn::Load(d, first_equation[g][3])), d, of_first[3]);
    const vector below = hn::Load(d, squares[g].lower + last);
    hn::Store(hn::Neg(hn::Mul(below, present[g].first)), d, of_last[0]);
    hn::Store(hn::NegMulAdd(below, present[g].upper, hn::Load(d, squares[g].diagonal + last)), d, of_last[1]);
    hn::Store(hn::NegMulAdd(below, present[g].right, hn::Load(d, squares[g].right + last)), d, of_last[3]);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::size_t end = 2 * (g * lanes + lane);
      ends.lower[end] = first_equation[g][0][lane];
      ends.diagonal[end] = of_first[1][lane];
      ends.upper[end] = of_first[2][lane];
      ends.right[end] = of_first[3][lane];
      ends.lower[end + 1] = of_last[0][lane];
      ends.diagonal[end + 1] = of_last[1][lane];
      ends.upper[end + 1] = squares[g].upper[last + lane];
      ends.right[end + 1] = of_last[3][lane];
    }
  }
  return hn::AllFalse(d, refused);
}

// Pass two: the ends of each chunk are known, [2 · chunks] in `known`. `kept` holds 2 · count · rows vectors.
template <class Scalar, std::size_t count>
void finish_groups(const systems<Scalar>& system, std::size_t first_row, std::size_t rows, const Scalar* known,
                   Scalar* HWY_RESTRICT kept, Scalar* solution) {
  const tag_of<Scalar> d;
  using vector = hn::Vec<tag_of<Scalar>>;
  constexpr std::size_t lanes = lanes_of<Scalar>;
  const vector one = hn::Set(d, Scalar(1));
  square<Scalar> squares[count] = {};
  vector right[count], upper[count], last[count];
  for (std::size_t g = 0; g < count; ++g) {
    HWY_ALIGN Scalar of_first[lanes], of_last[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      of_first[lane] = known[2 * (g * lanes + lane)];
      of_last[lane] = known[2 * (g * lanes + lane) + 1];
    }
    // As if the first row had been eliminated: x = right − 0·x[1].
    right[g] = hn::Load(d, of_first);
    upper[g] = hn::Zero(d);
    last[g] = hn::Load(d, of_last);
  }
  const auto place = [&](std::size_t g, std::size_t row) HWY_ATTR { return kept + 2 * lanes * (row * count + g); };
  for (std::size_t at = 0; at < rows; at += lanes) {
    for (std::size_t g = 0; g < count; ++g) {
      squares[g].load(system, first_row + g * lanes * rows + at, rows);
      if (at == 0) {
        hn::Store(right[g], d, place(g, 0));
        hn::Store(upper[g], d, place(g, 0) + lanes);
      }
    }
    const std::size_t end = at + lanes == rows ? lanes - 1 : lanes;
    for (std::size_t i = at == 0 ? 1 : 0; i < end; ++i) {
      for (std::size_t g = 0; g < count; ++g) {
        const vector lower = hn::Load(d, squares[g].lower + i * lanes);
        const vector inverse =
            hn::Div(one, hn::NegMulAdd(lower, upper[g], hn::Load(d, squares[g].diagonal + i * lanes)));
        right[g] = hn::Mul(hn::NegMulAdd(lower, right[g], hn::Load(d, squares[g].right + i * lanes)), inverse);
        upper[g] = hn::Mul(hn::Load(d, squares[g].upper + i * lanes), inverse);
        hn::Store(right[g], d, place(g, at + i));
        hn::Store(upper[g], d, place(g, at + i) + lanes);
      }
    }
  }
  for (std::size_t at = rows; at > 0;) {
    at -= lanes;
    for (std::size_t i = lanes; i-- > 0;) {
      for (std::size_t g = 0; g < count; ++g) {
        if (at + i + 1 < rows) {
          const Scalar* row = place(g, at + i);
          last[g] = hn::NegMulAdd(hn::Load(d, row + lanes), last[g], hn::Load(d, row));
        }
        hn::Store(last[g], d, squares[g].right + i * lanes);
      }
    }
    for (std::size_t g = 0; g < count; ++g) {
      store_square(squares[g].right, rows, solution + first_row + g * lanes * rows + at);
    }
  }
}

template <class Scalar>
bool reduce(const systems<Scalar>& system, const chunk_plan& plan, std::size_t group, std::size_t count,
            const chunk_ends<Scalar>& ends) {
  const std::size_t first_row = group * plan.lanes * plan.rows;
  return count == 2 ? reduce_groups<Scalar, 2>(system, first_row, plan.rows, ends)
                    : reduce_groups<Scalar, 1>(system, first_row, plan.rows, ends);
}

template <class Scalar>
void finish(const systems<Scalar>& system, const chunk_plan& plan, std::size_t group, std::size_t count,
            const Scalar* known, Scalar* kept, Scalar* solution) {
  const std::size_t first_row = group * plan.lanes * plan.rows;
  if (count == 2) {
    finish_groups<Scalar, 2>(system, first_row, plan.rows, known, kept, solution);
  } else {
    finish_groups<Scalar, 1>(system, first_row, plan.rows, known, kept, solution);
  }
}

std::size_t lanes_f64() { return lanes<double>(); }
std::size_t lanes_f32() { return lanes<float>(); }
bool reduce_f64(const systems<double>& system, const chunk_plan& plan, std::size_t group, std::size_t count,
                const chunk_ends<double>& ends) {
  return reduce(system, plan, group, count, ends);
}
bool reduce_f32(const systems<float>& system, const chunk_plan& plan, std::size_t group, std::size_t count,
                const chunk_ends<float>& ends) {
  return reduce(system, plan, group, count, ends);
}
void finish_f64(const systems<double>& system, const chunk_plan& plan, std::size_t group, std::size_t count,
                const double* known, double* kept, double* solution) {
  finish(system, plan, group, count, known, kept, solution);
}
void finish_f32(const systems<float>& system, const chunk_plan& plan, std::size_t group, std::size_t count,
                const float* known, float* kept, float* solution) {
  finish(system, plan, group, count, known, kept, solution);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace shoal::reaction_diffusion::tridiagonal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::reaction_diffusion::tridiagonal {
namespace {

HWY_EXPORT(lanes_f64);
HWY_EXPORT(lanes_f32);
HWY_EXPORT(reduce_f64);
HWY_EXPORT(reduce_f32);
HWY_EXPORT(finish_f64);
HWY_EXPORT(finish_f32);

// One name for both scalars.
template <class Scalar>
struct kernels;
template <>
struct kernels<double> {
  static std::size_t lanes() { return HWY_DYNAMIC_DISPATCH(lanes_f64)(); }
  template <class... Arguments>
  static bool reduce(const Arguments&... arguments) {
    return HWY_DYNAMIC_DISPATCH(reduce_f64)(arguments...);
  }
  template <class... Arguments>
  static void finish(const Arguments&... arguments) {
    HWY_DYNAMIC_DISPATCH(finish_f64)(arguments...);
  }
};
template <>
struct kernels<float> {
  static std::size_t lanes() { return HWY_DYNAMIC_DISPATCH(lanes_f32)(); }
  template <class... Arguments>
  static bool reduce(const Arguments&... arguments) {
    return HWY_DYNAMIC_DISPATCH(reduce_f32)(arguments...);
  }
  template <class... Arguments>
  static void finish(const Arguments&... arguments) {
    HWY_DYNAMIC_DISPATCH(finish_f32)(arguments...);
  }
};

// Rows of a chunk: what pass two keeps of two groups lies in a core's second cache, and few rows are left for the ends.
constexpr std::size_t most_chunk_rows = 256;
constexpr std::size_t groups_at_once = 2;

// The chunks that leave the fewest rows to be solved one after another. They depend on the number of rows and of lanes
// alone.
chunk_plan choose_chunks(std::size_t rows, std::size_t lanes) {
  chunk_plan best{0, 0, lanes};
  std::size_t fewest = rows;
  for (std::size_t chunk = lanes; chunk <= most_chunk_rows; chunk += lanes) {
    if (chunk < 4) continue;
    const std::size_t groups = rows / (lanes * chunk);
    const std::size_t left = rows - groups * lanes * chunk + 2 * groups * lanes;
    if (left < fewest) {
      fewest = left;
      best = {chunk, groups, lanes};
    }
  }
  return best;
}

// The row inside a chunk whose pivot is least: the one that was zero, where the kernels met a zero.
template <class Scalar>
std::size_t least_pivot(const systems<Scalar>& system, const chunk_plan& plan, std::size_t first_chunk,
                        std::size_t chunks) {
  Scalar least = std::numeric_limits<Scalar>::infinity();
  std::size_t found = first_chunk * plan.rows;
  for (std::size_t chunk = first_chunk; chunk < first_chunk + chunks; ++chunk) {
    Scalar upper = 0;
    for (std::size_t i = chunk * plan.rows + 1; i + 1 < (chunk + 1) * plan.rows; ++i) {
      const Scalar pivot = std::fma(-system.lower[i], upper, system.diagonal[i]);
      if (!(std::abs(pivot) >= least)) {
        least = std::abs(pivot);
        found = i;
      }
      if (pivot == 0) break;
      upper = system.upper[i] / pivot;
    }
  }
  return found;
}

template <class Scalar>
std::size_t solve_in_chunks(const systems<Scalar>& system, Scalar* solution, executor& executor) {
  const chunk_plan plan = choose_chunks(system.rows, kernels<Scalar>::lanes());
  if (plan.groups == 0) return solve_by_thomas(system, solution);
  const std::size_t ends_of_chunks = 2 * plan.chunks();
  const std::size_t left = system.rows - plan.covered();
  const std::size_t count = ends_of_chunks + left;
  aligned_buffer<Scalar> memory(5 * count);
  const chunk_ends<Scalar> ends{memory.data(), memory.data() + count, memory.data() + 2 * count,
                                memory.data() + 3 * count};
  const std::size_t tasks = (plan.groups + groups_at_once - 1) / groups_at_once;
  std::atomic<std::size_t> refused{no_row};  // the first task that met a zero
  executor.run(tasks, 1, [&](std::size_t task, const team_member&) {
    const std::size_t group = task * groups_at_once;
    const std::size_t at = 2 * group * plan.lanes;
    const chunk_ends<Scalar> own{ends.lower + at, ends.diagonal + at, ends.upper + at, ends.right + at};
    if (kernels<Scalar>::reduce(system, plan, group, std::min(groups_at_once, plan.groups - group), own)) return;
    std::size_t before = refused;
    while (task < before && !refused.compare_exchange_weak(before, task)) {
    }
  });
  if (refused != no_row) {
    const std::size_t group = refused * groups_at_once;
    return least_pivot(system, plan, group * plan.lanes, std::min(groups_at_once, plan.groups - group) * plan.lanes);
  }
  std::copy_n(system.lower + plan.covered(), left, ends.lower + ends_of_chunks);
  std::copy_n(system.diagonal + plan.covered(), left, ends.diagonal + ends_of_chunks);
  std::copy_n(system.upper + plan.covered(), left, ends.upper + ends_of_chunks);
  std::copy_n(system.right + plan.covered(), left, ends.right + ends_of_chunks);
  Scalar* known = memory.data() + 4 * count;
  const std::size_t row = solve_by_thomas<Scalar>({ends.lower, ends.diagonal, ends.upper, ends.right, count}, known);
  if (row != no_row) {
    if (row >= ends_of_chunks) return plan.covered() + row - ends_of_chunks;
    return row / 2 * plan.rows + (row % 2 == 0 ? 0 : plan.rows - 1);
  }
  executor.run(tasks, 1, [&](std::size_t task, const team_member&) {
    // The rows that pass one read last are still near.
    const std::size_t group = (tasks - 1 - task) * groups_at_once;
    aligned_buffer<Scalar> kept(2 * groups_at_once * plan.rows * plan.lanes);
    kernels<Scalar>::finish(system, plan, group, std::min(groups_at_once, plan.groups - group),
                            static_cast<const Scalar*>(known + 2 * group * plan.lanes), kept.data(), solution);
  });
  std::copy_n(known + ends_of_chunks, left, solution + plan.covered());
  return no_row;
}

}  // namespace

std::size_t solve_by_partition(const systems<double>& system, double* solution, executor& executor) {
  return solve_in_chunks(system, solution, executor);
}

std::size_t solve_by_partition(const systems<float>& system, float* solution, executor& executor) {
  return solve_in_chunks(system, solution, executor);
}

}  // namespace shoal::reaction_diffusion::tridiagonal
#endif
