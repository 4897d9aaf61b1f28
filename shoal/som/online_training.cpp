#include <shoal/som/online_training.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/random/permutation.hpp>
#include <shoal/random/stream.hpp>
#include <shoal/som/maximise.hpp>
#include <shoal/som/neighborhood.hpp>
#include <shoal/som/schedule.hpp>

namespace shoal::som {
namespace {

// Different uses of one seed.
constexpr std::uint64_t block_order_stream = random::mix(0x736f6d, 3);
constexpr std::uint64_t row_order_stream = random::mix(0x736f6d, 4);

}  // namespace

template <class Scalar>
online_training<Scalar>::online_training(const fold_context& context, const weighted_rows<Scalar>& data,
                                         const data_summary& summary, const options& options,
                                         typename host_training<Scalar>::seed_function seed)
    : host_training<Scalar>(context, data, summary.total_weight, options, std::move(seed)),
      blocks_((summary.rows + block_rows - 1) / block_rows) {
  const std::size_t units = this->shape_.units();
  const std::size_t stride = (units + turned_unit - 1) / turned_unit * turned_unit;
  turned_.grow(stride * summary.columns);
  std::fill_n(turned_.data(), stride * summary.columns, 0.0);
  turned_view_ = {turned_.data(), units, summary.columns, stride};
  table_.resize(units);
  pulls_.resize(units + turned_unit);
}

// rate·h for the steps of one block.
template <class Scalar>
void online_training<Scalar>::set_table(std::size_t turn) {
  const options& options = this->options_;
  const lattice_shape& shape = this->shape_;
  const std::size_t steps = options.epochs * blocks_, step = this->epoch_ * blocks_ + turn;
  const double rate = decayed(options.rate_decay, options.rate, step, steps);
  const neighborhood_function h{options.neighborhood, decayed(options.radius_decay, radius_range(options), step, steps),
                                options.cutoff};
  reach_ = 0;
  for (std::uint32_t row = 0; row < shape.height; ++row) {
    for (std::uint32_t column = 0; column < shape.width; ++column) {
      const double pull = rate * h(squared_distance(shape, {row, column}));
      table_[std::size_t{row} * shape.width + column] = pull;
      if (pull != 0) reach_ = row + 1;
    }
  }
}

template <class Scalar>
void online_training<Scalar>::pull(const double* row, std::size_t unit, double weight) {
  const lattice_shape& shape = this->shape_;
  const auto at_row = static_cast<std::uint32_t>(unit / shape.width);
  const auto at_column = static_cast<std::uint32_t>(unit % shape.width);
  for (std::uint32_t r = 0; r < shape.height; ++r) {
    const std::uint32_t apart = row_offset(shape, at_row, r);
    if (apart >= reach_) continue;
    const double* const line = table_.data() + std::size_t{apart} * shape.width;
    double* const pulls = pulls_.data() + std::size_t{r} * shape.width;
    std::size_t first = shape.width, end = 0;
    for (std::uint32_t c = 0; c < shape.width; ++c) {
      pulls[c] = line[column_offset(shape, at_column, at_row % 2 != 0, c, r % 2 != 0)];
      if (pulls[c] == 0) continue;
      if (weight != 1) pulls[c] = 1 - std::pow(1 - pulls[c], weight);
      first = std::min<std::size_t>(first, c);
      end = c + 1;
    }
    if (first < end) {
      pull_units(turned_view_, row, pulls_.data(), std::size_t{r} * shape.width + first,
                 std::size_t{r} * shape.width + end);
    }
  }
}

// Returns Σ w·distance of the rows of the block as they came.
template <class Scalar>
double online_training<Scalar>::train_block(row_reader<Scalar>& reader, const block_place& place) {
  const std::size_t first = place.block * block_rows;
  const std::size_t count = std::min(block_rows, this->data_.rows->rows() - first);
  const row_block<Scalar> block = reader.read(first, count);
  set_table(place.turn);
  const std::uint64_t stream = random::mix(random::mix(row_order_stream, this->epoch_), place.block);
  std::vector<double> row(turned_view_.columns);
  double error = 0;
  for (const std::size_t i : random::permutation(count, random::stream(this->options_.seed, stream))) {
    const double weight =
        (block.weights == nullptr ? 1.0 : static_cast<double>(block.weights[i])) * this->data_.weight_scale;
    if (!(weight > 0)) continue;
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = static_cast<double>(block.rows(i, j));
    const matched_unit found = find_unit(this->options_.metric, turned_view_, row.data());
    error += weight * found.distance;
    pull(row.data(), found.unit, weight);
  }
  return error;
}

template <class Scalar>
std::vector<step_record> online_training<Scalar>::advance(std::size_t) {
  const std::size_t units = turned_view_.units, columns = turned_view_.columns;
  std::vector<double>& present = this->codebook_;
  for (std::size_t u = 0; u < units; ++u) {
    for (std::size_t j = 0; j < columns; ++j) turned_[j * turned_view_.stride + u] = present[u * columns + j];
  }
  row_reader<Scalar> reader(this->data_);
  const std::uint64_t stream = random::mix(block_order_stream, this->epoch_);
  double error = 0;
  std::size_t turn = 0;
  for (const std::size_t block : random::permutation(blocks_, random::stream(this->options_.seed, stream))) {
    if (this->context_.stop.stop_requested()) throw interrupted("stopped on request");
    error += train_block(reader, {block, turn++});
  }
  std::vector<double> next(units * columns);
  for (std::size_t u = 0; u < units; ++u) {
    for (std::size_t j = 0; j < columns; ++j) next[u * columns + j] = turned_[j * turned_view_.stride + u];
  }
  check_finite(next, columns);
  present = std::move(next);
  ++this->epoch_;
  step_record record;
  record.objective = error / this->total_weight_;
  return {record};
}

template class online_training<float>;
template class online_training<double>;

}  // namespace shoal::som
