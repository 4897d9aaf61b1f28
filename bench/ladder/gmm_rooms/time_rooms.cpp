// Times an expectation and its sums by every room of kernels that takes a shape, whichever would be chosen.
// gmm_room_times < CELLS: each line is TYPE SCALAR PRECISION ROWS COLUMNS COMPONENTS ("full float32 tf32 1000000 16
// 10") and is answered by a line of JSON: milliseconds by each room (median of the replays of one clear, add and
// merge).
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/plain/plain.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/tensor_diagonal.hpp>
#include <shoal/gmm/cuda/tensor_float64/tensor_float64.hpp>
#include <shoal/gmm/cuda/tensor_matrix/tensor_matrix.hpp>
#include <shoal/gmm/cuda/tensor_wide/tensor_wide.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/random/stream.hpp>

#include "../../../tests/gmm/cuda/mixture.hpp"
#include "../gmm_large/timing.hpp"

namespace {

using shoal::gmm::accumulator_shape;
using shoal::gmm::covariance_type;

struct cell {
  std::string type, scalar, precision;
  std::size_t rows = 0, columns = 0, components = 0;
};

template <class Scalar>
struct timed_room {
  const char* name;
  std::function<bool(const accumulator_shape&)> fits;
  std::function<std::unique_ptr<shoal::gmm::accumulator<Scalar>>(const accumulator_shape&)> make;
};

namespace few_columns = shoal::gmm::few_columns;
namespace tensor_matrix = shoal::gmm::tensor_matrix;
namespace tensor_diagonal = shoal::gmm::tensor_diagonal;
namespace tensor_wide = shoal::gmm::tensor_wide;
namespace tensor_float64 = shoal::gmm::tensor_float64;
namespace plain = shoal::gmm::plain;

bool suits_accumulator(bool (*suits)(const accumulator_shape&), const accumulator_shape& shape) { return suits(shape); }

std::vector<timed_room<float>> rooms(float) {
  const auto matrix = [](const accumulator_shape& s) { return suits_accumulator(tensor_matrix::suits, s); };
  const auto diagonal = [](const accumulator_shape& s) { return suits_accumulator(tensor_diagonal::suits, s); };
  const auto wide = [](const accumulator_shape& s) { return suits_accumulator(tensor_wide::suits, s); };
  const auto float64 = [](const accumulator_shape& s) { return suits_accumulator(tensor_float64::suits, s); };
  return {{"few_columns", few_columns::fits<float>, few_columns::make_accumulator<float>},
          {"few_columns_teams", few_columns::fits_teams, few_columns::make_team_accumulator},
          {"tensor_matrix", matrix, tensor_matrix::make_accumulator},
          {"tensor_diagonal", diagonal, tensor_diagonal::make_accumulator},
          {"tensor_wide", wide, tensor_wide::make_accumulator},
          {"tensor_float64", float64, tensor_float64::make_accumulator<float>},
          {"plain", [](const accumulator_shape&) { return true; }, plain::make_accumulator<float>}};
}

std::vector<timed_room<double>> rooms(double) {
  const auto float64 = [](const accumulator_shape& s) { return suits_accumulator(tensor_float64::suits, s); };
  return {{"few_columns", few_columns::fits<double>, few_columns::make_accumulator<double>},
          {"tensor_float64", float64, tensor_float64::make_accumulator<double>},
          {"plain", [](const accumulator_shape&) { return true; }, plain::make_accumulator<double>}};
}

double value_at(std::uint64_t number, std::uint64_t seed) {
  return 2 * shoal::random::open_uniform(shoal::random::mix(number, seed)) - 1;
}

// Every component takes part of every row, as EM begins.
shoal::gmm::model mixture_of(const cell& c) {
  shoal::gmm::model found;
  found.covariance_type = c.type == "full"   ? covariance_type::full
                          : c.type == "tied" ? covariance_type::tied
                          : c.type == "diag" ? covariance_type::diag
                                             : covariance_type::spherical;
  found.components = c.components;
  found.columns = c.columns;
  found.weights.assign(c.components, 1 / static_cast<double>(c.components));
  for (std::size_t i = 0; i < c.components * c.columns; ++i) found.means.push_back(0.5 * value_at(i, 2));
  found.covariances.assign(shoal::gmm::covariance_size(found.covariance_type, c.components, c.columns), 0.0);
  const bool matrices = c.type == "full" || c.type == "tied";
  const std::size_t step = matrices ? c.columns + 1 : 1, size = matrices ? c.columns * c.columns : 1;
  for (std::size_t first = 0; first < found.covariances.size(); first += size) {
    for (std::size_t i = 0; i < size; i += step) found.covariances[first + i] = 1.0 / 3;
  }
  return found;
}

// Uniform rows; they are kept, for the next cell is often of as many values.
template <class Scalar>
const Scalar* rows_of(std::size_t count, cudaStream_t stream) {
  static shoal::cuda::device_buffer<Scalar> buffer;
  static std::size_t held = 0;
  if (held < count) {
    std::vector<Scalar> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<Scalar>(value_at(i, 1));
    buffer.upload(values, stream);
    shoal::cuda::check(cudaStreamSynchronize(stream), "upload rows");
    held = count;
  }
  return buffer.data();
}

template <class Scalar>
void time_cell(const cell& c) {
  const shoal::cuda::stream stream;
  const shoal::gmm::model mixture = mixture_of(c);
  const checks::device_mixture<Scalar> device(shoal::gmm::prepare<Scalar>(mixture), stream);
  const shoal::gmm::statistics_layout layout(mixture.covariance_type, c.components, c.columns);
  accumulator_shape shape = checks::shape_of(layout, c.rows, false);
  shape.precision = c.precision == "tf32"   ? shoal::precision::tf32
                    : c.precision == "bf16" ? shoal::precision::bf16
                                            : shoal::precision::float32;
  const Scalar* const rows = rows_of<Scalar>(c.rows * c.columns, stream);
  shoal::cuda::device_buffer<double> sums(layout.size());
  std::printf(
      "{\"type\": \"%s\", \"scalar\": \"%s\", \"precision\": \"%s\", \"rows\": %zu, \"columns\": %zu, "
      "\"components\": %zu, \"milliseconds\": {",
      c.type.c_str(), c.scalar.c_str(), c.precision.c_str(), c.rows, c.columns, c.components);
  const char* separator = "";
  for (const timed_room<Scalar>& room : rooms(Scalar{})) {
    if (!room.fits(shape)) continue;
    // The measure of the others is slow where there are many numbers.
    const double products = static_cast<double>(c.rows * c.components) * static_cast<double>(c.columns * c.columns);
    if (room.name == std::string("plain") && products > 1e11) continue;
    try {
      const auto accumulator = room.make(shape);
      const auto all = [&] {
        accumulator->clear(device.view(), stream);
        accumulator->add({rows, nullptr, 0, 0, c.rows}, device.view(), stream);
        accumulator->merge(sums.data(), device.view(), stream);
      };
      std::printf("%s\"%s\": %.6g", separator, room.name, timing::time_graph(stream, all, 5));
      separator = ", ";
    } catch (const shoal::error& refusal) {
      std::fprintf(stderr, "%s: %s\n", room.name, refusal.what());
    }
  }
  std::printf("}}\n");
  std::fflush(stdout);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    cell c;
    words >> c.type >> c.scalar >> c.precision >> c.rows >> c.columns >> c.components;
    if (c.scalar == "float64") {
      time_cell<double>(c);
    } else {
      time_cell<float>(c);
    }
  }
}
