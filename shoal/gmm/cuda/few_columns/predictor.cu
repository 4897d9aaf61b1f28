// Predictions of diagonal and spherical mixtures of few numbers in float32: a thread finds a row's density, and four
// find its terms again and write them.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/posterior.cuh>
#include <shoal/gmm/cuda/score_lanes.hpp>
#include <shoal/gmm/cuda/tuning.hpp>
#include <shoal/gmm/cuda/write_predictions.cuh>

namespace shoal::gmm::few_columns {
namespace {

constexpr unsigned threads = 256;

// A row in registers.
template <int Columns>
struct short_row {
  float x[Columns];

  __device__ short_row(const float* row, unsigned columns) {
#pragma unroll
    for (unsigned j = 0; j < Columns; ++j) x[j] = j < columns ? row[j] : 0.0F;
  }

  // ‖y‖² under component k.
  __device__ float norm(const prepared_components<float>& components, unsigned columns, unsigned k) const {
    const std::size_t start = std::size_t{k} * columns;
    float sum = 0;
#pragma unroll
    for (unsigned j = 0; j < Columns; ++j) {
      if (j >= columns) continue;
      const float y = fmaf(x[j] - __ldg(components.centres + start + j), __ldg(components.factors + start + j),
                           __ldg(components.offsets + start + j));
      sum = fmaf(y, y, sum);
    }
    return sum;
  }
};

struct found_arrays {
  float2* shifts;  // greatest term, ln of the sum beside it; a far row's second is infinite
  double* log_densities;
};

// ln p(x) of a far row.
__device__ double far_log_density(const prepared_parameters<float>& parameters, const kernel_layout& layout,
                                  const float* row) {
  double greatest = -infinity;
  double sum = 0;
  for (unsigned k = 0; k < layout.components; ++k) {
    const double term = parameters.in_double.log_constants[k] - squared_norm(parameters.in_double, layout, k, row) / 2;
    if (!(term > -infinity)) continue;
    const double most = fmax(greatest, term);
    sum = sum * exp(greatest - most) + exp(term - most);
    greatest = most;
  }
  return greatest + log(sum) + *parameters.in_double.log_shift;
}

template <int Columns>
__global__ void __launch_bounds__(threads)
    find_rows(const kernel_layout layout, const __grid_constant__ cuda::device_piece<float> piece,
              const __grid_constant__ prepared_parameters<float> parameters, const found_arrays found) {
  const std::size_t r = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (r >= piece.count) return;
  const float* const row = piece.rows + r * layout.columns;
  const short_row<Columns> own(row, layout.columns);
  float greatest = -INFINITY;
  float sum = 0;
  float norm = INFINITY;
  for (unsigned k = 0; k < layout.components; ++k) {
    const float its_norm = own.norm(parameters.packed, layout.columns, k);
    const float term = fmaf(its_norm, -0.5F, __ldg(parameters.packed.log_constants + k));
    // A term that is −∞ (an empty component) or not a number (a ‖y‖² out of range) is beyond what counts.
    if (!(term > -INFINITY)) continue;
    const float ratio = __expf(-fabsf(term - greatest));
    const bool better = term > greatest;
    sum = better ? fmaf(sum, ratio, 1.0F) : sum + ratio;
    if (better) norm = its_norm;
    greatest = better ? term : greatest;
  }
  if (norm <= far_norm) {
    const float log_sum = logf(sum);
    found.shifts[r] = make_float2(greatest, log_sum);
    found.log_densities[r] =
        static_cast<double>(greatest) + static_cast<double>(log_sum) + *parameters.packed.log_shift;
  } else {
    found.shifts[r] = make_float2(0.0F, INFINITY);
    found.log_densities[r] = far_log_density(parameters, layout, row);
  }
}

template <int Columns>
struct found_rows {
  kernel_layout layout;
  prepared_parameters<float> parameters;
  const float* rows;
  const float2* shifts;
  const double* log_densities;

  struct found_row {
    const found_rows& all;
    const float* row;
    short_row<Columns> own;
    float2 shift;
    double log_density;

    // A far row's is the logarithm of its responsibility.
    __device__ float term(unsigned k) const {
      if (shift.y < INFINITY) {
        return fmaf(own.norm(all.parameters.packed, all.layout.columns, k), -0.5F,
                    __ldg(all.parameters.packed.log_constants + k));
      }
      const auto& components = all.parameters.in_double;
      return static_cast<float>(components.log_constants[k] - squared_norm(components, all.layout, k, row) / 2 +
                                *components.log_shift - log_density);
    }
    __device__ float responsibility(float term) const {
      const float logarithm = shift.y < INFINITY ? term - shift.x - shift.y : term;
      return logarithm >= -static_cast<float>(prediction_cut<float>) ? __expf(logarithm) : 0.0F;
    }
  };
  __device__ found_row of(unsigned row) const {
    const float* const from = rows + std::size_t{row} * layout.columns;
    return {*this, from, short_row<Columns>(from, layout.columns), shifts[row], log_densities[row]};
  }
};

class short_row_predictor final : public predictor<float> {
 public:
  short_row_predictor(const predictor_shape& shape, cudaStream_t stream)
      : layout_(shape.layout),
        shifts_(std::max<std::size_t>(1, shape.most_rows)),
        log_densities_(std::max<std::size_t>(1, shape.most_rows)),
        score_(shape.most_rows, stream) {}

  void prepare(const prepared_parameters<float>& parameters, cudaStream_t) override { parameters_ = parameters; }

  void add(const cuda::device_piece<float>& piece, const prediction<float>& out, cudaStream_t stream) override {
    if (layout_.columns <= 4) return add_columns<4>(piece, out, stream);
    if (layout_.columns <= 8) return add_columns<8>(piece, out, stream);
    if (layout_.columns <= 16) return add_columns<16>(piece, out, stream);
    add_columns<most_prediction_columns>(piece, out, stream);
  }

  std::vector<score_sums> totals(cudaStream_t stream) const override { return score_.totals(stream); }

 private:
  template <int Columns>
  void add_columns(const cuda::device_piece<float>& piece, const prediction<float>& out, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>((piece.count + threads - 1) / threads);
    find_rows<Columns>
        <<<blocks, threads, 0, stream>>>(layout_, piece, parameters_, {shifts_.data(), log_densities_.data()});
    cuda::check_launch("find_rows");
    const found_rows<Columns> found{layout_, parameters_, piece.rows, shifts_.data(), log_densities_.data()};
    write_predictions<<<static_cast<unsigned>(score_tiles(piece.count)), prediction_threads, 0, stream>>>(
        found, piece.weights, static_cast<unsigned>(piece.count), layout_.components, out, score_.tiles());
    cuda::check_launch("write_predictions");
    score_.add(piece.share_first, piece.count, stream);
  }

  kernel_layout layout_;
  prepared_parameters<float> parameters_;
  cuda::device_buffer<float2> shifts_;
  cuda::device_buffer<double> log_densities_;
  score_lanes score_;
};

}  // namespace

bool suits(const predictor_shape& shape) {
  return !shape.layout.has_matrices() && shape.layout.columns() <= std::size_t{most_prediction_columns};
}

std::unique_ptr<predictor<float>> make_predictor(const predictor_shape& shape, cudaStream_t stream) {
  return std::make_unique<short_row_predictor>(shape, stream);
}

}  // namespace shoal::gmm::few_columns
