// GPUs as ranks: device_ranks [ROWS COLUMNS GROUPS ITERATIONS REPEATS] prints, as JSON, the time of an iteration on one
// GPU, on two of one process, and on two ranks (threads that speak through memory) with a GPU each, and whether all
// have the same bits. Ends with status 1 when they have not.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <shoal/execution/memory_communicator.hpp>
#include <shoal/gmm/gmm.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/kmeans/kmeans.hpp>
#include <shoal/random/philox.hpp>
#include <shoal/som/som.hpp>

namespace {

struct shape {
  std::size_t rows = std::size_t{1} << 27, columns = 16, groups = 10, iterations = 40, repeats = 3;
};

// Clouds around as many places, by all threads.
std::vector<float> clouds(const shape& of) {
  std::vector<float> values(of.rows * of.columns);
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> workers;
  for (std::size_t t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      for (std::size_t row = of.rows * t / threads; row < of.rows * (t + 1) / threads; ++row) {
        for (std::size_t j = 0; j < of.columns; j += 4) {
          const auto words = shoal::random::philox4x32::block(1, 2, row * of.columns + j);
          for (std::size_t i = j; i < std::min(of.columns, j + 4); ++i) {
            const double u = (words[i - j] & 0xffffff) * 0x1p-24 + (words[i - j] >> 24) * 0x1p-8;
            values[row * of.columns + i] =
                static_cast<float>(u + 3 * std::sin(static_cast<double>(row % of.groups * 7 + i)));
          }
        }
      }
    });
  }
  return values;
}

struct fitted {
  double seconds = 0;          // of an iteration
  std::vector<double> values;  // of the model, and its history
};

void append(std::vector<double>& to, const std::vector<double>& from) { to.insert(to.end(), from.begin(), from.end()); }

using fit_function = fitted (*)(const shoal::row_source<float>&, const shape&, const shoal::device_choice&,
                                const shoal::control&);

fitted fit_mixture(const shoal::row_source<float>& rows, const shape& of, const shoal::device_choice& device,
                   const shoal::control& control) {
  shoal::gmm::options options;
  options.components = of.groups;
  options.init = shoal::gmm::initialization::random_rows;
  options.max_iterations = of.iterations;
  options.tolerance = 0;
  options.device = device;
  const auto result = shoal::gmm::fit(rows, options, {}, control);
  fitted found{result.loop_seconds / static_cast<double>(result.loop_iterations), result.history};
  append(found.values, result.model.weights);
  append(found.values, result.model.means);
  append(found.values, result.model.covariances);
  return found;
}

fitted fit_clusters(const shoal::row_source<float>& rows, const shape& of, const shoal::device_choice& device,
                    const shoal::control& control) {
  shoal::kmeans::options options;
  options.clusters = of.groups;
  options.init = shoal::kmeans::seeding::random_rows;
  options.max_iterations = of.iterations;
  options.tolerance = 0;
  options.device = device;
  const auto result = shoal::kmeans::fit(rows, options, {}, control);
  fitted found{result.loop_seconds / static_cast<double>(result.loop_iterations), result.history};
  append(found.values, result.model.centroids);
  return found;
}

fitted fit_map(const shoal::row_source<float>& rows, const shape&, const shoal::device_choice& device,
               const shoal::control& control) {
  shoal::som::options options;
  options.width = options.height = 32;
  options.init = shoal::som::initialization::sampled_rows;
  options.epochs = 8;
  options.device = device;
  const auto result = shoal::som::fit(rows, options, {}, control);
  fitted found{result.loop_seconds / static_cast<double>(result.loop_epochs), result.history};
  append(found.values, result.model.codebook);
  return found;
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace

int main(int count, char** words) {
  shape of;
  std::size_t* const given[] = {&of.rows, &of.columns, &of.groups, &of.iterations, &of.repeats};
  for (int i = 1; i < count && i <= 5; ++i) *given[i - 1] = std::strtoull(words[i], nullptr, 10);
  const std::vector<float> values = clouds(of);
  const shoal::view_source<float> rows({values.data(), of.rows, of.columns});
  const struct {
    const char* name;
    fit_function fit;
  } families[] = {{"mixture, full", fit_mixture}, {"k-means", fit_clusters}, {"map of 32 x 32", fit_map}};
  bool all_same = true;
  std::vector<std::string> lines;
  for (const auto& family : families) {
    double one = 1e300, two = 1e300, ranks = 1e300;
    std::vector<double> expected;
    bool same_bits = true;
    for (std::size_t repeat = 0; repeat < of.repeats; ++repeat) {
      const fitted alone = family.fit(rows, of, {{0}}, {});
      const fitted together = family.fit(rows, of, {{0, 1}}, {});
      std::vector<fitted> each(2);
      shoal::run_ranks(2, [&](shoal::communicator& own) {
        shoal::control control;
        control.ranks = &own;
        each[own.rank()] = family.fit(rows, of, {{static_cast<int>(own.rank())}}, control);
      });
      one = std::min(one, alone.seconds);
      two = std::min(two, together.seconds);
      ranks = std::min(ranks, std::max(each[0].seconds, each[1].seconds));
      same_bits = same_bits && same(alone.values, together.values) && same(alone.values, each[0].values) &&
                  same(alone.values, each[1].values);
    }
    all_same = all_same && same_bits;
    lines.push_back(
        fmt::format(R"(  {{"family": "{}", "rows": {}, "columns": {}, "groups": {}, "one_gpu_milliseconds": {:.4f}, )"
                    R"("two_gpus_milliseconds": {:.4f}, "two_ranks_milliseconds": {:.4f}, "two_gpus_times": {:.4f}, )"
                    R"("two_ranks_times": {:.4f}, "same_bits": {}}})",
                    family.name, of.rows, of.columns, of.groups, one * 1e3, two * 1e3, ranks * 1e3, one / two,
                    one / ranks, same_bits));
  }
  fmt::print("[\n{}\n]\n", fmt::join(lines, ",\n"));
  return all_same ? 0 : 1;
}
