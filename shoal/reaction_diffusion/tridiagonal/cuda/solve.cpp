// Systems of the host or of a GPU, solved there.
#include <limits>
#include <span>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/reaction_diffusion/tridiagonal/cuda/kernels.hpp>
#include <shoal/reaction_diffusion/tridiagonal/methods.hpp>
#include <shoal/reaction_diffusion/tridiagonal/tridiagonal.hpp>

namespace shoal::reaction_diffusion::tridiagonal {
namespace {

constexpr unsigned long long none = std::numeric_limits<unsigned long long>::max();

bool is_on_device(const void* array) {
  cudaPointerAttributes found{};
  cuda::check(cudaPointerGetAttributes(&found, array), "ask where an array is");
  return found.type == cudaMemoryTypeDevice || found.type == cudaMemoryTypeManaged;
}

// An array's place on the GPU; one of the host is copied there.
template <class Scalar>
class there {
 public:
  there(const Scalar* array, std::size_t count, cudaStream_t stream) : place_(array) {
    if (is_on_device(array)) return;
    copy_.upload({array, count}, stream);
    place_ = copy_.data();
  }
  const Scalar* place() const { return place_; }

 private:
  const Scalar* place_;
  cuda::device_buffer<Scalar> copy_;
};

template <class Scalar>
void solve_there(const systems<Scalar>& problem, Scalar* solution, const device_choice& device) {
  if (device.on_host()) throw bad_argument("tridiagonal::solve() on a device needs a CUDA device; got the cpu");
  const std::size_t count = problem.rows * problem.batch;
  if (count == 0) return;
  const cuda::device_scope scope(device.cuda.front());
  const cuda::stream stream;
  const there<Scalar> lower(problem.lower, count, stream), diagonal(problem.diagonal, count, stream),
      upper(problem.upper, count, stream), right(problem.right, count, stream);
  cuda::device_buffer<Scalar> found, scratch(scratch_values<Scalar>(problem.rows));
  const bool stays = is_on_device(solution);
  if (!stays) found.grow(count);
  Scalar* const to = stays ? solution : found.data();
  cuda::device_buffer<unsigned long long> refused;
  refused.upload({&none, 1}, stream);
  solve_on<Scalar>(stream, {lower.place(), diagonal.place(), upper.place(), right.place(), problem.rows, problem.batch},
                   to, scratch.data(), refused.data());
  const unsigned long long row = refused.download(1, stream).front();
  if (row != none) refuse_pivot(row / problem.rows, problem.batch, row % problem.rows);
  if (stays) return;
  cuda::check(cudaMemcpyAsync(solution, to, count * sizeof(Scalar), cudaMemcpyDeviceToHost, stream),
              "copy a solution from the device");
  stream.synchronize();
}

}  // namespace

void solve(const systems<double>& problem, double* solution, const device_choice& device) {
  solve_there(problem, solution, device);
}

void solve(const systems<float>& problem, float* solution, const device_choice& device) {
  solve_there(problem, solution, device);
}

}  // namespace shoal::reaction_diffusion::tridiagonal
