// The statistics of a mixture whose responsibilities are given, as labels, random numbers or themselves: what a first
// model is made of, and sums that are made again about other centres.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/gmm/cuda/first_model/given_kernels.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

/// Sums over the pieces of rows that it is given, each GPU's in order. Sums are float64, in an order that neither the
/// cut of the rows into pieces nor the number of GPUs changes.
template <class Scalar>
class given_moments {
 public:
  /// About `centres` [K][d], exact values of Scalar.
  given_moments(const cuda::device_rows<Scalar>& rows, const statistics_layout& layout,
                std::span<const double> centres);

  /// Adds a piece whose row i belongs to component labels[i] alone; `labels` is memory of the piece's GPU, which is the
  /// current one, and is read in the order of its compute stream.
  void add(const cuda::device_piece<Scalar>& piece, const std::int32_t* labels);
  /// Adds a piece with random responsibilities.
  void add(const cuda::device_piece<Scalar>& piece, const random_responsibilities& draw);
  /// Adds a piece with `responsibilities` [piece.count][K], memory as that of labels.
  void add(const cuda::device_piece<Scalar>& piece, const Scalar* responsibilities);

  /// All that was added; waits for it. The log-likelihood is zero.
  statistics total() const;

 private:
  struct share {
    cuda::device_buffer<double> centres;
    cuda::device_buffer<Scalar> uniform_sums;
  };

  double* lanes_of(std::size_t shard);

  const cuda::device_rows<Scalar>* rows_;
  statistics_layout layout_;
  given_shape shape_;
  std::vector<share> shares_;                       // of each GPU
  std::vector<cuda::device_buffer<double>> lanes_;  // of each shard of this process
};
extern template class given_moments<float>;
extern template class given_moments<double>;

}  // namespace shoal::gmm
