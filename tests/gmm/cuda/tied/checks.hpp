// What the tests of tied mixtures share: an accumulator that learns rows on a GPU, and its sums against float64.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/execution/precision.hpp>
#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/learning_accumulator.hpp>
#include <shoal/gmm/cuda/plain/plain.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/statistics.hpp>

#include "../../kernel_checks.hpp"
#include "../few_columns/checks.hpp"
#include "../mixture.hpp"
#include "../nobody.hpp"

namespace checks {

template <class Scalar>
using make_learning = std::unique_ptr<shoal::gmm::learning_accumulator<Scalar>> (*)(
    const shoal::gmm::accumulator_shape&, std::size_t shards, std::unique_ptr<shoal::gmm::accumulator<Scalar>> other);

// What `make` makes, beside nobody or beside plain kernels; rows are learnt in pieces.
template <class Scalar>
struct learning_device {
  learning_device(const shoal::gmm::model& model, const std::vector<Scalar>& rows, make_learning<Scalar> make,
                  bool alone, std::size_t piece, shoal::precision precision = shoal::precision::float32)
      : layout(model.covariance_type, model.components, model.columns),
        count(rows.size() / model.columns),
        mixture(shoal::gmm::prepare<Scalar>(model), stream) {
    shoal::gmm::accumulator_shape shape = shape_of(layout, count, false);
    shape.precision = precision;
    std::unique_ptr<shoal::gmm::accumulator<Scalar>> other = std::make_unique<nobody<Scalar>>();
    if (!alone) other = shoal::gmm::plain::make_accumulator<Scalar>(shape);
    learning = make(shape, 1, std::move(other));
    device_rows.upload(rows, stream);
    for (std::size_t first = 0; first < count; first += piece) {
      learning->learn(
          0, {device_rows.data() + first * model.columns, nullptr, first, first, std::min(piece, count - first)},
          stream);
    }
    stream.synchronize();
  }

  shoal::gmm::statistics sums(std::size_t piece = std::size_t{1} << 30, std::size_t shard = 0) {
    learning->expect_shard(shard);
    return accumulate_on_device<Scalar>(*learning, mixture.view(), layout, count, device_rows.data(), nullptr, piece,
                                        stream);
  }

  shoal::cuda::stream stream;
  shoal::gmm::statistics_layout layout;
  std::size_t count;
  device_mixture<Scalar> mixture;
  std::unique_ptr<shoal::gmm::learning_accumulator<Scalar>> learning;
  shoal::cuda::device_buffer<Scalar> device_rows;
};

template <class Scalar>
void expect_tied_sums(const shoal::gmm::statistics& got, const shoal::gmm::model& model,
                      const std::vector<Scalar>& rows, double tolerance, const std::string& what) {
  expect_close(got, expected_sums<Scalar>(model, rows, {}), tolerance, what);
}

// Sums of a random mixture's rows by what `make` makes, again, and in pieces, in which they may be learnt as well.
template <class Scalar>
void check_learning(std::size_t rows, std::size_t columns, std::size_t components, double spread, double tolerance,
                    make_learning<Scalar> make, bool alone) {
  const auto seed = static_cast<unsigned>(rows + 17 * columns + 1001 * components);
  const auto model = rounded_model(covariance_type::tied, components, columns, spread, seed);
  const auto data = reference::random_rows<Scalar>(model, rows, columns, seed + 1);
  const std::string what =
      fmt::format("{} rows, {} columns, {} components, spread {}", rows, columns, components, spread);
  learning_device<Scalar> device(model, data, make, alone, rows);
  const shoal::gmm::statistics got = device.sums();
  expect_tied_sums(got, model, data, tolerance, what);
  expect_same_bits(device.sums(), got, what + ", again");
  if (rows <= 4096) return;
  expect_same_bits(device.sums(4096), got, what + ", in pieces of 4096");
  learning_device<Scalar> in_pieces(model, data, make, alone, 4096);
  expect_same_bits(in_pieces.sums(8192), got, what + ", learnt in pieces of 4096");
}

}  // namespace checks
