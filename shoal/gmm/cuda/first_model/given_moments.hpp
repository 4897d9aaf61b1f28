// The statistics of a mixture whose responsibilities are given, as labels, random numbers or themselves: what a first
// model is made of, and sums that are made again about other centres.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/gmm/cuda/first_model/given_kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/chunks.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

/// Sums over the pieces of rows that it is given, each GPU's in order, all of them by the same add(). Sums are float64,
/// in an order that neither the cut of the rows into pieces nor the number of GPUs changes.
template <class Scalar>
class given_moments {
 public:
  /// About `centres` [K][d], exact values of Scalar.
  given_moments(cuda::device_rows<Scalar>& rows, const statistics_layout& layout, std::span<const double> centres);

  /// Adds a piece whose row i belongs to component labels[i] alone; `labels` is memory of the piece's GPU, which is the
  /// current one, and is read in the order of its compute stream.
  void add(const cuda::device_piece<Scalar>& piece, const std::int32_t* labels);
  /// Adds a piece with random responsibilities.
  void add(const cuda::device_piece<Scalar>& piece, const random_responsibilities& draw);
  /// Adds a piece with `responsibilities` [piece.count][K], memory as that of labels.
  void add(const cuda::device_piece<Scalar>& piece, const Scalar* responsibilities);

  /// All that was added; waits for it. The log-likelihood is zero.
  statistics total();

 private:
  static constexpr std::size_t no_shard = static_cast<std::size_t>(-1);

  struct share {
    cuda::device_buffer<double> centres;
    cuda::device_buffer<double> lanes;  // of the shard in hand
    std::size_t shard = no_shard;
    cuda::device_buffer<double> sums;  // [shards of this GPU][layout.size()]
    cuda::device_buffer<Scalar> uniform_sums;
    // Where responsibilities are spread over all components: of a chunk of rows, for the kernels by tensor cores.
    std::unique_ptr<tensor_float64::chunk_workspace> workspace;
    tensor_float64::lane_plan plan;
    cuda::device_buffer<int> stopped;  // never
  };

  /// Which kernels: a component's rows by itself, all components' of a tile of rows, or products by tensor cores.
  enum class way { apart, together, products };

  share& begin(std::size_t shard, way by);
  void end_shard(std::size_t g);
  template <class WriteTerms>
  void add_products(const cuda::device_piece<Scalar>& part, share& mine, const WriteTerms& write);

  cuda::device_rows<Scalar>* rows_;
  statistics_layout layout_;
  kernel_layout places_;
  given_shape shape_;
  bool one_centre_ = true;     // all components have the same
  way way_ = way::apart;       // of the lanes in hand
  std::vector<share> shares_;  // of each GPU
  cuda::device_buffer<double> total_;
};
extern template class given_moments<float>;
extern template class given_moments<double>;

}  // namespace shoal::gmm
