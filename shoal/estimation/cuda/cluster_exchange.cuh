// How the blocks of cluster_rows.cuh conclude the same from what each has found: by one hop within a cluster, and of
// several clusters by one between them before.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/estimation/cuda/cluster_kernel.hpp>
#include <shoal/estimation/cuda/draw_lanes.cuh>
#include <shoal/estimation/cuda/said_words.cuh>
#include <shoal/estimation/cuda/trial_masses.cuh>
#include <shoal/execution/cuda/cluster.cuh>

namespace shoal {

static_assert(cluster_blocks == most_shares);

// In the shared memory of a block.
template <unsigned Trials>
struct exchange_memory {
  double received[2][cluster_blocks][Trials];  // of even and of odd steps
  double rank_masses[Trials][rank_words], rank_before[Trials][rank_words];
  unsigned long long sums_here[2];
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // what has clusters

// Where a draw falls.
struct drawn_block {
  unsigned best;  // the trial that is kept
  double total;   // of the masses with it
  double target;  // the mass that the row's own must pass, with all that comes before it
  double begins;  // the mass before this block, where the draw falls in it
  bool here;
  __device__ bool none() const { return !(total > 0 && total * 0 == 0); }
};

template <unsigned Trials, bool Several>
struct cluster_exchange {
  exchange_memory<Trials>* memory;
  unsigned long long* words;  // few_rows::said_groups
  unsigned most_trials;       // of a step
  unsigned rank, cluster, clusters;

  __device__ cluster_exchange(exchange_memory<Trials>& shared, unsigned long long* said_groups, unsigned trials)
      : memory(&shared),
        words(said_groups),
        most_trials(trials),
        rank(cuda::rank_in_cluster()),
        cluster(Several ? blockIdx.x / cluster_blocks : 0),
        clusters(Several ? gridDim.x / cluster_blocks : 1) {}

  // The block's place in the order of the rows: blocks of one rank follow each other.
  __device__ unsigned place() const { return rank * clusters + cluster; }

  __device__ void make_barriers() const {
    for (unsigned long long& barrier : memory->sums_here) cuda::make_barrier(&barrier, 1);
  }
  // By one thread, before the block sends anything of the step: nobody sends anything of the step after the next before
  // this block has sent all of the next one.
  __device__ void expect(unsigned step, unsigned trials) const {
    cuda::expect(&memory->sums_here[step % 2], trials * cluster_blocks * sizeof(double));
  }

  // A warp tells the sum of the block's masses with a trial, all of whose lanes have it. `meanwhile` is done while it
  // waits for others.
  template <class Meanwhile>
  __device__ void tell(unsigned step, unsigned trial, double sum, const Meanwhile& meanwhile) const {
    const unsigned lane = threadIdx.x % 32;
    if constexpr (Several) {
      unsigned long long* const of_rank =
          words + ((std::size_t{step} * cluster_blocks + rank) * most_trials + trial) * rank_words;
      if (lane == 0) say(of_rank + cluster, bits_of(sum));
      meanwhile();
      const double mass = lane < clusters ? from_bits<double>(hear(of_rank + lane)) : 0.0;
      __syncwarp();
      const double up_to = sums_up_to(mass, rank_words), before = sum_before(up_to);
      sum = __shfl_sync(~0u, up_to, rank_words - 1);
      if (lane < clusters) {
        memory->rank_masses[trial][lane] = mass;
        memory->rank_before[trial][lane] = before;
      }
    }
    const unsigned parity = step % 2;
    if (lane < cluster_blocks) {
      cuda::send(&memory->received[parity][rank][trial], sum, &memory->sums_here[parity], lane);
    }
    if constexpr (!Several) meanwhile();
  }

  // A warp hears the sums of all, after a barrier of the block behind tell(). Nothing is `wanted` of the last step.
  __device__ drawn_block conclude(unsigned step, unsigned trials, double uniform, bool wanted) const {
    const unsigned parity = step % 2;
    cuda::wait(&memory->sums_here[parity], step / 2 % 2);
    const trial_masses<Trials> ranks(trials, [&](unsigned trial, unsigned first, double* masses) {
#pragma unroll
      for (unsigned i = 0; i < trial_masses<Trials>::each; ++i) masses[i] = memory->received[parity][first + i][trial];
    });
    drawn_block found{};
    found.best = ranks.best(trials);
    found.total = ranks.total_of(found.best);
    found.target = uniform * found.total;
    found.here = wanted && !found.none();
    if (found.here) found.here = ranks.draw(found.best, 0, found.target, found.begins) == rank;
    if constexpr (Several) {
      if (found.here) {
        const unsigned lane = threadIdx.x % 32;
        const bool some = lane < clusters;
        double begins = 0;
        found.here = draw_lane(some ? memory->rank_masses[found.best][lane] : 0.0,
                               some ? memory->rank_before[found.best][lane] : 0.0, found.begins, found.target,
                               begins) == static_cast<int>(cluster);
        found.begins = begins;
      }
    }
    return found;
  }
};

#endif

}  // namespace shoal
