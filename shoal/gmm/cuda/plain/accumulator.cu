// The accumulator that takes any shape: a thread for each row, then one for each sum, all sums in float64.
#include <cuda_runtime.h>

#include <algorithm>
#include <limits>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/mixture.hpp>
#include <shoal/gmm/cuda/plain/plain.hpp>
#include <shoal/gmm/cuda/posterior.cuh>

namespace shoal::gmm::plain {
namespace {

// Rows that a block does at a time, a thread each; a divisor of cuda::piece_unit. Tile t of a share belongs to lane
// t mod lanes.
constexpr unsigned tile_rows = 256;
static_assert(cuda::piece_unit % tile_rows == 0);

// Lanes with their scratch take at most so many bytes.
constexpr std::size_t lane_memory_limit = std::size_t{256} << 20;

// A sum Σ w r zᵢ zⱼ of z = (x − c, 1): the numbers of two columns, of which the last is the one.
struct term {
  unsigned short i;
  unsigned short j;
};

struct plain_shape {
  kernel_layout layout;
  std::size_t size = 0;          // sums of a lane
  const term* own = nullptr;     // [component_size]
  const term* shared = nullptr;  // [size − layout.shared], summed over all components
  double* lanes = nullptr;       // [lanes][size]
  double* scratch = nullptr;     // [lanes][K][tile_rows] w r
};

template <class Scalar>
__device__ double difference(const kernel_layout& layout, const double* centre, const Scalar* row, unsigned j) {
  return j == layout.columns ? 1.0 : static_cast<double>(row[j]) - centre[j];
}

// Adds Σ_r w r zᵢ zⱼ of a tile, row by row.
template <class Scalar>
__device__ double sum_rows(const kernel_layout& layout, const double* centre, const Scalar* rows, unsigned count,
                           const double* responsibilities, term which, double sum) {
  for (unsigned r = 0; r < count; ++r) {
    const double responsibility = responsibilities[r];
    if (responsibility == 0) continue;
    const Scalar* const row = rows + std::size_t{r} * layout.columns;
    sum += responsibility * difference(layout, centre, row, which.i) * difference(layout, centre, row, which.j);
  }
  return sum;
}

template <class Scalar>
__device__ void add_tile(const plain_shape& shape, const cuda::device_piece<Scalar>& piece,
                         const prepared_parameters<Scalar>& parameters, std::size_t first, unsigned count) {
  const kernel_layout& layout = shape.layout;
  const cuda::block_group block;
  double* const lane = shape.lanes + blockIdx.x * shape.size;
  double* const scratch = shape.scratch + std::size_t{blockIdx.x} * layout.components * tile_rows;
  const Scalar* const rows = piece.rows + first * layout.columns;

  double weight = 0, log_likelihood = 0, far = 0;
  if (block.rank < count) {
    constexpr double cut = negligible_log_ratio<Scalar>;
    double* const terms = scratch + block.rank;
    const row_posterior found =
        posterior(parameters, layout, rows + std::size_t{block.rank} * layout.columns, cut, cut, terms, tile_rows);
    weight = piece.weights == nullptr ? 1.0 : static_cast<double>(piece.weights[first + block.rank]);
    // A row that weighs nothing may have a density of zero.
    if (weight > 0) log_likelihood = weight * found.log_density;
    far = found.far ? 1 : 0;
    const double scale = weight > 0 ? weight / found.sum : 0;
    for (unsigned k = 0; k < layout.components; ++k) terms[std::size_t{k} * tile_rows] *= scale;
  }
  log_likelihood = block.sum(log_likelihood);
  weight = block.sum(weight);
  far = block.sum(far);
  if (block.rank == 0) {
    lane[log_likelihood_at] += log_likelihood;
    lane[total_weight_at] += weight;
    lane[far_rows_at] += far;
  }
  block.sync();  // the scratch is written

  const double* const centres = parameters.in_double.centres;
  const std::size_t own = layout.components * layout.component_size;
  for (std::size_t e = block.rank; e < own; e += block.size) {
    const auto k = static_cast<unsigned>(e / layout.component_size);
    const term which = shape.own[e % layout.component_size];
    double& sum = lane[layout.header + e];
    sum = sum_rows(layout, centres + std::size_t{k} * layout.columns, rows, count, scratch + std::size_t{k} * tile_rows,
                   which, sum);
  }
  for (std::size_t e = block.rank; e < shape.size - layout.shared; e += block.size) {
    double& sum = lane[layout.shared + e];
    for (unsigned k = 0; k < layout.components; ++k) {
      sum = sum_rows(layout, centres + std::size_t{k} * layout.columns, rows, count,
                     scratch + std::size_t{k} * tile_rows, shape.shared[e], sum);
    }
  }
  block.sync();  // the scratch has been read
}

// A block for each lane.
template <class Scalar>
__global__ void __launch_bounds__(tile_rows)
    add_piece(const __grid_constant__ plain_shape shape, const __grid_constant__ cuda::device_piece<Scalar> piece,
              const __grid_constant__ prepared_parameters<Scalar> parameters) {
  cuda::wait_for_predecessor();
  if (*parameters.stopped != 0) return;
  const std::size_t lanes = gridDim.x;
  const std::size_t before = piece.share_first / tile_rows;
  const std::size_t tiles = (piece.count + tile_rows - 1) / tile_rows;
  for (std::size_t tile = (blockIdx.x + lanes - before % lanes) % lanes; tile < tiles; tile += lanes) {
    const std::size_t first = tile * tile_rows;
    add_tile(shape, piece, parameters, first, static_cast<unsigned>(min(std::size_t{tile_rows}, piece.count - first)));
  }
}

__global__ void clear_lanes(double* lanes, std::size_t count, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    lanes[i] = 0;
  }
}

__global__ void merge_lanes(const double* lanes, std::size_t count, std::size_t size, double* into,
                            const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i >= size) return;
  double sum = 0;
  for (std::size_t lane = 0; lane < count; ++lane) sum += lanes[lane * size + i];
  into[i] = sum;
}

constexpr unsigned threads = 256;

unsigned blocks_of(std::size_t elements) { return static_cast<unsigned>((elements + threads - 1) / threads); }

// The terms of the upper triangle of z zᵀ for the first `order` elements of z.
std::vector<term> triangle(unsigned order) {
  std::vector<term> terms;
  for (unsigned i = 0; i < order; ++i) {
    for (unsigned j = i; j < order; ++j) {
      terms.push_back({static_cast<unsigned short>(i), static_cast<unsigned short>(j)});
    }
  }
  return terms;
}

std::vector<term> own_terms(covariance_type type, unsigned columns) {
  if (type == covariance_type::full) return triangle(columns + 1);
  const auto one = static_cast<unsigned short>(columns);
  const term weight{one, one};
  std::vector<term> terms;
  if (type != covariance_type::tied) terms.push_back(weight);
  for (unsigned short j = 0; j < one; ++j) terms.push_back({j, one});
  if (type == covariance_type::tied) {
    terms.push_back(weight);
  } else {
    for (unsigned short j = 0; j < one; ++j) terms.push_back({j, j});
  }
  return terms;
}

template <class Scalar>
class plain_accumulator final : public accumulator<Scalar> {
 public:
  explicit plain_accumulator(const accumulator_shape& shape) : layout_(shape.layout), size_(shape.layout.size()) {
    if (layout_.columns >= std::numeric_limits<unsigned short>::max()) {
      throw bad_argument("a GPU fits mixtures of fewer than 65535 columns");
    }
    const std::vector<term> own = own_terms(layout_.type, layout_.columns);
    const std::vector<term> shared =
        layout_.type == covariance_type::tied ? triangle(layout_.columns) : std::vector<term>();
    const std::size_t tiles = std::max<std::size_t>(1, (shape.share_rows + tile_rows - 1) / tile_rows);
    const std::size_t scratch = std::size_t{layout_.components} * tile_rows;
    const std::size_t affordable = std::max<std::size_t>(1, lane_memory_limit / ((size_ + scratch) * sizeof(double)));
    lanes_ = static_cast<unsigned>(std::min({tiles, affordable, 4 * shape.multiprocessors}));
    own_terms_.grow(own.size());
    cuda::check(cudaMemcpy(own_terms_.data(), own.data(), own.size() * sizeof(term), cudaMemcpyHostToDevice),
                "copy to the device");
    if (!shared.empty()) {
      shared_terms_.grow(shared.size());
      cuda::check(cudaMemcpy(shared_terms_.data(), shared.data(), shared.size() * sizeof(term), cudaMemcpyHostToDevice),
                  "copy to the device");
    }
    lane_sums_.grow(lanes_ * size_);
    scratch_.grow(lanes_ * scratch);
  }

  void clear(const prepared_parameters<Scalar>& parameters, cudaStream_t stream) override {
    cuda::launch_in_turn(clear_lanes, std::min(blocks_of(lanes_ * size_), 4096U), threads, 0, stream, lane_sums_.data(),
                         lanes_ * size_, parameters.stopped);
  }

  void add(const cuda::device_piece<Scalar>& piece, const prepared_parameters<Scalar>& parameters,
           cudaStream_t stream) override {
    const plain_shape shape{layout_,           size_,          own_terms_.data(), shared_terms_.data(),
                            lane_sums_.data(), scratch_.data()};
    cuda::launch_in_turn(add_piece<Scalar>, lanes_, tile_rows, 0, stream, shape, piece, parameters);
  }

  void merge(double* statistics, const prepared_parameters<Scalar>& parameters, cudaStream_t stream) override {
    cuda::launch_in_turn(merge_lanes, blocks_of(size_), threads, 0, stream, lane_sums_.data(), std::size_t{lanes_},
                         size_, statistics, parameters.stopped);
  }

 private:
  kernel_layout layout_;
  std::size_t size_;
  unsigned lanes_ = 1;
  cuda::device_buffer<term> own_terms_;
  cuda::device_buffer<term> shared_terms_;
  cuda::device_buffer<double> lane_sums_;
  cuda::device_buffer<double> scratch_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<accumulator<Scalar>> make_accumulator(const accumulator_shape& shape) {
  return std::make_unique<plain_accumulator<Scalar>>(shape);
}
template std::unique_ptr<accumulator<float>> make_accumulator(const accumulator_shape&);
template std::unique_ptr<accumulator<double>> make_accumulator(const accumulator_shape&);

}  // namespace shoal::gmm::plain
