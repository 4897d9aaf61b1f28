// Time that algorithms for mixtures need, on a device, to come within 1e-4 of the mean log-likelihood that batch
// reaches in the end: medians over starts, each with data of its own.
//   em_reach ROWS COLUMNS COMPONENTS SPREAD STARTS DEVICE [full|diag] [ALGORITHM[/SUPERCHUNKS] …]
// SPREAD is the standard deviation of the means of unit Gaussians. The paper's own parameters are async_em_2013.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/gmm/backend.hpp>
#include <shoal/gmm/check_options.hpp>
#include <shoal/gmm/generate.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/gmm/sample.hpp>

namespace {

namespace gmm = shoal::gmm;
using clock_type = std::chrono::steady_clock;

constexpr double close = 1e-4;
constexpr std::size_t most_passes = 4000;
constexpr std::size_t kept_memory = std::size_t{4} << 30;  // for the statistics of many superchunks

struct problem {
  std::size_t rows, columns, components;
  double spread;
  gmm::covariance_type type = gmm::covariance_type::full;
};

std::vector<float> unit_gaussians(const problem& size, std::uint64_t seed, const shoal::device_choice& device) {
  gmm::generator_options options;
  options.components = size.components;
  options.columns = size.columns;
  options.mean_scale = size.spread * size.spread;
  options.covariance_type = gmm::covariance_type::spherical;
  options.seed = seed;
  gmm::model model = gmm::generate_model(options);
  std::fill(model.weights.begin(), model.weights.end(), 1 / static_cast<double>(size.components));
  std::fill(model.covariances.begin(), model.covariances.end(), 1.0);
  std::vector<float> values(size.rows * size.columns);
  gmm::sample(model, seed, 0, shoal::matrix_view<float>(values.data(), size.rows, size.columns), nullptr,
              shoal::random::normal_method::ziggurat, device);
  return values;
}

struct algorithm {
  std::string name;
  void (*choose)(gmm::options&);
  bool exact;  // an iteration's objective is the log-likelihood of the model that it started from
  std::size_t superchunks = 0;
};

const std::vector<algorithm>& algorithms() {
  static const std::vector<algorithm> known = {
      {"batch", [](gmm::options&) {}, true},
      {"squarem", [](gmm::options& o) { o.acceleration = gmm::acceleration::squarem; }, true},
      {"incremental", [](gmm::options& o) { o.algorithm = gmm::algorithm::incremental; }, false},
      {"asynchronous", [](gmm::options& o) { o.algorithm = gmm::algorithm::asynchronous; }, false},
      {"async_em_2013", gmm::set_async_em_2013, false},
  };
  return known;
}

struct course {
  std::vector<double> reached;  // mean log-likelihood of the model that each pass began with, or else ended with
  double seconds = 0;           // of the passes alone

  // Passes until it is `enough`; none when it never was.
  std::optional<std::size_t> passes_to(double enough) const {
    const auto first = std::find_if(reached.begin(), reached.end(), [&](double l) { return l >= enough; });
    if (first == reached.end()) return std::nullopt;
    return static_cast<std::size_t>(first - reached.begin()) + 1;
  }
};

// At most so many passes, until one comes to `enough` or changes the objective by less than `tolerance`. A fit takes as
// many passes between two looks as it likes, unless its objectives are not exact and `enough` is to be found: then the
// model is scored after each pass, which is not timed.
course run(gmm::mixture_stepper& fit, bool exact, std::size_t most, double enough, double tolerance) {
  const bool scored = !exact && std::isfinite(enough);
  fit.seed(0);
  course taken;
  while (taken.reached.size() < most) {
    const auto start = clock_type::now();
    const auto steps = fit.advance(scored ? 1 : most - taken.reached.size());
    taken.seconds += std::chrono::duration<double>(clock_type::now() - start).count();
    for (const shoal::step_record& step : steps) {
      const double before = taken.reached.empty() ? -INFINITY : taken.reached.back();
      taken.reached.push_back(scored ? fit.score() : step.objective);
      if (taken.reached.back() >= enough || std::abs(taken.reached.back() - before) < tolerance) return taken;
    }
  }
  return taken;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

struct figures {
  std::vector<double> passes, milliseconds, each, quotients;
};

void measure(const problem& size, std::size_t starts, const shoal::device_choice& device,
             const std::vector<algorithm>& chosen) {
  std::vector<figures> found(chosen.size());
  for (std::size_t start = 0; start < starts; ++start) {
    const std::vector<float> values = unit_gaussians(size, start, device);
    const shoal::view_source<float> source({values.data(), size.rows, size.columns});
    const auto workers = shoal::make_executor(0);
    const auto on = gmm::make_backend<float>(device, {{workers.get(), 0, {}}, &source, nullptr, false});
    double enough = INFINITY;
    for (std::size_t a = 0; a < chosen.size(); ++a) {
      gmm::options options;
      options.components = size.components;
      options.covariance_type = size.type;
      chosen[a].choose(options);
      if (chosen[a].superchunks != 0) options.chunks.superchunks = chosen[a].superchunks;
      options.chunks.memory = kept_memory;
      options.init = gmm::initialization::random_rows;
      options.tolerance = 0;
      options.regularization = 0;
      options.max_iterations = most_passes;
      options.seed = start;
      options.device = device;
      gmm::validate_options(options, size.columns);
      const auto fit = on->fit(options);
      // The first course warms up, and says how many passes the others take; batch's says where the end is.
      const course first = run(*fit, chosen[a].exact, most_passes, enough, a == 0 ? 1e-8 : 0);
      if (a == 0) enough = first.reached.back() - close;
      auto passes = first.passes_to(enough);
      if (!passes) continue;  // ended in a lower maximum, or never came so close
      // Passes that nobody looks between may read older models, and take a little longer to get there.
      while (!chosen[a].exact && *passes < most_passes) {
        run(*fit, false, *passes, INFINITY, 0);
        if (fit->score() >= enough) break;
        *passes += 1 + *passes / 64;
      }
      double seconds = INFINITY;
      for (int repeat = 0; repeat < 3; ++repeat) {
        seconds = std::min(seconds, run(*fit, chosen[a].exact, *passes, INFINITY, 0).seconds);
      }
      found[a].passes.push_back(static_cast<double>(*passes));
      found[a].milliseconds.push_back(1e3 * seconds);
      found[a].each.push_back(1e3 * seconds / static_cast<double>(*passes));
      if (!found[0].milliseconds.empty()) {
        found[a].quotients.push_back(found[0].milliseconds.back() / found[a].milliseconds.back());
      }
    }
  }
  fmt::print("{} x {}, K = {}, means N(0, {}²), {}, {} starts, {}\n", size.rows, size.columns, size.components,
             size.spread, size.type == gmm::covariance_type::full ? "full" : "diag", starts,
             shoal::device_name(device));
  fmt::print("{:16} {:>7} {:>10} {:>10} {:>12} {:>8} {:>8} {:>8}\n", "", "passes", "ms a pass", "ms", "batch/ms",
             "least", "greatest", "reached");
  for (std::size_t a = 0; a < chosen.size(); ++a) {
    const figures& its = found[a];
    if (its.passes.empty()) continue;
    fmt::print("{:16} {:>7} {:>10.4f} {:>10.3f} {:>12.2f} {:>8.2f} {:>8.2f} {:>5}/{}\n", chosen[a].name,
               median(its.passes), median(its.each), median(its.milliseconds), median(its.quotients),
               *std::min_element(its.quotients.begin(), its.quotients.end()),
               *std::max_element(its.quotients.begin(), its.quotients.end()), its.passes.size(), starts);
  }
}

// Batch, which the others are compared with, and those that are named.
std::vector<algorithm> chosen_algorithms(std::span<char*> names) {
  std::vector<algorithm> chosen{algorithms().front()};
  for (const std::string_view name : names) {
    const std::size_t slash = name.find('/');
    const auto known = std::find_if(algorithms().begin(), algorithms().end(),
                                    [&](const algorithm& one) { return one.name == name.substr(0, slash); });
    if (known == algorithms().end()) throw shoal::bad_argument(fmt::format("there is no algorithm '{}'", name));
    algorithm& added = chosen.emplace_back(*known);
    added.name = name;
    if (slash != name.npos) added.superchunks = std::strtoul(name.data() + slash + 1, nullptr, 10);
  }
  return chosen;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 7) {
    fmt::print(stderr,
               "em_reach ROWS COLUMNS COMPONENTS SPREAD STARTS DEVICE [full|diag] [ALGORITHM[/SUPERCHUNKS] …]\n");
    return 2;
  }
  const auto number = [&](int i) { return std::strtoul(arguments[i], nullptr, 10); };
  try {
    problem size{number(1), number(2), number(3), std::strtod(arguments[4], nullptr)};
    std::span<char*> names(arguments + 7, static_cast<std::size_t>(count - 7));
    if (!names.empty() && (names[0] == std::string_view("diag") || names[0] == std::string_view("full"))) {
      if (names[0][0] == 'd') size.type = gmm::covariance_type::diag;
      names = names.subspan(1);
    }
    measure(size, number(5), shoal::choose_device(arguments[6]), chosen_algorithms(names));
  } catch (const shoal::error& failure) {
    fmt::print(stderr, "em_reach: {}\n", failure.what());
    return 1;
  }
}
