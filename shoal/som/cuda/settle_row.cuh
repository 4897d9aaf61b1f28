// A row whose best-matching unit a warp finds, from the least scores of its tiles or from a list; and whole sums.
//
// Tiles whose least score is within the search's error of the least of all are looked at again:
// distances in Scalar, or in place of the tensor cores' scores the same scores in Scalar, leave nearly always one unit;
// of several, float64 decides.
#pragma once

#include <cuda_runtime.h>

#include <shoal/nearest/cuda/least_two.cuh>
#include <shoal/som/cuda/distance.cuh>
#include <shoal/som/cuda/fixed_number.cuh>
#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {
namespace {

constexpr int warps = 8;
constexpr int staged_columns = 256;  // of a row that a warp keeps in shared memory
constexpr unsigned all_lanes = ~0u;

template <class Scalar>
struct settle_arguments {
  searched_rows<Scalar> rows;
  device_units<Scalar> units;
  settled_rows to;
  fixed_sums sums;
  lattice_shape shape;
};

template <class Value>
__device__ Value from_lane(Value value, int step) {
  return __shfl_xor_sync(all_lanes, value, step);
}

__device__ double bound_of(unsigned long long bits) { return __longlong_as_double(static_cast<long long>(bits)); }

// The two best units of a row by the definition.
struct best_two {
  double first = static_cast<double>(INFINITY), second = static_cast<double>(INFINITY);
  int first_unit = 0x7fffffff, second_unit = 0x7fffffff;

  __device__ static bool before(double a, int unit_a, double b, int unit_b) {
    return a < b || (a == b && unit_a < unit_b);
  }
  __device__ void take(double distance, int unit) {
    if (before(distance, unit, first, first_unit)) {
      second = first, second_unit = first_unit;
      first = distance, first_unit = unit;
    } else if (before(distance, unit, second, second_unit)) {
      second = distance, second_unit = unit;
    }
  }
  __device__ void join(int step) {
    const double a = from_lane(first, step), b = from_lane(second, step);
    const int unit_a = from_lane(first_unit, step), unit_b = from_lane(second_unit, step);
    take(a, unit_a);
    take(b, unit_b);
  }
};

// Sums over Lanes neighbouring threads of several numbers, in the order of a warp's sum. A thread gets that of
// number_of_lane().
constexpr int summed_together = 4;
template <int Lanes>
__device__ double sum_each(const double (&values)[summed_together]) {
  static_assert(summed_together == 4 && Lanes >= 4);
  const bool upper = threadIdx.x & Lanes / 2, odd = threadIdx.x & Lanes / 4;
  const auto halve = [](bool keeps_second, double first, double second, int step) {
    const double kept = keeps_second ? second : first, sent = keeps_second ? first : second;
    return kept + from_lane(sent, step);
  };
  const double a = halve(upper, values[0], values[2], Lanes / 2), b = halve(upper, values[1], values[3], Lanes / 2);
  double sum = halve(odd, a, b, Lanes / 4);
  for (int step = Lanes / 8; step > 0; step /= 2) sum += from_lane(sum, step);
  return sum;
}
template <int Lanes>
__device__ int number_of_lane() {
  return (threadIdx.x & Lanes / 2 ? 2 : 0) + (threadIdx.x & Lanes / 4 ? 1 : 0);
}

// The power of two that no sum of distances leaves 64 bits with.
__device__ double error_scale(const fixed_sums& sums, double unit_norm) {
  const double most = fmax(sums.error_limit + sums.total_weight * unit_norm, 0x1p-900);
  const int exponent = static_cast<int>(__double_as_longlong(most) >> 52) - 1023;
  return __longlong_as_double(static_cast<long long>(1023 + 60 - exponent) << 52);
}

struct least_of_parts {
  float first = INFINITY, second = INFINITY;
  int column = 0;
  __device__ void take(const near_columns& other) {
    second = fminf(fminf(second, other.second), fmaxf(first, other.first));
    if (other.first < first || (other.first == first && other.column < column)) column = other.column;
    first = fminf(first, other.first);
  }
};

// What rounding to one bf16 number leaves of a row, and rounding to two of them.
struct rounded_parts {
  double second_squares = 0, residual_squares = 0;
  __device__ static float rounded(float x) {
    return __uint_as_float((__float_as_uint(x) + 0x7fffu + (__float_as_uint(x) >> 16 & 1)) & 0xffff0000u);
  }
  __device__ void add(float x) {
    const float left = x - rounded(x), residual = left - rounded(left);
    second_squares += static_cast<double>(left) * static_cast<double>(left);
    residual_squares += static_cast<double>(residual) * static_cast<double>(residual);
  }
};

// Scores stand for the products of the tensor cores, else for distances.
template <class Scalar, metric Metric, score_kind Scores>
struct row_task {
  [[maybe_unused]] static constexpr bool products = Scores == score_kind::products;
  [[maybe_unused]] static constexpr bool lists = Scores == score_kind::lists;
  const settle_arguments<Scalar>& in;
  const Scalar* row;     // as it came
  const Scalar* staged;  // x′, or null
  int lane;

  __device__ Scalar centred(int j) const {
    if (staged != nullptr) return staged[j];
    return Metric == metric::cosine ? row[j] : row[j] - in.units.centre[j];
  }

  // What search_tensor's scores may be off by: products of second parts and of what is beyond them are left out, and
  // sums cut terms off at a unit of their greatest one, 18 of them in a product. Sums of columns are no greater than
  // the two norms' product; half a squared norm and the offset come in with the last chunk. The definition's own
  // roundings are relative to the distance.
  __device__ double error_of_products(double norm) const {
    rounded_parts parts;
    for (int j = lane; j < in.units.columns; j += 32) parts.add(static_cast<float>(centred(j)));
    for (int step = 16; step > 0; step /= 2) {
      parts.second_squares += from_lane(parts.second_squares, step);
      parts.residual_squares += from_lane(parts.residual_squares, step);
    }
    return error_of_products(norm, parts);
  }
  __device__ double error_of_products(double norm, const rounded_parts& parts) const {
    const double second = sqrt(parts.second_squares), residual = sqrt(parts.residual_squares);
    const double unit = bound_of(in.units.bounds->norm), unit_second = bound_of(in.units.bounds->second),
                 unit_residual = bound_of(in.units.bounds->residual);
    const operand_shape shape = operands_for(in.units.columns);
    const double cut = 18 * 0x1p-23;
    const double product = norm * unit, half = Metric == metric::cosine ? 0.0 : 0.5 * unit * unit;
    const double greatest = 1.05 * fmax(product, half), magnitude = 2.1 * product + 1.05 * half;
    return second * unit_second + residual * unit + norm * 1.01 * unit_residual +  // what is left out
           8 * 0x1p-24 * magnitude +                                               // roundings of the inputs
           cut * shape.chunks * 2.1 * (second * unit + norm * unit_second) +
           cut * first_products(shape, precision::float32) * greatest + 0x1p-23 * magnitude +
           definition_error<Metric>(norm, unit, in.units.columns) +
           4.0 * (in.units.columns + 16) * 0x1p-126 * (1 + norm + unit);
  }

  __device__ Scalar bound_of_candidates(Scalar least, double norm) const {
    const double unit = bound_of(in.units.bounds->norm);
    const int columns = in.units.columns;
    if constexpr (products) return score_bound<Metric>(least, norm, unit, columns, columns);
    // Listed units have scores too, sums over a warp's lanes of short sums.
    if constexpr (lists && sizeof(Scalar) == 4) {
      return score_bound<Metric>(least, norm, unit, columns, (columns + 31) / 32 + 5);
    }
    return candidate_bound<Metric>(least, norm, unit, columns);
  }

  // One column's part of a score; the cosine's scores are those of the products.
  __device__ static Scalar add(Scalar sum, Scalar x, Scalar unit) {
    return add_column < products ? metric::cosine : Metric > (sum, x, unit);
  }

  // Calls visit(unit, score in Scalar) for the lane's two units of a tile.
  template <class Visit>
  __device__ void measure(int tile, const Visit& visit) const {
    const int place = tile * unit_tile + lane, columns = in.units.columns;
    Scalar a = 0, b = 0;
    if constexpr (products) a = in.units.starts[place], b = in.units.starts[place + 32];
    const Scalar* from = in.units.turned + place;
    const std::size_t padded = static_cast<std::size_t>(in.units.padded);
#pragma unroll 4
    for (int j = 0; j < columns; ++j) {
      const Scalar x = centred(j);
      a = add(a, x, from[j * padded]);
      b = add(b, x, from[j * padded + 32]);
    }
    if (place < in.units.units) visit(in.units.at_place[place], a);
    if (place + 32 < in.units.units) visit(in.units.at_place[place + 32], b);
  }

  // The same for the unit of the lane's number in a column of a tile, for the first 16 lanes: the others help.
  template <class Visit>
  __device__ void measure_column(int tile, int column, const Visit& visit) const {
    const int place = tile * unit_tile + 16 * column + lane % 16, columns = in.units.columns;
    Scalar sum = lane < 16 ? in.units.starts[place] : Scalar{0};
    const Scalar* from = in.units.turned + place;
    const std::size_t padded = static_cast<std::size_t>(in.units.padded);
#pragma unroll 4
    for (int j = lane / 16; j < columns; j += 2) sum = add(sum, centred(j), from[j * padded]);
    sum += from_lane(sum, 16);
    if (lane < 16 && place < in.units.units) visit(in.units.at_place[place], sum);
  }

  // The column of a tile that has the row's least score, when the search proves that it has the row's unit; else -1.
  // With rough units it always does.
  __device__ int only_column(const Scalar* minima, int row, double norm) const {
    least_of_parts least;
    for (int part = lane; part < in.rows.parts; part += 32) {
      least.take(in.rows.near[static_cast<std::size_t>(row) * in.rows.parts + part]);
    }
    for (int step = 16; step > 0; step /= 2) {
      least.take({from_lane(least.first, step), from_lane(least.second, step), from_lane(least.column, step)});
    }
    if (in.units.rough()) {
      if (!(least.first < 0x1p125f)) return -1;  // beyond float32's range a rough score says nothing either
    } else {
      const double gap = 2 * error_of_products(norm);
      if (!(static_cast<double>(least.second) - static_cast<double>(least.first) > gap)) return -1;
    }
    // Of tile_group tiles the first that has this score; NaN is in none.
    const int start = least.column / tile_group * tile_group;
    const bool here = lane < tile_group && static_cast<float>(minima[start + lane % tile_group]) == least.first;
    const int tile = start + max(__ffs(__ballot_sync(all_lanes, here)) - 1, 0);
    return tile * tile_group + least.column % tile_group;
  }

  __device__ double exactly(int unit) const {
    const double* const to = in.units.exact + static_cast<std::size_t>(unit) * in.units.columns;
    double sum = 0;
#pragma unroll 4
    for (int j = 0; j < in.units.columns; ++j) sum = add_exactly<Metric>(sum, static_cast<double>(row[j]), to[j]);
    return sum;
  }

  // Calls visit(tile) for tiles whose least score is not beyond `most`, all lanes together.
  template <class Visit>
  __device__ void for_tiles(const Scalar* minima, Scalar most, const Visit& visit) const {
    const int tiles = in.units.padded / unit_tile;
    for (int start = 0; start < tiles; start += 32) {
      const Scalar least = start + lane < tiles ? minima[start + lane] : static_cast<Scalar>(INFINITY);
      unsigned open = __ballot_sync(all_lanes, start + lane < tiles && !(least > most));
      while (open != 0) {
        visit(start + __ffs(open) - 1);
        open &= open - 1;
      }
    }
  }

  // The best two units of those whose scores in Scalar the lanes have in `near`, and in `most` what scores are at most
  // that limit_of() is asked of. Where the scores leave no other two, and say which of them is the best, nothing else
  // is measured; where two of the open units are one lane's, take_all() goes through all.
  template <class Limit, class TakeAll>
  __device__ void decide_two(const least_two<Scalar>& near, const least_two<Scalar>& most, const Limit& limit_of,
                             best_two& best, const TakeAll& take_all) const {
    Scalar first = most.first, second = most.second;
    for (int step = 16; step > 0; step /= 2) {
      const Scalar other_first = from_lane(first, step), other_second = from_lane(second, step);
      const Scalar loser = first < other_first ? other_first : first;
      second = second < other_second ? second : other_second;
      second = second < loser ? second : loser;
      first = first < other_first ? first : other_first;
    }
    const Scalar best_bound = limit_of(first), bound = limit_of(second);
    const bool open = !(near.first > bound);
    if (__any_sync(all_lanes, !(near.second > bound))) {
      take_all();
    } else {
      const unsigned both = __ballot_sync(all_lanes, open);
      const unsigned front = __ballot_sync(all_lanes, open && !(near.first > best_bound));
      if (__popc(both) == 2 && __popc(front) == 1) {
        best.first_unit = __shfl_sync(all_lanes, near.nearest, __ffs(front) - 1);
        best.second_unit = __shfl_sync(all_lanes, near.nearest, __ffs(both & ~front) - 1);
        return;
      }
      if (open) best.take(exactly(near.nearest), near.nearest);
    }
    for (int step = 16; step > 0; step /= 2) best.join(step);
  }

  // The best-matching unit of row i, and with Two the second one. `norm`: the row's; `alike`: every unit is as near.
  template <bool Two>
  __device__ best_two find(int i, double norm, bool alike) const {
    const int tiles = in.units.padded / unit_tile;
    const Scalar* const minima = in.rows.minima + static_cast<std::size_t>(i) * tiles;
    best_two best;
    const auto take_exactly_at = [&](int place) {
      if (place < in.units.units) best.take(exactly(in.units.at_place[place]), in.units.at_place[place]);
    };
    // What scores in Scalar leave: one unit, or several for the definition; several of a lane are looked for again.
    const auto decide = [&](const least_two<Scalar>& near, const auto& for_own_units) {
      Scalar nearest = near.first;
      for (int step = 16; step > 0; step /= 2) {
        const Scalar other = from_lane(nearest, step);
        nearest = other < nearest ? other : nearest;
      }
      const Scalar bound = in.units.rough() ? nearest : bound_of_candidates(nearest, norm);
      const bool one = !(near.first > bound), several = !(near.second > bound);
      const unsigned ones = __ballot_sync(all_lanes, one);
      if (__popc(ones) == 1 && !__any_sync(all_lanes, several)) {
        best.first_unit = __shfl_sync(all_lanes, near.nearest, __ffs(ones) - 1);
        return;
      }
      if (one && !several && near.first < static_cast<Scalar>(INFINITY)) best.take(exactly(near.nearest), near.nearest);
      for_own_units(several);
      for (int step = 16; step > 0; step /= 2) best.join(step);
    };
    int only = -1;
    if constexpr (products && !Two) {
      if (!alike) only = only_column(minima, i, norm);
    }
    if (alike) {
      best.first_unit = 0;
      best.second_unit = 1;
    } else if (only >= 0) {
      least_two<Scalar> near;
      const auto measure = [&](int unit, Scalar score) { near.take(score, unit); };
      measure_column(only / tile_group, only % tile_group, measure);
      decide(near, [&](bool several) {
        // A lane has one unit here; it is without a distance where that left Scalar's range.
        if (several && lane < 16) take_exactly_at(only / tile_group * unit_tile + only % tile_group * 16 + lane);
      });
    } else {
      // Of the tiles' least scores the least one, and the one after it.
      least_two<Scalar> least;
      for (int t = lane; t < tiles; t += 32) least.take(minima[t], t);
      for (int step = 16; step > 0; step /= 2) {
        const Scalar first = from_lane(least.first, step), second = from_lane(least.second, step);
        const Scalar loser = least.first < first ? first : least.first;
        least.second = least.second < second ? least.second : second;
        least.second = least.second < loser ? least.second : loser;
        least.first = least.first < first ? least.first : first;
      }
      // Where the second-best unit is wanted: it may be in the best one's tile or in another, and is no farther than
      // the best of the second tile. With one tile every unit is looked at.
      const Scalar limit = Two ? least.second : least.first;
      Scalar most;
      if constexpr (!products) {
        most = bound_of_candidates(limit, norm);
      } else if (in.units.rough()) {
        most = Two ? limit : static_cast<Scalar>(INFINITY);  // for one unit only where scores left float32's range
      } else {
        const double wide = static_cast<double>(limit) + 2 * error_of_products(norm);
        most = static_cast<Scalar>(wide * (1 + 0x1p-22));
      }
      const auto take_exactly = [&](int tile) {
        for (int place = tile * unit_tile + lane; place < (tile + 1) * unit_tile; place += 32) take_exactly_at(place);
      };
      least_two<Scalar> near;
      for_tiles(minima, most,
                [&](int tile) { measure(tile, [&](int unit, Scalar score) { near.take(score, unit); }); });
      if constexpr (Two) {
        const auto limit_of = [&](Scalar score) { return bound_of_candidates(score, norm); };
        decide_two(near, near, limit_of, best, [&] { for_tiles(minima, most, take_exactly); });
      } else {
        decide(near, [&](bool several) {
          if (!__any_sync(all_lanes, several)) return;
          for_tiles(minima, most, [&](int tile) {
            if (several) take_exactly(tile);
          });
        });
      }
    }
    return best;
  }
};

// Rows whose squares are added up in several parts.
__host__ __device__ constexpr bool in_parts(int columns) { return distance_columns(columns) < columns; }

// What rows add to the sums, a row of the warp after the other. With Wide, for rows in parts, four parts are on their
// way from memory at a time. That takes 80 registers instead of 64 and a quarter of a multiprocessor's warps, also
// where nothing is added: 10⁷ float32 rows × 8 columns on 4096 units took 18.2 ms an epoch on an H200 instead of 16.0.
template <class Scalar, metric Metric, bool Wide>
class row_terms {
 public:
  __device__ row_terms(const settle_arguments<Scalar>& in, int lane)
      : in_(in),
        lane_(lane),
        adds_rows_(in.to.rows && !in.to.distances_alone),
        scale_(in.to.sums == nullptr ? 0 : error_scale(in.sums, bound_of(in.units.bounds->norm))) {}

  // Of row i, of this norm: distances in float64, sums about the centre.
  __device__ void add(int i, int label, double norm) {
    if (lane_ == 0 && in_.to.labels != nullptr) in_.to.labels[i] = label;
    if (in_.to.sums == nullptr) return;
    const int columns = in_.units.columns;
    const Scalar* const row = in_.rows.rows + static_cast<std::size_t>(i) * columns;
    const double weight = in_.rows.weights == nullptr ? 1.0 : static_cast<double>(in_.rows.weights[i]);
    const double* const own = in_.units.exact + static_cast<std::size_t>(label) * columns;
    const std::size_t place = static_cast<std::size_t>(label) * (columns + 1);
    double distance = Wide ? measure_wide(row, own, place, weight) : measure(row, own, place, weight);
    if (lane_ != 0) return;
    if (!in_.to.distances_alone) {
      add_fixed(in_.sums.whole + place + columns, in_.sums.rest + place + columns, weight, in_.sums.scale[columns],
                in_.sums.rest_scale);
    }
    if (Metric == metric::euclidean) distance = sqrt(distance);
    if (Metric == metric::cosine) distance = norm > 0 ? fmax(0.0, 1 + distance / norm) : 1.0;
    const double scaled = weight * distance * scale_;
    const long long whole = __double2ll_rn(scaled);
    error_whole_ += whole;
    error_rest_ += __double2ll_rn((scaled - static_cast<double>(whole)) * in_.sums.rest_scale);
  }

  // What a row adds where its two best units are not neighbours.
  __device__ void add_torn(int i, const best_two& best) const {
    if (in_.to.sums == nullptr || lane_ != 0 || in_.units.units <= 1) return;
    if (are_neighbors(in_.shape, static_cast<std::size_t>(best.first_unit),
                      static_cast<std::size_t>(best.second_unit))) {
      return;
    }
    const double weight = in_.rows.weights == nullptr ? 1.0 : static_cast<double>(in_.rows.weights[i]);
    add_fixed(in_.sums.torn, in_.sums.torn + 1, weight, in_.sums.scale[in_.units.columns], in_.sums.rest_scale);
  }

  __device__ void finish() const {
    if (in_.to.sums == nullptr || lane_ != 0) return;
    if (error_whole_ != 0) atomicAdd(reinterpret_cast<unsigned long long*>(in_.sums.error), error_whole_);
    if (error_rest_ != 0) atomicAdd(reinterpret_cast<unsigned long long*>(in_.sums.error + 1), error_rest_);
  }

 private:
  // The distance in every lane, or in the first one; with rows to add also these.
  __device__ double measure(const Scalar* row, const double* own, std::size_t place, double weight) const {
    const int columns = in_.units.columns;
    double distance = 0;
    // Squares are added up in parts, as sum_by_label() has them.
    const int part_columns = Metric == metric::euclidean ? distance_columns(columns) : columns;
    for (int begin = 0; begin < columns; begin += part_columns) {
      const int end = min(begin + part_columns, columns);
      double part = 0;
#pragma unroll 4
      for (int j = begin + lane_; j < end; j += 32) {
        const double x = static_cast<double>(row[j]);
        part = add_exactly<Metric>(part, x, own[j]);
        if (!adds_rows_) continue;
        const double centred = Metric == metric::cosine ? x : x - static_cast<double>(in_.units.centre[j]);
        add_fixed(in_.sums.whole + place + j, in_.sums.rest + place + j, weight * centred, in_.sums.scale[j],
                  in_.sums.rest_scale);
      }
      distance += join_lanes(part);
    }
    return distance;
  }

  __device__ double measure_wide(const Scalar* row, const double* own, std::size_t place, double weight) const {
    const int columns = in_.units.columns;
    double distance = 0;
    const int part_columns = Metric == metric::euclidean ? distance_columns(columns) : columns;
    for (int begin = 0; begin < columns; begin += summed_together * part_columns) {
      double parts[summed_together] = {};
#pragma unroll
      for (int p = 0; p < summed_together; ++p) {
        const int first = begin + p * part_columns, end = min(first + part_columns, columns);
        if (first < columns) parts[p] = measure_part(row, own, first, end, place, weight);
      }
      if (begin + part_columns >= columns) {
        distance += join_lanes(parts[0]);
      } else {
        // The tree of each part is the same; the ways between lanes are taken together.
        const double sum = sum_each<32>(parts);
#pragma unroll
        for (int p = 0; p < summed_together; ++p) distance += __shfl_sync(all_lanes, sum, 32 / summed_together * p);
      }
    }
    return distance;
  }

  __device__ static double join_lanes(double part) {
    for (int step = 16; step > 0; step /= 2) {
      const double other = from_lane(part, step);
      part = Metric == metric::chebyshev ? fmax(part, other) : part + other;
    }
    return part;
  }

  // The lane's squares of the columns [first, end); with rows to add also these. Values are read ahead of the atomics,
  // which no read may pass.
  __device__ double measure_part(const Scalar* row, const double* own, int first, int end, std::size_t place,
                                 double weight) const {
    constexpr int ahead = 4;
    double part = 0;
    for (int start = first + lane_; start < end; start += 32 * ahead) {
      double x[ahead], unit[ahead], centre[ahead] = {}, scale[ahead] = {};
#pragma unroll
      for (int t = 0; t < ahead; ++t) {
        const int j = min(start + 32 * t, end - 1);
        x[t] = static_cast<double>(row[j]);
        unit[t] = own[j];
        if (!adds_rows_) continue;
        if (Metric != metric::cosine) centre[t] = static_cast<double>(in_.units.centre[j]);
        scale[t] = in_.sums.scale[j];
      }
#pragma unroll
      for (int t = 0; t < ahead; ++t) {
        const int j = start + 32 * t;
        if (j >= end) break;
        part = add_exactly<Metric>(part, x[t], unit[t]);
        if (!adds_rows_) continue;
        const double centred = Metric == metric::cosine ? x[t] : x[t] - centre[t];
        add_fixed(in_.sums.whole + place + j, in_.sums.rest + place + j, weight * centred, scale[t],
                  in_.sums.rest_scale);
      }
    }
    return part;
  }

  const settle_arguments<Scalar>& in_;
  int lane_;
  bool adds_rows_;
  double scale_;
  long long error_whole_ = 0, error_rest_ = 0;
};

// The norm of a row about the centre; with `staged` its values there too. Every lane comes here.
template <metric Metric, class Scalar>
__device__ double norm_of_row(const settle_arguments<Scalar>& in, const Scalar* row, Scalar* staged, int lane,
                              bool& zero) {
  double norm = 0;
  zero = true;
  __syncwarp();
  const auto centred = [&](int j) { return Metric == metric::cosine ? row[j] : row[j] - in.units.centre[j]; };
  const auto take = [&](int j, Scalar x) {
    if (staged != nullptr) staged[j] = x;
    norm = add_to_norm<Metric>(norm, static_cast<double>(x));
    zero = zero && x == 0;
  };
  // Reads do not pass writes, so several of a wide row come before them.
  constexpr int ahead = 8;
  int j = lane;
  for (; j + 32 * (ahead - 1) < in.units.columns; j += 32 * ahead) {
    Scalar x[ahead];
#pragma unroll
    for (int t = 0; t < ahead; ++t) x[t] = centred(j + 32 * t);
#pragma unroll
    for (int t = 0; t < ahead; ++t) take(j + 32 * t, x[t]);
  }
  for (; j < in.units.columns; j += 32) take(j, centred(j));
  __syncwarp();
  for (int step = 16; step > 0; step /= 2) norm = join_norms<Metric>(norm, from_lane(norm, step));
  zero = __all_sync(all_lanes, zero);
  return norm_of<Metric>(norm);
}

}  // namespace
}  // namespace shoal::som
