// How the units of a map move on its first GPU, epoch after epoch, and the memory that it takes.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/som/cuda/kernels.hpp>
#include <shoal/som/cuda/map.hpp>

namespace shoal::som {

template <class Scalar>
class device_smoother {
 public:
  /// For one epoch with each of the radii, in which units go `rate` of the way. Borrows the map.
  device_smoother(device_map<Scalar>& map, neighborhood kind, double cutoff, const std::vector<double>& radii,
                  double rate = 1);

  /// The number of the epoch that comes next.
  void set_epoch(std::size_t epoch);
  /// Enqueues the move by the map's statistics, and the new codebook's way to the other GPUs.
  void enqueue();
  /// [epochs] Σ w·distance of the first epochs, 0 where there was none. Waits for them.
  std::vector<double> history(std::size_t epochs) const;
  /// Whether all numbers that moves left are finite, which neighbourhoods without negative parts are sure of. Waits for
  /// the moves.
  bool stayed_finite() const;
  /// Gives the GPUs the codebook from before the last move, of a neighbourhood with negative parts.
  void put_back();

 private:
  device_map<Scalar>* map_;
  smoothing smoothing_;
  cuda::device_buffer<double> radii_, history_, tables_, along_, smoothed_, pull_, kept_;
  cuda::device_buffer<unsigned> epoch_, done_;
  cuda::device_buffer<int> not_finite_;
};
extern template class device_smoother<float>;
extern template class device_smoother<double>;

}  // namespace shoal::som
