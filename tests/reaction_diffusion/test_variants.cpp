// Coefficients that differ from node to node, coupled axons, and noise.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>

#include "reference.hpp"

namespace {

using namespace wave_reference;

std::vector<double> last_v(const rd::result<double>& found, std::size_t nodes) {
  const auto begin = found.states.end() - static_cast<std::ptrdiff_t>(2 * nodes);
  return {begin, begin + static_cast<std::ptrdiff_t>(nodes)};
}

}  // namespace

TEST(Variants, FieldsThatAreConstantChangeNothing) {
  for (const std::size_t rows : {1, 6}) {
    for (const auto boundary : {rd::boundary::no_flux, rd::boundary::input, rd::boundary::periodic}) {
      rd::problem wave;
      wave.grid = {rows, 4500, 0.5};
      wave.boundary = boundary;
      wave.parameters.recovery_diffusion = 0.4;
      const double step = 0.03;
      const rd::initial_state begin = random_state(wave.grid);
      const auto expected = explicit_steps(wave, begin, step, 10);
      wave.fields.a.assign(wave.grid.nodes(), wave.parameters.a);
      wave.fields.diffusion.assign(wave.grid.nodes(), wave.parameters.diffusion);
      wave.parameters.a = wave.parameters.diffusion = 0.3;  // which the fields replace
      EXPECT_LE(
          largest_difference(rd::solve<double>(wave, begin, options_of(rd::scheme::explicit_steps, step, {10 * step})),
                             expected),
          20 * std::numeric_limits<double>::epsilon());
    }
  }
}

// Where D is small an impulse stays; where a is large it dies.
TEST(Variants, CoefficientsActWhereTheyAre) {
  rd::problem wave;
  wave.parameters = {.a = 0.1, .gamma = 2, .epsilon = 0};
  wave.grid = {1, 201, 0.5};
  rd::initial_state begin = rd::rest(wave.grid);
  for (std::size_t i = 80; i < 120; ++i) begin.v[i] = 1;
  wave.fields.a.assign(201, 0.1);
  for (std::size_t i = 0; i < 100; ++i) wave.fields.a[i] = 0.9;
  const auto split = last_v(rd::solve<double>(wave, begin, options_of(rd::scheme::explicit_steps, 0, {60})), 201);
  EXPECT_LT(split[40], 0.05);
  EXPECT_GT(split[140], 0.95);
  wave.fields.a.clear();
  wave.fields.diffusion.assign(201, 1);
  for (std::size_t i = 120; i < 201; ++i) wave.fields.diffusion[i] = 0;
  const auto blocked = last_v(rd::solve<double>(wave, begin, options_of(rd::scheme::explicit_steps, 0, {60})), 201);
  EXPECT_GT(blocked[40], 0.95);
  EXPECT_EQ(blocked[140], 0);
}

// With D(x) the differences are of second order too.
TEST(Variants, AreOfSecondOrderWhereDVaries) {
  std::vector<std::vector<double>> found;
  for (const std::size_t columns : {41, 81, 161}) {
    rd::problem wave;
    wave.grid = {1, columns, 20 / static_cast<double>(columns - 1)};
    rd::initial_state begin = rd::rest(wave.grid);
    for (std::size_t i = 0; i < columns; ++i) {
      const double x = static_cast<double>(i) * wave.grid.spacing;
      wave.fields.diffusion.push_back(1 + 0.5 * std::cos(0.157079632679 * x));
      begin.v[i] = std::exp(-(x - 3) * (x - 3) / 4) + std::exp(-(x + 3) * (x + 3) / 4);
    }
    const double step = 0.1 * wave.grid.spacing * wave.grid.spacing;
    found.push_back(last_v(rd::solve<double>(wave, begin, options_of(rd::scheme::explicit_steps, step, {3})), columns));
  }
  double differences[2] = {0, 0};
  for (std::size_t k = 0; k < 2; ++k) {
    for (std::size_t i = 0; i < found[k].size(); ++i) {
      differences[k] = std::max(differences[k], std::abs(found[k][i] - found[k + 1][2 * i]));
    }
  }
  EXPECT_NEAR(std::log2(differences[0] / differences[1]), 2, 0.05);
}

// Input at the ends of all rows: the error of the steps, which shorten with the square of the spacing, and of space.
TEST(Variants, InputInThePlaneIsOfSecondOrder) {
  std::vector<std::vector<double>> found;
  const std::vector<std::size_t> cells = {32, 64, 128};
  for (const std::size_t across : cells) {
    rd::problem wave;
    wave.grid = {across / 2 + 1, across + 1, 16 / static_cast<double>(across)};
    wave.boundary = rd::boundary::periodic_input;
    wave.input_period = 8;
    rd::initial_state begin = rd::rest(wave.grid);
    for (std::size_t i = 0; i < begin.v.size(); ++i) {
      const double x = static_cast<double>(i % (across + 1)) * wave.grid.spacing,
                   y = static_cast<double>(i / (across + 1)) * wave.grid.spacing;
      begin.v[i] = std::exp(-(x * x + y * y) / 4);
    }
    const double step = 0.1 * wave.grid.spacing * wave.grid.spacing;
    found.push_back(
        last_v(rd::solve<double>(wave, begin, options_of(rd::scheme::explicit_steps, step, {3})), wave.grid.nodes()));
  }
  double differences[2] = {0, 0};
  for (std::size_t k = 0; k < 2; ++k) {
    const std::size_t across = cells[k] + 1;
    for (std::size_t i = 0; i < found[k].size(); ++i) {
      const std::size_t finer = 2 * (i / across) * (2 * cells[k] + 1) + 2 * (i % across);
      differences[k] = std::max(differences[k], std::abs(found[k][i] - found[k + 1][finer]));
    }
  }
  EXPECT_NEAR(std::log2(differences[0] / differences[1]), 2, 0.05);
}

TEST(Variants, CoupledAxonsPullAtEachOther) {
  rd::problem wave;
  wave.grid = {2, 201, 0.5};
  wave.coupling = 0;
  const rd::initial_state begin = random_state(wave.grid);
  const rd::options how = options_of(rd::scheme::explicit_steps, 0.05, {5});
  // Without coupling each is an axon alone.
  const auto apart = last_v(rd::solve<double>(wave, begin, how), 402);
  rd::problem axon = wave;
  axon.coupling.reset();
  axon.grid.rows = 1;
  for (std::size_t row = 0; row < 2; ++row) {
    const auto part = [&](const std::vector<double>& of) {
      return std::vector<double>(of.begin() + static_cast<std::ptrdiff_t>(201 * row),
                                 of.begin() + static_cast<std::ptrdiff_t>(201 * (row + 1)));
    };
    const auto alone = last_v(rd::solve<double>(axon, {part(begin.v), part(begin.w)}, how), 201);
    for (std::size_t i = 0; i < 201; ++i) EXPECT_NEAR(apart[201 * row + i], alone[i], 1e-14);
  }
  // Two that are alike stay as each alone, however strong the coupling.
  rd::initial_state alike = rd::impulse(wave.grid);
  for (std::size_t i = 0; i < 201; ++i) alike.v[201 + i] = alike.v[i];
  wave.coupling = 2;
  const auto together = last_v(rd::solve<double>(wave, alike, how), 402);
  for (std::size_t i = 0; i < 201; ++i) EXPECT_EQ(together[i], together[201 + i]);
  // The difference of v decays by 2K at least; one that is excited excites the other.
  rd::initial_state one = rd::rest(wave.grid);
  for (std::size_t i = 80; i < 120; ++i) one.v[i] = 1;
  wave.coupling = 0.05;
  const auto woken = last_v(rd::solve<double>(wave, one, options_of(rd::scheme::explicit_steps, 0, {60})), 402);
  EXPECT_GT(*std::max_element(woken.begin() + 201, woken.end()), 0.8);
}

// Near rest v is a sum of Ornstein–Uhlenbeck processes, whose stationary variance is known of both methods exactly.
TEST(Noise, HasTheStationaryVariance) {
  rd::problem wave;
  wave.parameters = {.a = 0.5, .gamma = 2, .epsilon = 0};
  wave.grid = {1, 2000, 0.5};
  wave.boundary = rd::boundary::periodic;
  wave.noise = {rd::noise_kind::additive, 1e-3, 7};
  const double step = 0.1;
  std::vector<double> times;
  for (int i = 0; i < 40; ++i) times.push_back(10 + 4 * i);
  for (const rd::scheme scheme : {rd::scheme::explicit_steps, rd::scheme::crank_nicolson}) {
    double expected = 0;
    for (std::size_t k = 0; k < 2000; ++k) {
      const double rate = 0.5 + 16 * std::pow(std::sin(3.14159265358979 * static_cast<double>(k) / 2000), 2);
      const double of_method = scheme == rd::scheme::explicit_steps ? 1 - step * rate / 2 : 1;
      expected += 1e-6 / 0.5 / (2 * rate * of_method) / 2000;
    }
    const auto found = rd::solve<double>(wave, rd::rest(wave.grid), options_of(scheme, step, times));
    double sum = 0;
    for (std::size_t t = 0; t < 40; ++t) {
      for (std::size_t i = 0; i < 2000; ++i) sum += std::pow(found.states[t * 4000 + i], 2);
    }
    EXPECT_NEAR(sum / 80000 / expected, 1, 0.04) << int(scheme);
  }
}

// In the plane implicit steps are split. With the product R of its parts' factors a step makes (1 + R)/2 of its noise.
TEST(Noise, HasTheStationaryVarianceInThePlane) {
  rd::problem wave;
  wave.parameters = {.a = 0.5, .gamma = 2, .epsilon = 0};
  wave.grid = {40, 50, 0.5};
  wave.boundary = rd::boundary::periodic;
  wave.noise = {rd::noise_kind::additive, 1e-3, 7};
  const double step = 0.2;
  std::vector<double> times;
  for (int i = 0; i < 40; ++i) times.push_back(10 + 4 * i);
  const auto factor = [](double z) { return (1 - z) / (1 + z); };
  const auto of_mode = [](double k, double n) { return 16 * std::pow(std::sin(3.14159265358979 * k / n), 2); };
  double expected = 0, exact = 0;
  for (int k = 0; k < 40; ++k) {
    for (int l = 0; l < 50; ++l) {
      const double one = of_mode(k, 40), other = of_mode(l, 50);
      const double whole = std::pow(factor(0.5 * step / 4), 2) * factor(one * step / 2) * factor(other * step / 2);
      expected += 1e-6 / 0.25 * step / 4 * (1 + whole) / (1 - whole) / 2000;
      exact += 1e-6 / 0.25 / (2 * (0.5 + one + other)) / 2000;
    }
  }
  const auto found = rd::solve<double>(wave, rd::rest(wave.grid), options_of(rd::scheme::crank_nicolson, step, times));
  double sum = 0;
  for (std::size_t t = 0; t < 40; ++t) {
    for (std::size_t i = 0; i < 2000; ++i) sum += std::pow(found.states[t * 4000 + i], 2);
  }
  EXPECT_NEAR(sum / 80000 / expected, 1, 0.04);
  EXPECT_NEAR(expected / exact, 1, 0.5);
}

// Without diffusion each node is a geometric Brownian motion near rest.
TEST(Noise, MultipliesVInItosSense) {
  rd::problem wave;
  wave.parameters = {.a = 0.5, .gamma = 2, .epsilon = 0, .diffusion = 0};
  wave.grid = {1, 20000, 0.5};
  wave.noise = {rd::noise_kind::multiplicative, 0.2, 3};
  rd::initial_state begin = rd::rest(wave.grid);
  for (double& v : begin.v) v = 1e-4;
  for (const rd::scheme scheme : {rd::scheme::explicit_steps, rd::scheme::crank_nicolson}) {
    const auto v = last_v(rd::solve<double>(wave, begin, options_of(scheme, 0.02, {2})), 20000);
    double mean = 0, square = 0;
    for (const double value : v) mean += value / 20000;
    for (const double value : v) square += std::pow(value - mean, 2) / 20000;
    EXPECT_NEAR(mean / (1e-4 * std::exp(-1.0)), 1, 0.015) << int(scheme);
    EXPECT_NEAR(square / (mean * mean), std::expm1(0.04 / 0.5 * 2), 0.012) << int(scheme);
    const auto rest = rd::solve<double>(wave, rd::rest(wave.grid), options_of(scheme, 0.02, {0.2}));
    for (const double value : rest.states) EXPECT_EQ(value, 0);
  }
}

TEST(Noise, IsTheSameForAnyThreadsAndAfterAStop) {
  const std::string path = testing::TempDir() + "noise_checkpoint.json";
  for (const auto& [rows, scheme] : {std::pair{std::size_t{1}, rd::scheme::explicit_steps},
                                     {std::size_t{1}, rd::scheme::crank_nicolson},
                                     {std::size_t{9}, rd::scheme::explicit_steps},
                                     {std::size_t{9}, rd::scheme::crank_nicolson}}) {
    rd::problem wave;
    wave.grid = {rows, rows == 1 ? 20001u : 601u, 0.5};
    wave.noise = {rd::noise_kind::additive, 0.05, 11};
    const rd::initial_state begin = rd::impulse(wave.grid);
    rd::options how = options_of(scheme, 0.05, {0.5, 1.5});
    const auto one = rd::solve<double>(wave, begin, how);
    how.threads = 3;
    EXPECT_EQ(rd::solve<double>(wave, begin, how).states, one.states);
    wave.noise.seed = 12;
    EXPECT_NE(rd::solve<double>(wave, begin, how).states, one.states);
    wave.noise.seed = 11;
    how.checkpoint = path;
    how.checkpoint_seconds = 0;
    std::filesystem::remove(path);
    std::stop_source stop;
    const auto stop_on_the_way = [&](const shoal::progress&) { stop.request_stop(); };
    EXPECT_THROW(rd::solve<double>(wave, begin, how, {}, {stop_on_the_way, stop.get_token()}), shoal::interrupted);
    EXPECT_EQ(rd::solve<double>(wave, begin, how).states, one.states);
  }
  std::filesystem::remove(path);
}

TEST(Variants, RefuseWhatIsNotComputed) {
  const auto expect_refused = [](const rd::problem& wave, rd::scheme scheme, const std::string& part) {
    try {
      rd::solve<double>(wave, rd::rest(wave.grid), options_of(scheme, 0, {1}));
      FAIL() << "not refused: " << part;
    } catch (const shoal::bad_argument& refusal) {
      EXPECT_NE(std::string(refusal.what()).find(part), std::string::npos) << refusal.what();
    }
  };
  rd::problem wave;
  wave.noise.strength = -1;
  expect_refused(wave, rd::scheme::explicit_steps, "strength of noise");
  wave.noise.strength = 1;
  expect_refused(wave, rd::scheme::tr_bdf2, "noise needs");
  wave.noise.strength = 0;
  wave.coupling = 1;
  expect_refused(wave, rd::scheme::explicit_steps, "2 axons");
  wave.coupling.reset();
  wave.fields.a.assign(3, 0.1);
  expect_refused(wave, rd::scheme::explicit_steps, "field of a has 3 values");
  wave.fields.a.clear();
  wave.fields.diffusion.assign(401, 1);
  wave.fields.diffusion[7] = -1;
  expect_refused(wave, rd::scheme::explicit_steps, "diffusion[7]");
}
