// What the kernels of batch training read and write on one GPU, and the calls that launch them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/core/host_device.hpp>
#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/execution/precision.hpp>
#include <shoal/nearest/cuda/doubtful_rows.hpp>
#include <shoal/nearest/cuda/float16_operands.hpp>
#include <shoal/som/cuda/operand_layout.hpp>
#include <shoal/som/lattice.hpp>
#include <shoal/som/lattice_geometry.hpp>
#include <shoal/som/metric.hpp>
#include <shoal/som/neighborhood.hpp>
#include <shoal/som/options.hpp>

namespace shoal::som {

/// Upper bounds over all units that the search's proof needs, as the bits of float64 numbers, so that a maximum may be
/// atomic: norms are not negative, and order like their bits.
struct unit_bounds {
  unsigned long long norm = 0;  ///< of c′ in the metric: ‖c′‖, Σ|c′|, max|c′|; of units that a row may be near
  /// With row_norm the complements of the bits of the least norm of a unit of even number and of odd number: of two
  /// units, which those wanted may be, no row is farther than from these. 0: not known.
  unsigned long long nearness[2] = {};
  unsigned long long second = 0;    ///< of the length of c′'s second bf16 parts
  unsigned long long residual = 0;  ///< of the length of what two bf16 parts leave of c′
  search_bounds float16;            ///< of the search by float16 products
};

/// The units of a map in the memory of one GPU. c′ = c − centre; for the cosine c is first scaled to length 1 (0
/// stays), and only units are centred: x·centre is the same for all of them.
template <class Scalar>
struct device_units {
  int units = 0;
  int columns = 0;
  int padded = 0;  ///< units, up to a multiple of unit_tile · tile_group
  som::metric metric = som::metric::euclidean;
  shoal::precision precision = shoal::precision::float32;  ///< of the operands
  double* codebook = nullptr;                              ///< [units][columns]
  double* exact = nullptr;        ///< [units][columns] what decides; for the cosine of length 1, else codebook itself
  Scalar* centre = nullptr;       ///< [columns]
  const int* at_place = nullptr;  ///< [units] the unit at each place of operand_layout.hpp
  Scalar* turned = nullptr;       ///< [columns][padded] c′ by place; zero beyond the last unit
  Scalar* starts = nullptr;  ///< [padded] by place, what scores begin with, ‖c′‖²/2 or for the cosine 0; may be null
  unsigned char* operands = nullptr;  ///< −c′ for the tensor cores (operand_layout.hpp); null where they are not used
  Scalar* centred = nullptr;   ///< [units][columns] c′, for the search by float16 products; null where it is not used
  searched_centroids float16;  ///< the same units for it
  float* half_norms = nullptr;  ///< [float16.padded] float16.half_norms
  unit_bounds* bounds = nullptr;
  /// No row has a greater norm about the centre; negative: units that no row can be near are not looked for. Where
  /// they are, searches treat them as if they were not there (far_units.cuh).
  double row_norm = -1;
  /// Float64 rows of few columns are searched in float32: what x′ and c′ are multiplied by for it, a power of two that
  /// keeps their squares in range. Else 1.
  double searched_in = 1;
  double* searched = nullptr;  ///< with row_norm [units][columns] what float16.values is, else null
  /// Whether a near tie is settled by what the products leave of it alone.
  SHOAL_HD bool rough() const { return precision != shoal::precision::float32; }
};

/// The units of one row that a thread of search_tensor sees in a tile are a column of it: 16 of 64. Of a row and a part
/// of the tiles, the least two of the columns' least scores, and where the first is, the lowest of equals: tile_group
/// tiles have the same column 4 · (tile / tile_group) + column.
struct near_columns {
  float first = 0;
  float second = 0;
  int column = 0;
};

/// Rows that are searched at one time, and what the search leaves of their scores.
template <class Scalar>
struct searched_rows {
  const Scalar* rows = nullptr;
  const Scalar* weights = nullptr;  ///< null: all one
  int count = 0;
  Scalar* minima = nullptr;        ///< [count][padded / unit_tile] least score among the units of each tile
  near_columns* near = nullptr;    ///< [count][parts], by search_tensor
  int parts = 0;                   ///< tensor_parts()
  std::int32_t* labels = nullptr;  ///< [count] where the search decides rows itself; null: it does not
  doubtful_rows doubtful;          ///< with `labels` rows that it could not decide, for settle()
  listed_centroids listed;         ///< by list_near_float16
  std::int32_t* found = nullptr;   ///< [count] by search_float16, in the rougher precisions
};

/// Whole numbers that statistics are summed in: a sum does not depend on the order of its terms, nor do pieces, GPUs,
/// their blocks and atomics change a bit. A term is rounded to 1/scale, and what that leaves to 1/(scale · rest_scale);
/// no sum of all rows leaves 64 bits. Last place of a unit: Σ w.
struct fixed_sums {
  long long* whole = nullptr;     ///< [units][columns + 1]
  long long* rest = nullptr;      ///< [units][columns + 1]
  long long* error = nullptr;     ///< [2], Σ w·distance: whole and rest
  long long* torn = nullptr;      ///< [2], Σ w of rows whose two best units are not neighbours
  const double* scale = nullptr;  ///< [columns + 1], powers of two
  double error_limit = 0;         ///< Σ w · (the largest norm of a centred row), in the metric; for the cosine 2Σw
  double total_weight = 0;        ///< Σ w at most
  double rest_scale = 1;          ///< a power of two
};

/// Best-matching units: scores of float32 rows by tensor cores (needs units.operands, has_tensor_search), of any rows
/// by plain arithmetic. Both leave the least score of each row in each tile.
bool has_tensor_search(int device);
/// Parts of the tiles that different blocks search for the same rows: count · parts is at most most_near_columns().
int tensor_parts(int count, const device_units<float>& units, std::size_t multiprocessors);
constexpr std::size_t most_near_columns(std::size_t count, std::size_t multiprocessors) {
  return 4 * (count > 256 * multiprocessors ? count : 256 * multiprocessors);
}
void search_tensor(const searched_rows<float>& rows, const device_units<float>& units, std::size_t multiprocessors,
                   std::size_t shared_bytes, cudaStream_t stream);
template <class Scalar>
void search_plain(const searched_rows<Scalar>& rows, const device_units<Scalar>& units, std::size_t multiprocessors,
                  cudaStream_t stream);

/// How search scores differ from what they stand for, for settle().
enum class score_kind {
  products,  ///< of search_tensor: half squared distances plus a row's offset
  plain,     ///< of search_plain: distances (squared; negated products for the cosine)
  lists,     ///< none: list_near_float16 left the units that may be nearest
  found,     ///< none: search_float16 left the units
  proved,    ///< none: search_float16 left the units, but for doubtful rows
  none,      ///< there was no search: settle_short_rows does it
};

/// Where settle() leaves what it finds; null: not wanted.
struct settled_rows {
  std::int32_t* labels = nullptr;  ///< [count]
  const fixed_sums* sums = nullptr;
  bool distances_alone = false;          ///< Σ w·distance alone: sum_by_label() adds the others
  bool rows = false;                     ///< Σ w(x − m) too, not only weights, distances and what is torn
  const lattice_shape* shape = nullptr;  ///< of the map when the second-best units are looked for, for `torn`
};

/// Squared distances are sums of those of so many columns each: 32, 64, 96 or 128, in parts of nearly one size.
SHOAL_HD constexpr int distance_columns(int columns) {
  const int parts = (columns + 127) / 128;
  return (columns + 32 * parts - 1) / (32 * parts) * 32;
}

/// Numbers that read_sums() writes: [units][columns + 1], then Σ w·distance and what is torn.
constexpr std::size_t statistics_size(std::size_t units, std::size_t columns) { return units * (columns + 1) + 2; }

/// Finds each row's best-matching unit among the tiles that its minima leave: the unit of the least distance, taken in
/// float64 from the first column to the last, the lowest index on ties. Adds rows to the sums. With rough units the
/// column of the least score decides, and scores in Scalar within it.
template <class Scalar>
void settle(const searched_rows<Scalar>& rows, const device_units<Scalar>& units, score_kind scores,
            const settled_rows& to, std::size_t multiprocessors, cudaStream_t stream);

/// Into bounds->nearness, which prepare_units() and prepare_float16_units() then need; with row_norm alone.
template <class Scalar>
void find_nearness(const device_units<Scalar>& units, cudaStream_t stream);

/// Derives everything from `codebook` and `centre`; bounds must be zero before.
template <class Scalar>
void prepare_units(const device_units<Scalar>& units, cudaStream_t stream);
/// The same for the search by float16 products alone.
template <class Scalar>
void prepare_float16_units(const device_units<Scalar>& units, const float16_operands& operands, cudaStream_t stream);

/// Fixed sums into float64, and zeros into the sums and bounds.
template <class Scalar>
void read_sums(const fixed_sums& sums, const device_units<Scalar>& units, double* statistics, cudaStream_t stream);

/// One epoch's smoothing of statistics over the lattice, and the move of the units.
struct smoothing {
  lattice_shape shape;
  som::neighborhood kind = som::neighborhood::gaussian;
  double cutoff = 0;
  double rate = 1;                     ///< the share of the way that units go
  const double* radii = nullptr;       ///< [epochs]
  unsigned* epoch = nullptr;           ///< counts epochs; the number of the present one
  std::size_t columns = 0;             ///< of the codebook
  const double* statistics = nullptr;  ///< of read_sums()
  double* tables = nullptr;            ///< [table_doubles()]
  double* along = nullptr;             ///< [products][1 or 2][units][columns + 1] smoothed along the rows of the map
  double* smoothed = nullptr;          ///< [units][columns + 1]
  double* pull = nullptr;          ///< [pull_doubles()] parts of Σ|h|·n of units where h may be negative, else null
  double* history = nullptr;       ///< [epochs] Σ w·distance
  double* codebook = nullptr;      ///< [units][columns]
  const double* centre = nullptr;  ///< [columns] what the sums are about
  double* kept = nullptr;          ///< [units][columns] the codebook before the last move, else null
  unsigned* done = nullptr;        ///< blocks of smooth_few_units() that are done; zero in between
  int* not_finite = nullptr;       ///< with `kept`: becomes 1 when a move leaves a number that is not finite
  SHOAL_HD int products() const { return neighborhood_function{kind, 0, cutoff}.products(); }
  SHOAL_HD bool hexagonal() const { return shape.lattice == lattice::hexagonal; }
  std::size_t table_doubles() const;
  std::size_t along_doubles() const;
  std::size_t pull_doubles() const;
};
void smooth_and_move(const smoothing& all, cudaStream_t stream);
/// The same of small maps, which smooth_and_move() asks for.
bool are_few_to_smooth(const smoothing& all);
void smooth_few_units(const smoothing& all, cudaStream_t stream);

}  // namespace shoal::som
