// What each algorithm for mixtures needs on GPUs to come within 1e-4 of the mean log-likelihood that batch reaches in
// the end: passes over the rows, milliseconds of one, and milliseconds to get there. Medians over starts, each with
// rows of its own: unit Gaussians with means N(0, spread²).
//
//   em_device [starts [log2 rows [columns [components [spread [full|diag [device [part of a name]]]]]]]]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/backend.hpp>
#include <shoal/gmm/gmm.hpp>
#include <shoal/random/stream.hpp>

namespace {

namespace gmm = shoal::gmm;
using clock_type = std::chrono::steady_clock;

constexpr double close = 1e-4;
constexpr std::size_t most_passes = 4000;
constexpr std::size_t timed_passes = 200;

struct problem {
  std::size_t rows, columns, components;
  double spread;
  gmm::covariance_type type;
};

// A stream for each part of the rows, so that threads may draw them at the same time.
std::vector<float> unit_gaussians(const problem& of, std::uint64_t seed) {
  const auto normal = [](shoal::random::stream& words) {
    return std::sqrt(-2 * std::log(words.uniform())) * std::cos(6.283185307179586 * words.uniform());
  };
  std::vector<double> means(of.components * of.columns);
  shoal::random::stream drawn(seed, 1);
  for (double& mean : means) mean = of.spread * normal(drawn);
  std::vector<float> values(of.rows * of.columns);
  const std::size_t parts = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (std::size_t part = 0; part < parts; ++part) {
    threads.emplace_back([&, part] {
      shoal::random::stream words(seed, 2 + part);
      for (std::size_t i = of.rows * part / parts; i < of.rows * (part + 1) / parts; ++i) {
        const auto some = static_cast<double>(of.components);
        const auto k = std::min(static_cast<std::size_t>(words.uniform() * some), of.components - 1);
        for (std::size_t j = 0; j < of.columns; ++j) {
          values[i * of.columns + j] = static_cast<float>(means[k * of.columns + j] + normal(words));
        }
      }
    });
  }
  return values;
}

double seconds_since(clock_type::time_point start) {
  return std::chrono::duration<double>(clock_type::now() - start).count();
}

// Seconds of so many passes from the first model on.
double time_passes(gmm::mixture_stepper& fit, std::size_t passes) {
  fit.seed(0);
  const auto start = clock_type::now();
  for (std::size_t done = 0; done < passes;) done += fit.advance(passes - done).size();
  return seconds_since(start);
}

// The passes after which the model is good enough, or none.
std::size_t passes_to(gmm::mixture_stepper& fit, double enough) {
  fit.seed(0);
  for (std::size_t passes = 1; passes <= most_passes; ++passes) {
    fit.advance(1);
    if (fit.score() >= enough) return passes;
  }
  return 0;
}

// Where batch ends.
double end_of(gmm::mixture_stepper& batch) {
  batch.seed(0);
  double before = -1e300;
  for (std::size_t passes = 0; passes < most_passes;) {
    for (const shoal::step_record& step : batch.advance(64)) {
      ++passes;
      if (std::abs(step.objective - before) < 1e-9) return batch.score();
      before = step.objective;
    }
  }
  return batch.score();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? std::nan("") : values[values.size() / 2];
}

struct variant {
  std::string name;
  gmm::algorithm algorithm = gmm::algorithm::batch;
  std::size_t superchunks = 0;
  gmm::acceleration acceleration = gmm::acceleration::none;
  bool as_in_2013 = false;
};

// Batch, and those whose names have `part`.
std::vector<variant> variants(std::string_view part) {
  using enum gmm::algorithm;
  std::vector<variant> all{{"batch"}};
  for (const std::size_t superchunks : {1, 2, 4, 8, 16}) {
    all.push_back({fmt::format("incremental, {} superchunks", superchunks), incremental, superchunks});
  }
  for (const std::size_t superchunks : {4, 8, 16, 32}) {
    all.push_back({fmt::format("asynchronous, {} superchunks", superchunks), asynchronous, superchunks});
  }
  all.push_back({"async_em_2013", asynchronous, 128, gmm::acceleration::none, true});
  all.push_back({"squarem", batch, 0, gmm::acceleration::squarem});
  std::erase_if(all,
                [&](const variant& one) { return one.name != "batch" && one.name.find(part) == std::string::npos; });
  return all;
}

void measure(const problem& of, std::size_t starts, const shoal::device_choice& device, std::string_view part) {
  const std::vector<variant> all = variants(part);
  struct outcome {
    std::vector<double> passes, milliseconds, to_target, quotients;
    std::string refusal;
  };
  std::vector<outcome> outcomes(all.size());
  for (std::size_t start = 0; start < starts; ++start) {
    const std::vector<float> values = unit_gaussians(of, start);
    const shoal::view_source<float> source({values.data(), of.rows, of.columns});
    const auto workers = shoal::make_executor(0);
    const auto on = gmm::make_backend<float>(device, {{workers.get(), 0, {}}, &source, nullptr, false});
    double enough = 0;
    for (std::size_t v = 0; v < all.size(); ++v) {
      gmm::options options;
      if (all[v].as_in_2013) gmm::set_async_em_2013(options);
      options.components = of.components;
      options.covariance_type = of.type;
      options.init = gmm::initialization::random_rows;
      options.tolerance = 0;
      options.regularization = 0;
      options.max_iterations = most_passes;
      options.seed = start;
      options.device = device;
      options.algorithm = all[v].algorithm;
      options.acceleration = all[v].acceleration;
      options.chunks.superchunks = all[v].superchunks;
      options.chunks.memory = std::size_t{4} << 30;
      outcome& found = outcomes[v];
      try {
        const auto fit = on->fit(options);
        if (v == 0) enough = end_of(*fit) - close;
        const std::size_t passes = passes_to(*fit, enough);
        time_passes(*fit, timed_passes);
        found.milliseconds.push_back(1e3 * time_passes(*fit, timed_passes) / static_cast<double>(timed_passes));
        if (passes == 0) continue;  // ended in a lower maximum, or never came so close
        found.passes.push_back(static_cast<double>(passes));
        found.to_target.push_back(1e3 * time_passes(*fit, passes));
        if (outcomes[0].to_target.size() == start + 1) {
          found.quotients.push_back(outcomes[0].to_target.back() / found.to_target.back());
        }
      } catch (const shoal::error& failure) {
        found.refusal = failure.what();
      }
    }
  }
  fmt::print("{} rows, {} columns, {} components, means N(0, {}²), {}, {} starts, {}\n", of.rows, of.columns,
             of.components, of.spread, of.type == gmm::covariance_type::full ? "full" : "diag", starts,
             shoal::device_name(device));
  fmt::print("{:28} {:>8} {:>10} {:>10} {:>8} {:>8} {:>9}\n", "", "passes", "ms a pass", "ms to end", "faster", "least",
             "reached");
  for (std::size_t v = 0; v < all.size(); ++v) {
    const outcome& found = outcomes[v];
    if (found.milliseconds.empty()) {
      fmt::print("{:28} {}\n", all[v].name, found.refusal);
      continue;
    }
    const double least =
        found.quotients.empty() ? 0 : *std::min_element(found.quotients.begin(), found.quotients.end());
    fmt::print("{:28} {:>8.0f} {:>10.4f} {:>10.3f} {:>8.2f} {:>8.2f} {:>6}/{}\n", all[v].name, median(found.passes),
               median(found.milliseconds), median(found.to_target), median(found.quotients), least, found.passes.size(),
               starts);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const auto number = [&](int at, double otherwise) {
    return count > at ? std::strtod(arguments[at], nullptr) : otherwise;
  };
  const auto whole = [&](int at, double otherwise) { return static_cast<std::size_t>(number(at, otherwise)); };
  problem of;
  of.rows = std::size_t{1} << whole(2, 20);
  of.columns = whole(3, 8);
  of.components = whole(4, 10);
  of.spread = number(5, 1.3);
  of.type =
      count > 6 && std::string_view(arguments[6]) == "diag" ? gmm::covariance_type::diag : gmm::covariance_type::full;
  try {
    measure(of, whole(1, 10), shoal::choose_device(count > 7 ? arguments[7] : "cuda"), count > 8 ? arguments[8] : "");
  } catch (const shoal::error& failure) {
    fmt::print(stderr, "em_device: {}\n", failure.what());
    return 1;
  }
}
