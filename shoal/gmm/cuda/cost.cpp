#include <shoal/gmm/cuda/cost.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>

#include <shoal/gmm/cuda/cost_table.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/tensor_float64/tensor_float64.hpp>
#include <shoal/gmm/cuda/tuning.hpp>

namespace shoal::gmm {
namespace {

// A shape as numbers. Rows are a shard's, which the number of GPUs does not change.
struct shape_numbers {
  covariance_type type;
  bool matrices;
  double value_bytes;
  double rows;      // in millions
  double products;  // of float16 terms for one of what was asked for
  std::size_t columns;
  std::size_t components;

  shape_numbers(const accumulator_shape& shape, std::size_t bytes)
      : type(shape.layout.type()),
        matrices(shape.layout.has_matrices()),
        value_bytes(static_cast<double>(bytes)),
        rows(static_cast<double>(shape.share_rows) / 1e6),
        products(shape.precision == precision::float32 ? 3 : 1),
        columns(shape.layout.columns()),
        components(shape.layout.components()) {}

  double d() const { return static_cast<double>(columns); }
  double K() const { return static_cast<double>(components); }
  double features() const { return type == covariance_type::spherical ? 1 : 2; }
};

constexpr double thousand = 1e3;
// Of a thread, beyond which its sums lie in memory.
constexpr double registers_for_sums = 190;
// Of tied mixtures, for which a block of tensor_float64 goes on to responsibilities.
constexpr std::size_t most_tied_block_components = 64;

std::size_t ceiling(std::size_t a, std::size_t b) { return (a + b - 1) / b; }
std::size_t padded(std::size_t count, std::size_t to) { return ceiling(count, to) * to; }

// The first of the sizes that holds so many, or the last one.
std::size_t fitting(std::size_t count, std::initializer_list<std::size_t> sizes) {
  for (const std::size_t size : sizes) {
    if (count <= size) return size;
  }
  return *std::prev(sizes.end());
}

double quotient(std::size_t a, std::size_t b) { return static_cast<double>(a) / static_cast<double>(b); }

double density_products(const shape_numbers& shape) {
  return shape.matrices ? shape.d() * (shape.d() + 1) / 2 : shape.d();
}

// A thread has a whole row, or a component's sums: the slowest thread of a stage makes the others wait.
cost_terms few_columns_terms(const shape_numbers& shape, const few_columns::block_use& use) {
  const auto threads = static_cast<double>(use.threads), blocks = static_cast<double>(use.blocks);
  const double padding = quotient(padded(use.stage_rows, use.threads), use.stage_rows);
  const double deepest = quotient(use.rounds * ceiling(use.stage_rows, use.slices), use.stage_rows);
  const auto sums = static_cast<double>(use.sums);
  const auto added = static_cast<double>(use.round_components * use.slices);
  const double spilled = std::max(0.0, sums * shape.value_bytes / 4 - registers_for_sums);
  cost_terms terms;
  terms.launch = 1;
  terms.row_bytes = shape.value_bytes * shape.rows * shape.d();
  terms.terms = shape.rows * shape.K();
  terms.padded_terms = shape.rows * padding * shape.K() / blocks / threads;
  terms.densities = shape.rows * padding * shape.K() * density_products(shape) / thousand;
  terms.moments = shape.rows * deepest * added * sums / thousand;
  terms.spilled_moments = shape.rows * deepest * added * spilled / thousand;
  terms.thread_moments = shape.rows * deepest * sums / blocks;
  if (use.blocks == 1) terms.flushes = shape.rows * static_cast<double>(use.slices * use.flushes);
  return terms;
}

cost_terms few_columns_teams_terms(const shape_numbers& shape, const few_columns::team_use& use) {
  const auto threads = static_cast<double>(use.expectation_threads);
  cost_terms terms;
  terms.launch = 1;
  terms.row_bytes = shape.value_bytes * shape.rows * shape.d();
  terms.padded_terms = shape.rows * shape.K() / threads;
  terms.densities = shape.rows * shape.K() * density_products(shape) / threads;
  terms.thread_moments =
      shape.rows * quotient(use.slice_rows, use.stage_rows) * static_cast<double>(use.sums * use.components);
  return terms;
}

cost_terms tensor_matrix_terms(const shape_numbers& shape) {
  const std::size_t wanted = std::max<std::size_t>(2, ceiling(shape.columns, 8));
  const std::size_t groups = wanted <= 8 ? wanted : padded(wanted, 4);
  const std::size_t steps = (groups + 1) / 2;
  const auto tiles = static_cast<double>(steps * (steps + 1));
  const auto width = static_cast<double>(8 * groups);
  cost_terms terms;
  terms.launch = 1;
  terms.row_bytes = shape.value_bytes * shape.rows * shape.d();
  terms.terms = shape.rows * shape.K();
  terms.densities = shape.rows * shape.K() * tiles * shape.products / thousand;
  terms.model = shape.K() * tiles / thousand;
  if (static_cast<int>(shape.components) >= least_moments_components(static_cast<int>(shape.products))) {
    terms.framed_moments = shape.rows * static_cast<double>(padded(shape.components, 64)) * width * (width + 1) / 2 *
                           shape.products / (thousand * thousand);
  } else {
    (groups > 8 ? terms.team_moments : terms.moments) = shape.rows * shape.K() * tiles / thousand;
  }
  return terms;
}

cost_terms tensor_diagonal_terms(const shape_numbers& shape) {
  const auto columns = static_cast<double>(fitting(shape.columns, {16, 32, 64, 96, 128}));
  const double width = shape.columns <= 64 ? 64 : 128;
  const auto tiles = static_cast<double>(padded(shape.components, 128));
  cost_terms terms;
  terms.launch = 1;
  terms.rows = shape.rows;
  terms.row_bytes = shape.value_bytes * shape.rows * columns;
  terms.moved = shape.rows * width * shape.features() * (shape.products == 3 ? 4 : 2);
  terms.terms = shape.rows * shape.K();
  terms.padded_terms = shape.rows * tiles;
  terms.densities = shape.rows * tiles * columns * shape.features() * shape.products / thousand;
  terms.moments = shape.rows * tiles * width * shape.features() * shape.products / thousand;
  terms.model = shape.K() * shape.d() / thousand;
  return terms;
}

// Components and columns as their first moments are padded.
double framed_sums(const shape_numbers& shape) {
  const bool few = shape.components <= 32;
  const std::size_t tile = shape.columns <= 32 ? 32 : (shape.columns <= 64 || !few ? 64 : 128);
  return static_cast<double>(padded(shape.components, few ? 32 : 64) * padded(shape.columns, tile));
}

// Rows are whitened once for all components, and second moments are those of all rows.
cost_terms tied_float64_terms(const shape_numbers& shape) {
  const auto width = static_cast<double>(padded(shape.columns, 8));
  const double triangle = static_cast<double>(padded(shape.columns, 16)) * (width + 8) / 2;
  cost_terms terms;
  terms.launch = 1;
  terms.rows = shape.rows;
  terms.row_bytes = shape.value_bytes * shape.rows * shape.d();
  terms.terms = shape.rows * shape.K();
  // Beyond so many they go through memory as log-densities too.
  if (shape.components > most_tied_block_components) terms.moved = shape.rows * shape.K();
  terms.densities = shape.rows * (triangle + static_cast<double>(padded(shape.components, 8)) * width) / thousand;
  terms.moments = shape.rows * (framed_sums(shape) + triangle) / thousand;
  terms.model = shape.K() * shape.d() * shape.d() / (thousand * thousand);
  return terms;
}

cost_terms tensor_float64_terms(const shape_numbers& shape) {
  if (shape.type == covariance_type::tied) return tied_float64_terms(shape);
  cost_terms terms;
  terms.launch = 1;
  terms.rows = shape.rows;
  if (shape.matrices) {
    const std::size_t tile = fitting(shape.columns, {32, 64, 128});
    const std::size_t across = ceiling(shape.columns, tile);
    const auto area = static_cast<double>(across * (across + 1) / 2 * tile * tile);
    // Each component reads the rows for itself.
    terms.row_bytes = shape.value_bytes * shape.rows * shape.K() * shape.d() / thousand;
    terms.terms = shape.rows * shape.K();
    terms.densities = shape.rows * shape.K() *
                      static_cast<double>(padded(shape.columns, 16) * (padded(shape.columns, 8) + 8)) / 2 / thousand;
    terms.moments = shape.rows * shape.K() * area / thousand;
    terms.model = shape.K() * shape.d() * shape.d() / (thousand * thousand);
    return terms;
  }
  // Components of a tile of log-densities: those of each size of tiles have coefficients for themselves.
  const auto tiles =
      static_cast<double>(shape.components <= 128 ? fitting(shape.components, {8, 16, 24, 32, 48, 64, 96, 128})
                                                  : padded(shape.components, 256));
  terms.row_bytes = shape.value_bytes * shape.rows * shape.d();
  terms.terms = shape.rows * shape.K();
  terms.densities = shape.rows * tiles * static_cast<double>(padded(shape.columns, 16)) * shape.features() / thousand;
  terms.model = shape.K() * shape.d() / thousand;
  return terms;
}

cost_terms plain_terms(const shape_numbers& shape) {
  cost_terms terms;
  terms.launch = 1;
  terms.rows = shape.rows;
  terms.row_bytes = shape.value_bytes * shape.rows * shape.d();
  terms.terms = shape.rows * shape.K();
  terms.densities = shape.rows * shape.K() * (shape.matrices ? shape.d() * shape.d() / 2 : shape.d()) / thousand;
  return terms;
}

// No row of the table is of tensor_wide: rows of more than 128 columns are not timed yet.
template <class Scalar>
std::optional<cost_terms> terms_of(room_name room, const accumulator_shape& shape) {
  const shape_numbers numbers(shape, sizeof(Scalar));
  switch (room) {
    case room_name::few_columns_teams:
      if (const auto use = few_columns::use_of_teams(shape)) return few_columns_teams_terms(numbers, *use);
      break;
    case room_name::few_columns:
      if (const auto use = few_columns::use_of_blocks<Scalar>(shape)) return few_columns_terms(numbers, *use);
      break;
    case room_name::tensor_matrix:
      return tensor_matrix_terms(numbers);
    case room_name::tensor_diagonal:
      return tensor_diagonal_terms(numbers);
    case room_name::tensor_float64:
      if (sizeof(Scalar) == 4 && tensor_float64::reads_rows_once(shape)) break;
      return tensor_float64_terms(numbers);
    case room_name::plain:
      return plain_terms(numbers);
    case room_name::tensor_wide:
      break;
  }
  return std::nullopt;
}

double milliseconds_of(const cost_terms& terms, const cost_terms& each) {
  double sum = 0;
  for (double cost_terms::*const term :
       {&cost_terms::launch, &cost_terms::rows, &cost_terms::row_bytes, &cost_terms::moved, &cost_terms::terms,
        &cost_terms::padded_terms, &cost_terms::densities, &cost_terms::half_densities, &cost_terms::moments,
        &cost_terms::half_moments, &cost_terms::team_moments, &cost_terms::thread_moments, &cost_terms::spilled_moments,
        &cost_terms::framed_moments, &cost_terms::flushes, &cost_terms::model}) {
    sum += terms.*term * each.*term;
  }
  return sum;
}

bool covers(const room_cost& known, room_name room, std::size_t value_bytes, const accumulator_shape& shape) {
  const std::size_t columns = shape.layout.columns(), components = shape.layout.components();
  return known.room == room && known.value_bytes == value_bytes && known.first_type <= shape.layout.type() &&
         shape.layout.type() <= known.last_type && known.least_rows <= shape.share_rows &&
         known.least_columns <= columns && columns <= known.most_columns && known.least_components <= components &&
         components <= known.most_components;
}

}  // namespace

template <class Scalar>
std::optional<double> expected_milliseconds(room_name room, const accumulator_shape& shape) {
  for (const room_cost& known : known_costs) {
    if (!covers(known, room, sizeof(Scalar), shape)) continue;
    if (const std::optional<cost_terms> terms = terms_of<Scalar>(room, shape)) {
      return milliseconds_of(*terms, known.milliseconds);
    }
  }
  return std::nullopt;
}
template std::optional<double> expected_milliseconds<float>(room_name, const accumulator_shape&);
template std::optional<double> expected_milliseconds<double>(room_name, const accumulator_shape&);

}  // namespace shoal::gmm
