// What TF32 and bf16 products cost k-means: labels that differ from float32's about the same centroids, the inertia
// with those labels, and the inertia of a fit against float32's from the same start (which may end in another optimum).
#include <cmath>
#include <cstdio>
#include <vector>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/kmeans/cuda/lloyd.hpp>

#include "made_rows.hpp"

namespace {

struct outcome {
  std::vector<std::int32_t> labels;  // about the centroids that are given
  double labelled = 0;               // inertia with these labels
  double inertia = 0;                // of a fit from them
};

outcome run(const shape& s, const std::vector<float>& values, const std::vector<double>& first,
            shoal::precision products) {
  const auto workers = shoal::make_threads(0);
  const shoal::fold_context context{workers.get(), 0, {}};
  const int device = 0;
  const shoal::view_source<float> source(shoal::matrix_view<const float>(values.data(), s.rows, s.columns));
  shoal::cuda::device_group group(std::span(&device, 1), products), exact(std::span(&device, 1));
  shoal::cuda::device_rows<float> rows(group, context, {&source, nullptr, 1});
  outcome made;
  made.labels.resize(s.rows);
  made.labelled =
      shoal::kmeans::predict_on_device(rows, {s.clusters, s.columns, first, {}}, made.labels.data()).inertia;
  // The rows are drawn about the origin: it may stand for their mean.
  const auto stepper = shoal::kmeans::make_device_lloyd<float>(
      rows, context, s.clusters, [&](std::size_t) { return first; }, {}, std::vector<double>(s.columns, 0.0));
  stepper->seed(0);
  for (std::size_t done = 0; done < 20;) {
    const auto steps = stepper->advance(20 - done);
    done += steps.size();
    if (steps.back().settled) break;
  }
  shoal::cuda::device_rows<float> exact_rows(exact, context, {&source, nullptr, 1});
  made.inertia = shoal::kmeans::predict_on_device(exact_rows, {s.clusters, s.columns, stepper->centroids(), {}},
                                                  static_cast<std::int32_t*>(nullptr))
                     .inertia;
  return made;
}

}  // namespace

int main() {
  std::printf("%10s %7s %8s %9s %9s %14s %14s %24s\n", "rows", "columns", "clusters", "data", "products",
              "other labels", "inertia", "inertia after 20 steps");
  for (const shape& s : {shape{1'000'000, 16, 64}, {1 << 20, 32, 256}, {1 << 18, 128, 1024}}) {
    for (const bool clustered : {false, true}) {
      const std::vector<float> values = make_rows(s, clustered);
      const std::vector<double> first = first_rows(s, values);
      const outcome fact = run(s, values, first, shoal::precision::float32);
      for (const auto products : {shoal::precision::tf32, shoal::precision::bf16}) {
        const outcome rough = run(s, values, first, products);
        std::size_t different = 0;
        for (std::size_t i = 0; i < s.rows; ++i) different += rough.labels[i] != fact.labels[i];
        std::printf("%10zu %7zu %8zu %9s %9s %12.3f %% %+14.2e %+24.2e\n", s.rows, s.columns, s.clusters,
                    clustered ? "clustered" : "uniform", shoal::precision_name(products).data(),
                    100 * static_cast<double>(different) / static_cast<double>(s.rows),
                    rough.labelled / fact.labelled - 1, rough.inertia / fact.inertia - 1);
        std::fflush(stdout);
      }
    }
  }
}
