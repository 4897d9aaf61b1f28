// Fits of every family, one after another in one process, and the memory that it holds after each round: does it grow?
//   many_fits SECONDS
// Prints a line "fits KIB" for each round.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <shoal/gmm/gmm.hpp>
#include <shoal/io/memory_source.hpp>
#include <shoal/kmeans/kmeans.hpp>
#include <shoal/random/stream.hpp>
#include <shoal/som/som.hpp>

namespace {

std::size_t resident_kib() {
  std::ifstream file("/proc/self/statm");
  std::size_t whole = 0, resident = 0;
  file >> whole >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 1024;
}

// Two clouds.
template <class Scalar>
std::vector<Scalar> clouds(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  std::vector<Scalar> values;
  shoal::random::stream random(seed, columns);
  for (std::size_t i = 0; i < rows * columns; ++i) {
    values.push_back(static_cast<Scalar>(random.uniform() + (i / columns % 2 == 0 ? 0 : 3)));
  }
  return values;
}

// The same shapes each time, so that rounds can be compared.
template <class Scalar>
std::size_t fit_all(std::uint64_t seed, std::size_t threads) {
  std::size_t fits = 0;
  for (const std::size_t columns : {1, 5, 24}) {
    const std::vector<Scalar> values = clouds<Scalar>(3000, columns, seed);
    const shoal::view_source<Scalar> rows({values.data(), 3000, columns});
    for (const auto algorithm :
         {shoal::gmm::algorithm::batch, shoal::gmm::algorithm::incremental, shoal::gmm::algorithm::stepwise}) {
      shoal::gmm::options options;
      options.components = 4;
      options.algorithm = algorithm;
      options.max_iterations = 5;
      options.tolerance = 0;
      options.threads = threads;
      options.seed = seed;
      shoal::gmm::fit(rows, options);
      ++fits;
    }
    shoal::kmeans::options centroids;
    centroids.clusters = 50;
    centroids.threads = threads;
    centroids.seed = seed;
    std::vector<std::int32_t> labels(3000);
    shoal::kmeans::predict(shoal::kmeans::fit(rows, centroids).model, rows, labels.data(), threads);
    shoal::som::options map;
    map.width = 10;
    map.height = 8;
    map.epochs = 4;
    map.threads = threads;
    map.seed = seed;
    shoal::som::fit(rows, map);
    fits += 2;
  }
  return fits;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: many_fits SECONDS\n");
    return 2;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::strtoull(argv[1], nullptr, 10));
  std::size_t fits = 0;
  for (std::uint64_t round = 0; std::chrono::steady_clock::now() < end; ++round) {
    for (const std::size_t threads : {1, 2, 5}) {
      fits += fit_all<float>(round, threads);
      fits += fit_all<double>(round, threads);
    }
    fmt::print("{} {}\n", fits, resident_kib());
    std::fflush(stdout);
  }
}
