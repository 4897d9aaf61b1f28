// One iteration of Lloyd's algorithm, float32, against the multiply-adds and bytes that it cannot do without.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/seed_draw.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/kmeans/lloyd.hpp>
#include <shoal/nearest/nearest.hpp>
#include <shoal/random/stream.hpp>

#include "multiply_add_peak.hpp"

namespace {

struct problem {
  std::size_t rows, columns, clusters;
};

// Processor seconds of all threads: unlike the wall clock they hardly grow when the machine is shared.
double processor_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

// Rows about 2K centres, the nearest of which overlap: neither noise nor islands.
std::vector<float> make_rows(const problem& p) {
  std::vector<float> rows(p.rows * p.columns);
  for (std::size_t i = 0; i < p.rows; ++i) {
    shoal::random::stream words(1, 0, i * (p.columns + 1));
    const std::size_t centre = words.next_u32() % (2 * p.clusters);
    shoal::random::stream places(2, centre);
    for (std::size_t j = 0; j < p.columns; ++j) {
      double normal = -6;  // sum of twelve uniforms (Irwin–Hall): near enough for a benchmark
      for (int term = 0; term < 3; ++term) {
        const std::uint64_t word = words.next_u64();
        for (int part = 0; part < 4; ++part) normal += static_cast<double>(word >> (16 * part) & 0xffff) / 65536;
      }
      rows[i * p.columns + j] = static_cast<float>(2 * places.uniform() + normal);
    }
  }
  return rows;
}

void run(const problem& p, std::size_t threads, double multiply_add) {
  const std::vector<float> values = make_rows(p);
  const shoal::view_source<float> source({values.data(), p.rows, p.columns});
  const auto workers = shoal::make_threads(threads);
  const shoal::fold_context context{workers.get(), 0, {}};
  shoal::kmeans::lloyd<float> fit(context, {&source, nullptr, 1}, p.clusters, [&](std::size_t) {
    std::vector<double> start;
    for (std::size_t k = 0; k < p.clusters; ++k) shoal::append_row(source, k * (p.rows / p.clusters), start);
    return start;
  });
  fit.seed(0);
  fit.advance(1);
  constexpr int steps = 20;
  double wall = 1e300, processor = 1e300, mean = 0;
  for (int i = 0; i < steps; ++i) {
    const double before = processor_seconds();
    const auto begin = std::chrono::steady_clock::now();
    fit.advance(1);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    wall = std::min(wall, seconds);
    mean += seconds / steps;
    processor = std::min(processor, processor_seconds() - before);
  }
  const double work = static_cast<double>(p.rows * p.columns) * static_cast<double>(p.clusters) * 1e-9;
  const double bytes = static_cast<double>(p.rows * p.columns) * sizeof(float) * 1e-9;
  fmt::print(
      "{:>8} x {:>3}, K {:>3}, {} threads: {:7.2f} ms (mean {:.2f}, processor {:.2f}), {:6.1f} GFMA/s ({:.0f} % of "
      "the peak), {:5.1f} GB/s\n",
      p.rows, p.columns, p.clusters, threads, wall * 1e3, mean * 1e3, processor * 1e3, work / wall,
      100 * work / wall / multiply_add, bytes / wall);
}

}  // namespace

// Argument: a part of the shape, such as "x2x128"; none runs all.
int main(int argument_count, char** arguments) {
  const std::string only = argument_count > 1 ? arguments[1] : "";
  fmt::print("{}\n", shoal::simd_target());
  for (const std::size_t threads : {1, 2}) {
    const double multiply_add = bench::multiply_add_peak(threads, true);
    fmt::print("{} threads: the machine's peak is {:.1f} GFMA/s\n", threads, multiply_add);
    for (const problem& p :
         {problem{1 << 22, 2, 2}, problem{100000, 2, 128}, problem{1 << 20, 16, 64}, problem{1 << 17, 128, 256}}) {
      const std::string shape = fmt::format("{}x{}x{}", p.rows, p.columns, p.clusters);
      if (shape.find(only) != std::string::npos) run(p, threads, multiply_add);
    }
  }
}
