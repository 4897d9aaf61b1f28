// The auction on a GPU next to host threads, on the same costs: one line of JSON for each (`--host-auction`: an auction
// on two host threads too). `--schedules N KIND…` tries ways for the steps to fall in place of that.
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <shoal/assignment/assignment.hpp>
#include <shoal/assignment/auction.hpp>
#include <shoal/assignment/cuda/device_prices.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/random/stream.hpp>

namespace {

namespace assignment = shoal::assignment;
using shoal::matrix_view;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::vector<double> costs_of(const std::string& kind, std::size_t n) {
  std::vector<double> costs(n * n);
  std::vector<double> places(4 * n);
  shoal::random::stream of_places(2, n);
  for (double& place : places) place = of_places.uniform();
  if (kind == "clustered") {  // around twenty middles
    std::vector<double> middles(40);
    for (double& middle : middles) middle = of_places.uniform();
    for (std::size_t point = 0; point < 2 * n; ++point) {
      const auto cluster = static_cast<std::size_t>(20 * of_places.uniform());
      for (std::size_t axis = 0; axis < 2; ++axis) {
        places[2 * point + axis] = middles[2 * cluster + axis] + 0.05 * places[2 * point + axis];
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    shoal::random::stream uniforms(1, i);
    for (std::size_t j = 0; j < n; ++j) {
      double& cost = costs[i * n + j];
      if (kind == "exponential") cost = -std::log(uniforms.uniform());
      if (kind == "integers 1..100") cost = 1 + std::floor(100 * uniforms.uniform());
      if (kind == "geometric" || kind == "clustered")
        cost = std::hypot(places[2 * i] - places[2 * n + 2 * j], places[2 * i + 1] - places[2 * n + 2 * j + 1]);
      if (kind == "uniform") cost = uniforms.uniform();
      if (kind == "shifted") cost = uniforms.uniform() + 10 * places[i] + 10 * places[n + j];
      if (kind == "Machol-Wien") cost = static_cast<double>((i + 1) * (j + 1));
    }
  }
  return costs;
}

void compare(const std::string& kind, std::size_t n, bool host_auction) {
  const std::vector<double> costs = costs_of(kind, n);
  const matrix_view<const double> view(costs.data(), n, n);
  const auto time = [&](const char* name, const assignment::options& options) {
    double least = 1e300;
    assignment::solution found;
    for (int round = 0; round < 3 && (round == 0 || least < 1); ++round) {
      const double begin = now();
      found = assignment::solve(view, options);
      least = std::min(least, now() - begin);
    }
    fmt::print(
        "{{\"costs\": \"{}\", \"n\": {}, \"solver\": \"{}\", \"seconds\": {:.4f}, \"cost\": {}, \"certified\": {}}}\n",
        kind, n, name, least, found.cost, found.certified);
    std::fflush(stdout);
  };
  time("auction on the GPU", {.method = assignment::method::auction, .device = {.cuda = {0}}});
  time("auto on one host thread", {});
  if (host_auction) time("auction on two host threads", {.method = assignment::method::auction, .threads = 2});
}

void try_schedules(const std::string& kind, std::size_t n) {
  const std::vector<double> costs = costs_of(kind, n);
  const matrix_view<const double> view(costs.data(), n, n);
  const auto threads = shoal::make_threads(0);
  const double whole = now();
  const assignment::solution best = assignment::solve(view);
  fmt::print("{} {} auto {:.3f} s\n", kind, n, now() - whole);
  using schedule = assignment::cuda::auction_schedule;
  for (const double first : {0.25}) {
    for (const int halvings : {2, 3}) {
      for (const double last : {0x1p-20, 0x1p-24, 0x1p-28}) {
        for (const double left : {1.0 / 1024, 1.0 / 256}) {
          assignment::cuda::auction_work work;
          double finish = 0;
          const assignment::solution found = assignment::auction(
              view,
              [&](matrix_view<const double> square) {
                auto prices = assignment::cuda::device_prices(square, {.cuda = {0}}, 1e300,
                                                              schedule{first, halvings, last, left, 512, 40}, &work);
                finish = now();
                return prices;
              },
              *threads);
          finish = now() - finish;
          fmt::print(
              "{} {} first {:.2g} halvings {} last {:.2g} left {:.4f}: upload {:.3f} auction {:.4f} of it paths {:.4f} "
              "finish {:.3f} s, {} phases {} rounds {:.1f} bids/row {} searches {} steps{}\n",
              kind, n, first, halvings, last, left, work.upload_seconds, work.seconds, work.path_seconds, finish,
              work.phases, work.rounds, static_cast<double>(work.bids) / static_cast<double>(n), work.searches,
              work.steps, std::abs(found.cost - best.cost) <= 1e-11 * std::abs(best.cost) ? "" : " WRONG");
          std::fflush(stdout);
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--schedules") == 0) {
    for (int word = 3; word < argc; ++word) try_schedules(argv[word], std::stoul(argv[2]));
    return 0;
  }
  const bool host_auction = argc > 1 && std::strcmp(argv[1], "--host-auction") == 0;
  for (const std::size_t n : {20000, 8192, 4096, 1000}) {
    for (const char* kind : {"exponential", "uniform", "integers 1..100", "geometric", "clustered"}) {
      compare(kind, n, host_auction && n < 10000);
    }
  }
  compare("Machol-Wien", 4096, false);
}
