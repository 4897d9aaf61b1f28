// Reductions and scans on a GPU next to CUB's, as JSON: algebra_rates_cuda [VALUES] [TURNS]. CUB is given the same
// operation; for plain sums the faster of its general form and of its own sum counts. CUB states no order for its scans
// of floating-point numbers; shoal's are the same bits in every run.
#include <cub/cub.cuh>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <type_traits>
#include <vector>

#include <shoal/algebra/cuda/reduce.cuh>
#include <shoal/algebra/cuda/scan.cuh>
#include <shoal/algebra/cuda/segmented_reduce.cuh>
#include <shoal/algebra/instances/affine.hpp>
#include <shoal/algebra/instances/extrema.hpp>
#include <shoal/algebra/instances/integers.hpp>
#include <shoal/algebra/instances/reals.hpp>

namespace {

namespace algebra = shoal::algebra;
namespace gpu = shoal::algebra::gpu;

int turns = 21;

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(1);
}

template <class Value>
struct device_values {
  explicit device_values(std::size_t count) {
    check(cudaMalloc(reinterpret_cast<void**>(&data), count * sizeof(Value)));
  }
  explicit device_values(const std::vector<Value>& values) : device_values(values.size()) {
    check(cudaMemcpy(data, values.data(), values.size() * sizeof(Value), cudaMemcpyHostToDevice));
  }
  device_values(const device_values&) = delete;
  ~device_values() { cudaFree(data); }
  Value* data = nullptr;
};

// The median of the turns, in milliseconds.
template <class Work>
double milliseconds(const Work& work) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<float> times;
  for (int turn = 0; turn <= turns; ++turn) {
    check(cudaEventRecord(begin));
    work();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float took = 0;
    check(cudaEventElapsedTime(&took, begin, end));
    if (turn > 0) times.push_back(took);
  }
  check(cudaEventDestroy(begin));
  check(cudaEventDestroy(end));
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// A call of CUB, which says first how much memory it needs.
template <class Call>
double cub_milliseconds(const Call& call) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes));
  const device_values<char> memory(bytes + 1);
  return milliseconds([&] { check(call(memory.data, bytes)); });
}

template <class Structure>
struct operation {
  Structure structure;
  template <class Value>
  __device__ Value operator()(const Value& a, const Value& b) const {
    return gpu::combine_on_device(structure, a, b);
  }
};

bool first_row = true;
void report(const std::string& name, std::size_t count, double bytes, double ours, double cubs) {
  std::printf(
      "%s\n  {\"name\": \"%s\", \"values\": %zu, \"shoal_ms\": %.4f, \"cub_ms\": %.4f, \"shoal_gb_per_s\": %.0f, "
      "\"rate_of_cub\": %.3f}",
      first_row ? "" : ",", name.c_str(), count, ours, cubs, bytes / ours * 1e-6, cubs / ours);
  first_row = false;
}

template <class Structure>
void reduction(const std::string& name, const Structure& structure,
               const std::vector<algebra::value_of<Structure>>& values) {
  using value = algebra::value_of<Structure>;
  const device_values<value> there(values), result(1);
  gpu::workspace memory;
  const int count = static_cast<int>(values.size());
  const double ours = milliseconds([&] { gpu::reduce(structure, there.data, values.size(), result.data, memory); });
  const double cubs = cub_milliseconds([&](void* room, std::size_t& bytes) {
    return cub::DeviceReduce::Reduce(room, bytes, there.data, result.data, count, operation<Structure>{structure},
                                     structure.identity());
  });
  report("reduce, " + name, values.size(), static_cast<double>(values.size() * sizeof(value)), ours, cubs);
}

template <class Structure>
void scan(const std::string& name, const Structure& structure,
          const std::vector<algebra::value_of<Structure>>& values) {
  using value = algebra::value_of<Structure>;
  const device_values<value> there(values), result(values.size());
  gpu::workspace memory;
  const int count = static_cast<int>(values.size());
  const double ours =
      milliseconds([&] { gpu::inclusive_scan(structure, there.data, result.data, values.size(), memory); });
  double cubs = cub_milliseconds([&](void* room, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(room, bytes, there.data, result.data, operation<Structure>{structure}, count);
  });
  if constexpr (std::is_arithmetic_v<value>) {
    cubs = std::min(cubs, cub_milliseconds([&](void* room, std::size_t& bytes) {
                      return cub::DeviceScan::InclusiveSum(room, bytes, there.data, result.data, count);
                    }));
  }
  report("inclusive scan, " + name, values.size(), 2.0 * static_cast<double>(values.size() * sizeof(value)), ours,
         cubs);
}

void segments(const std::vector<double>& values, std::size_t mean) {
  std::vector<std::size_t> offsets{0};
  for (std::uint64_t state = 1; offsets.back() < values.size();) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    offsets.push_back(std::min(values.size(), offsets.back() + (state >> 33) % (2 * mean + 1)));
  }
  const algebra::real_addition<double> addition;
  const device_values<double> there(values), result(offsets.size());
  const device_values<std::size_t> ends(offsets);
  gpu::workspace memory;
  const std::size_t count = offsets.size() - 1;
  const double ours = milliseconds(
      [&] { gpu::segmented_reduce(addition, there.data, values.size(), ends.data, count, result.data, memory); });
  const double cubs = cub_milliseconds([&](void* room, std::size_t& bytes) {
    return cub::DeviceSegmentedReduce::Sum(room, bytes, there.data, result.data, static_cast<int>(count), ends.data,
                                           ends.data + 1);
  });
  report("segmented sum, segments of " + std::to_string(mean), values.size(), 8.0 * static_cast<double>(values.size()),
         ours, cubs);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000000;
  if (argc > 2) turns = std::atoi(argv[2]);
  std::vector<double> x(count);
  std::vector<std::int32_t> small(count);
  std::vector<std::int64_t> large(count);
  std::vector<algebra::affine_map<double>> maps(count / 2);
  for (std::size_t i = 0; i < count; ++i) {
    small[i] = static_cast<std::int32_t>(i * 2654435761u % 1000003);
    large[i] = std::int64_t{7919} * small[i];
    x[i] = 0.5 + 1e-6 * small[i];
  }
  for (std::size_t i = 0; i < maps.size(); ++i) maps[i] = {0.3 + 0.4 * x[i], x[i]};

  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0));
  char date[16];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::localtime(&now));
  std::printf("{\"date\": \"%s\", \"device\": \"%s\", \"turns\": %d, \"rows\": [", date, properties.name, turns);
  reduction("sum, float64", algebra::real_addition<double>{}, x);
  reduction("min, float64", algebra::minimum<double>{}, x);
  reduction("max, float64", algebra::maximum<double>{}, x);
  reduction("sum, int32", algebra::integer_addition<std::int32_t>{}, small);
  reduction("sum, int64", algebra::integer_addition<std::int64_t>{}, large);
  reduction("affine maps, float64", algebra::affine_maps<algebra::reals<double>>{}, maps);
  scan("sum, int32", algebra::integer_addition<std::int32_t>{}, small);
  scan("sum, int64", algebra::integer_addition<std::int64_t>{}, large);
  scan("sum, float64", algebra::real_addition<double>{}, x);
  scan("affine maps, float64", algebra::affine_maps<algebra::reals<double>>{}, maps);
  for (const std::size_t mean : {10, 100, 5000, 3000000}) segments(x, mean);
  std::printf("\n]}\n");
}
