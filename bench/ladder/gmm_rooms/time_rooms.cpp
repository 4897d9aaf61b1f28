// Times an expectation and its sums by every room of kernels that takes a shape, whichever would be chosen.
// gmm_room_times < CELLS: each line is TYPE SCALAR PRECISION ROWS COLUMNS COMPONENTS ("full float32 tf32 1000000 16
// 10") and is answered by a line of JSON: milliseconds by each room (median of the replays of one clear, add and
// merge). Rows are uniform and all components near them, as EM begins. A seventh word, SPREAD, puts rows about the
// components instead, whose means deviate by as many deviations of a component.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/plain/plain.hpp>
#include <shoal/gmm/cuda/rooms.hpp>
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
using shoal::gmm::room_name;

struct cell {
  std::string type, scalar, precision;
  std::size_t rows = 0, columns = 0, components = 0;
  double spread = 0;  // 0: uniform rows
};

template <class Scalar>
using timed_room = shoal::gmm::kernel_room<accumulator_shape,
                                           std::unique_ptr<shoal::gmm::accumulator<Scalar>>(const accumulator_shape&)>;

namespace few_columns = shoal::gmm::few_columns;
namespace tensor_matrix = shoal::gmm::tensor_matrix;
namespace tensor_diagonal = shoal::gmm::tensor_diagonal;
namespace tensor_wide = shoal::gmm::tensor_wide;
namespace tensor_float64 = shoal::gmm::tensor_float64;
namespace plain = shoal::gmm::plain;

std::vector<timed_room<float>> rooms(float) {
  return {{room_name::few_columns, few_columns::suits<float>, few_columns::make_accumulator<float>},
          {room_name::few_columns_teams, few_columns::suits_teams, few_columns::make_team_accumulator},
          {room_name::tensor_matrix, tensor_matrix::suits, tensor_matrix::make_accumulator},
          {room_name::tensor_diagonal, tensor_diagonal::suits, tensor_diagonal::make_accumulator},
          {room_name::tensor_wide, tensor_wide::suits, tensor_wide::make_accumulator},
          {room_name::tensor_float64, tensor_float64::suits, tensor_float64::make_accumulator<float>},
          {room_name::plain, plain::suits, plain::make_accumulator<float>}};
}

std::vector<timed_room<double>> rooms(double) {
  return {{room_name::few_columns, few_columns::suits<double>, few_columns::make_accumulator<double>},
          {room_name::tensor_float64, tensor_float64::suits, tensor_float64::make_accumulator<double>},
          {room_name::plain, plain::suits, plain::make_accumulator<double>}};
}

double value_at(std::uint64_t number, std::uint64_t seed) {
  return 2 * shoal::random::open_uniform(shoal::random::mix(number, seed)) - 1;
}

double mean_at(const cell& c, std::size_t number) { return (c.spread > 0 ? c.spread : 0.5) * value_at(number, 2); }

// Without a spread every component takes part of every row.
shoal::gmm::model mixture_of(const cell& c) {
  shoal::gmm::model found;
  found.covariance_type = c.type == "full"   ? covariance_type::full
                          : c.type == "tied" ? covariance_type::tied
                          : c.type == "diag" ? covariance_type::diag
                                             : covariance_type::spherical;
  found.components = c.components;
  found.columns = c.columns;
  found.weights.assign(c.components, 1 / static_cast<double>(c.components));
  for (std::size_t i = 0; i < c.components * c.columns; ++i) found.means.push_back(mean_at(c, i));
  found.covariances.assign(shoal::gmm::covariance_size(found.covariance_type, c.components, c.columns), 0.0);
  const bool matrices = c.type == "full" || c.type == "tied";
  const std::size_t step = matrices ? c.columns + 1 : 1, size = matrices ? c.columns * c.columns : 1;
  for (std::size_t first = 0; first < found.covariances.size(); first += size) {
    for (std::size_t i = 0; i < size; i += step) found.covariances[first + i] = 1.0 / 3;
  }
  return found;
}

// Uniform rows are kept, for the next cell is often of as many values.
template <class Scalar>
const Scalar* rows_of(const cell& c, cudaStream_t stream) {
  static shoal::cuda::device_buffer<Scalar> uniform, spread;
  static std::size_t held = 0;
  const std::size_t count = c.rows * c.columns;
  if (c.spread == 0 && held >= count) return uniform.data();
  std::vector<Scalar> values(count);
  const auto workers = shoal::make_threads(0);
  workers->run(c.rows, 1, [&](std::size_t row, const shoal::team_member&) {
    const std::size_t component = row % c.components;
    for (std::size_t column = 0; column < c.columns; ++column) {
      const std::size_t i = row * c.columns + column;
      const double mean = c.spread > 0 ? mean_at(c, component * c.columns + column) : 0;
      values[i] = static_cast<Scalar>(mean + value_at(i, 1));
    }
  });
  shoal::cuda::device_buffer<Scalar>& buffer = c.spread > 0 ? spread : uniform;
  buffer.upload(values, stream);
  shoal::cuda::check(cudaStreamSynchronize(stream), "upload rows");
  if (c.spread == 0) held = count;
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
  const Scalar* const rows = rows_of<Scalar>(c, stream);
  shoal::cuda::device_buffer<double> sums(layout.size());
  std::printf(
      "{\"type\": \"%s\", \"scalar\": \"%s\", \"precision\": \"%s\", \"rows\": %zu, \"columns\": %zu, "
      "\"components\": %zu, ",
      c.type.c_str(), c.scalar.c_str(), c.precision.c_str(), c.rows, c.columns, c.components);
  if (c.spread > 0) std::printf("\"spread\": %g, ", c.spread);
  std::printf("\"milliseconds\": {");
  const char* separator = "";
  for (const timed_room<Scalar>& room : rooms(Scalar{})) {
    if (!room.suits(shape)) continue;
    const std::string name(shoal::gmm::room_names[static_cast<std::size_t>(room.name)]);
    // The measure of the others is slow where there are many numbers.
    const double products = static_cast<double>(c.rows * c.components) * static_cast<double>(c.columns * c.columns);
    if (room.name == room_name::plain && products > 1e10) continue;
    try {
      const auto accumulator = room.make(shape);
      const auto all = [&] {
        accumulator->clear(device.view(), stream);
        accumulator->add({rows, nullptr, 0, 0, c.rows}, device.view(), stream);
        accumulator->merge(sums.data(), device.view(), stream);
      };
      std::printf("%s\"%s\": %.6g", separator, name.c_str(), timing::time_graph(stream, all, 5));
      separator = ", ";
    } catch (const shoal::error& refusal) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), refusal.what());
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
    words >> c.type >> c.scalar >> c.precision >> c.rows >> c.columns >> c.components >> c.spread;
    if (c.scalar == "float64") {
      time_cell<double>(c);
    } else {
      time_cell<float>(c);
    }
  }
}
