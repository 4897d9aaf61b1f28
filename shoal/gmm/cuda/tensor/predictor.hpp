// The predictor that both rooms for many columns are: their expectation step, then what it left.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/predictor.hpp>
#include <shoal/gmm/cuda/score_lanes.hpp>
#include <shoal/gmm/cuda/tensor/chunks.hpp>

namespace shoal::gmm::tensor {

/// Room has what differs: `problem` with the functions of its kernels.hpp and problem.hpp, `sizes(shape)`, and the
/// memory and the kernels of an expectation step: `Room(problem& sizes, stream)` and `expect(mixture, rows, stream)`.
template <class Room>
class room_predictor final : public predictor<float> {
 public:
  room_predictor(const predictor_shape& shape, cudaStream_t stream)
      : sizes_(Room::sizes(shape)),
        room_(sizes_, stream),
        log_densities_(sizes_.chunk_rows),
        score_(sizes_.chunk_rows, stream) {
    sizes_.negligible = prediction_cut<float>;
    sizes_.log_densities = log_densities_.data();
  }

  void prepare(const prepared_parameters<float>& parameters, cudaStream_t stream) override {
    mixture_ = with(sizes_, parameters);
    mixture_.parameters.stopped = nullptr;  // a fit that has stopped asks for the rows that fit worst
    pack_mixture(mixture_, stream);
  }

  void add(const cuda::device_piece<float>& piece, const prediction<float>& out, cudaStream_t stream) override {
    for_each_chunk(
        piece, static_cast<std::size_t>(sizes_.columns), sizes_.chunk_rows, [&](chunk& rows, std::size_t first) {
          const float* const weights = std::exchange(rows.weights, nullptr);  // count in the score alone
          room_.expect(mixture_, rows, stream);
          far_responsibilities(mixture_, rows, stream);
          rows.weights = weights;
          write_predictions(mixture_, rows, beginning_at(out, first, static_cast<std::size_t>(sizes_.components)),
                            score_.tiles(), stream);
          score_.add(rows.share_first, static_cast<std::size_t>(rows.count), stream);
        });
  }

  std::vector<score_sums> totals(cudaStream_t stream) const override { return score_.totals(stream); }

 private:
  typename Room::problem sizes_;
  Room room_;
  cuda::device_buffer<double> log_densities_;
  score_lanes score_;
  typename Room::problem mixture_;
};

}  // namespace shoal::gmm::tensor
