#include <shoal/estimation/cuda/race.hpp>

#include <cuda_runtime.h>

#include <cmath>

#include <cub/device/device_radix_sort.cuh>

#include <shoal/estimation/cuda/coarse_buffers.hpp>
#include <shoal/estimation/cuda/seeding_kernels.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/random/stream.hpp>

namespace shoal {
namespace {

constexpr unsigned threads = 256;

unsigned blocks_of(std::size_t count) { return static_cast<unsigned>((count + threads - 1) / threads); }

__global__ void time_kernel(const unsigned long long* rows, const double* weights, std::size_t count,
                            std::uint64_t seed, std::uint64_t random_stream, double* times) {
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (i < count) times[i] = -log(random::uniform_at(seed, random_stream, rows[i])) / weights[i];
}

// Times of the GPU and of the host are within a few units in the last place of each other.
constexpr double apart = 1e-14;

__global__ void doubt_kernel(const double* times, std::size_t count, std::size_t winners, unsigned* in_doubt) {
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (i < winners && i + 1 < count && !(times[i + 1] - times[i] > apart * times[i + 1])) *in_doubt = 1;
}

}  // namespace

template <class Scalar>
device_race race_on_device(const cuda::device_piece<Scalar>& piece, std::size_t winners, double latest,
                           std::uint64_t seed, std::uint64_t random_stream, cudaStream_t stream) {
  device_race race;
  const auto wanted = static_cast<double>(winners);
  const std::size_t capacity = winners + static_cast<std::size_t>(16 * std::sqrt(wanted)) + 64;
  if (!has_room(capacity * 64)) return {{}, 0, false};
  cuda::device_buffer<unsigned long long> rows(2 * capacity), counter(1);
  cuda::device_buffer<double> weights(capacity), times(2 * capacity);
  cuda::device_buffer<unsigned> in_doubt(1);
  counter.fill_with_zeros(stream);
  in_doubt.fill_with_zeros(stream);
  keep_arrivals(piece, latest, seed, random_stream, rows.data(), weights.data(), capacity, counter.data(), stream);
  const std::size_t found = race.arrived = counter.download(1, stream)[0];
  // An arrival so near to the latest may be none for the host.
  if (found > capacity || found <= winners) return race;
  time_kernel<<<blocks_of(found), threads, 0, stream>>>(rows.data(), weights.data(), found, seed, random_stream,
                                                        times.data());
  cuda::check_launch("tell when rows arrive");
  std::size_t bytes = 0;
  const auto sort = [&](void* space) {
    cuda::check(cub::DeviceRadixSort::SortPairs(space, bytes, times.data(), times.data() + capacity, rows.data(),
                                                rows.data() + capacity, found, 0, 64, stream),
                "sort rows by when they arrive");
  };
  sort(nullptr);
  cuda::device_buffer<unsigned char> space(bytes);
  sort(space.data());
  doubt_kernel<<<blocks_of(winners), threads, 0, stream>>>(times.data() + capacity, found, winners, in_doubt.data());
  cuda::check_launch("look for rows that arrive together");
  static_assert(sizeof(std::size_t) == sizeof(unsigned long long));
  race.first.resize(winners);
  cuda::check(cudaMemcpyAsync(race.first.data(), rows.data() + capacity, winners * sizeof(std::size_t),
                              cudaMemcpyDeviceToHost, stream),
              "copy from the device");
  if (in_doubt.download(1, stream)[0] != 0) return {{}, found, false};
  return race;
}

template device_race race_on_device(const cuda::device_piece<float>&, std::size_t, double, std::uint64_t, std::uint64_t,
                                    cudaStream_t);
template device_race race_on_device(const cuda::device_piece<double>&, std::size_t, double, std::uint64_t,
                                    std::uint64_t, cudaStream_t);

}  // namespace shoal
