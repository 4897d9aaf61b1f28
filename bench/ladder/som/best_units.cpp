// The ladder of the source's problem: best-matching units of rows on a map, version after version, on one GPU.
// best_units [ROWS COLUMNS WIDTH HEIGHT]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/som/cuda/map.hpp>

#include "made_maps.hpp"
#include "node_by_node.hpp"

namespace {

namespace som = shoal::som;
using shoal::cuda::device_buffer;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median_of(int runs, const std::function<double()>& once) {
  once();
  std::vector<double> all;
  for (int i = 0; i < runs; ++i) all.push_back(once());
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

void say(const char* metric, const char* version, double seconds, std::size_t rows, const std::int32_t* labels,
         const std::vector<std::int32_t>& fact) {
  std::size_t different = 0;
  for (std::size_t i = 0; i < rows; ++i) different += labels[i] != fact[i];
  std::printf("%-9s %-44s %12.4f ms, other units than the first: %zu of %zu rows\n", metric, version, seconds * 1e3,
              different, rows);
  std::fflush(stdout);
}

void climb(const problem& p, first_distance metric, shoal::cuda::device_rows<float>& rows,
           const shoal::data_summary& summary, const std::vector<float>& values, const std::vector<double>& units) {
  const char* const name = metric == first_distance::euclidean ? "euclidean" : "taxicab";
  const std::vector<float> rounded(units.begin(), units.end());
  const cudaStream_t stream = rows.group()[0].compute;
  const auto wait = [&] { shoal::cuda::check(cudaStreamSynchronize(stream), "finish its work"); };

  // One core takes seconds, so that it does a tenth of the rows.
  std::vector<std::int32_t> fact(p.rows), labels(p.rows);
  const std::size_t some = p.rows / 10;
  const double in_turn = seconds_of(
      [&] { search_in_turn(metric, values.data(), some, rounded.data(), p.units(), p.columns, fact.data()); });
  say(name, "1. in turn, one core (ten times a tenth)", 10 * in_turn, some, fact.data(), fact);

  device_buffer<float> here, units_here, distances;
  device_buffer<std::int32_t> minimum_units, found;
  here.upload(values, stream);
  units_here.upload(rounded, stream);
  distances.grow(p.rows * blocks_of_units(p.units(), p.columns));
  minimum_units.grow(distances.size());
  found.grow(p.rows);
  wait();
  for (const bool a_thread_a_unit : {false, true}) {
    const double seconds = median_of(3, [&] {
      return seconds_of([&] {
        search_node_by_node(metric, a_thread_a_unit, here.data(), p.rows, units_here.data(), p.units(), p.columns,
                            {distances.data(), minimum_units.data()}, found.data(), stream);
        wait();
      });
    });
    labels = found.download(p.rows, stream);
    say(name, a_thread_a_unit ? "3. node by node, a thread adds a unit up" : "2. node by node, one thread adds all up",
        seconds, some, labels.data(), fact);
  }

  som::device_map<float> map(rows, summary, {static_cast<std::uint32_t>(p.width), static_cast<std::uint32_t>(p.height)},
                             metric == first_distance::euclidean ? som::metric::euclidean : som::metric::taxicab);
  map.upload(units);
  constexpr int together = 20;
  const double seconds = median_of(9, [&] {
    wait();
    return seconds_of([&] {
             for (int i = 0; i < together; ++i) map.enqueue(som::pass::units);
             wait();
           }) /
           together;
  });
  map.enqueue(som::pass::units, [&](std::size_t first, std::size_t count, const std::int32_t* from, cudaStream_t in) {
    shoal::cuda::check(
        cudaMemcpyAsync(labels.data() + first, from, count * sizeof(std::int32_t), cudaMemcpyDefault, in),
        "copy units");
  });
  wait();
  say(name, "4. shoal", seconds, some, labels.data(), fact);
}

}  // namespace

int main(int count, char** arguments) {
  problem p{10'000, 12, 200, 200};
  if (count > 4) {
    const auto number = [&](int at) { return static_cast<std::size_t>(std::strtoull(arguments[at], nullptr, 10)); };
    p = {number(1), number(2), number(3), number(4)};
  }
  std::vector<float> values(p.rows * p.columns);
  fill_rows(p, false, values);
  const std::vector<double> units = make_units(p);
  const auto workers = shoal::make_threads(0);
  const shoal::fold_context context{workers.get(), 0, {}};
  const shoal::view_source<float> source({values.data(), p.rows, p.columns});
  const shoal::data_summary summary = shoal::check_data<float>(context, source, nullptr);
  const int device = 0;
  shoal::cuda::device_group group(std::span(&device, 1));
  shoal::cuda::device_rows<float> rows(group, context, {&source, nullptr, 1});
  std::printf("%s: %zu rows of %zu columns, %zu x %zu units\n", group.kind().c_str(), p.rows, p.columns, p.width,
              p.height);
  for (const first_distance metric : {first_distance::euclidean, first_distance::taxicab}) {
    climb(p, metric, rows, summary, values, units);
  }
}
