// Implicit steps in the plane, of coupled axons, with fields and where w spreads: agreement, orders, bounds, bits.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/diffusion_lines.hpp>

#include "reference.hpp"

namespace {

using namespace wave_reference;

// A smooth state without flux at the walls: a hill that meets two of them.
rd::initial_state hill(const rd::grid& nodes) {
  rd::initial_state begin = rd::rest(nodes);
  constexpr double pi = 3.14159265358979;
  const double height = std::max<double>(1, static_cast<double>(nodes.rows - 1)),
               width = static_cast<double>(nodes.columns - 1);
  for (std::size_t i = 0; i < nodes.rows; ++i) {
    for (std::size_t j = 0; j < nodes.columns; ++j) {
      const double x = static_cast<double>(j) / width, y = static_cast<double>(i) / height;
      begin.v[i * nodes.columns + j] = 0.3 + 0.3 * std::cos(pi * x) + 0.3 * std::cos(pi * y) * std::cos(2 * pi * x);
      begin.w[i * nodes.columns + j] = 0.05 + 0.04 * std::cos(pi * x) * std::cos(pi * y);
    }
  }
  return begin;
}

rd::problem plane(std::size_t rows, std::size_t columns, double spacing) {
  rd::problem wave;
  wave.parameters = {.a = 0.1, .gamma = 2, .epsilon = 0.05};
  wave.grid = {rows, columns, spacing};
  return wave;
}

double fitted_order(const std::vector<double>& errors) {  // of steps that halve
  return std::log2(errors.front() / errors.back()) / static_cast<double>(errors.size() - 1);
}

rd::initial_state last_state(const rd::result<double>& found, std::size_t nodes) {
  const auto begin = found.states.end() - static_cast<std::ptrdiff_t>(2 * nodes);
  return {{begin, begin + static_cast<std::ptrdiff_t>(nodes)},
          {begin + static_cast<std::ptrdiff_t>(nodes), found.states.end()}};
}

}  // namespace

// (I − weight·L)·x is what was given.
TEST(DiffusionLines, SolveTheirEquations) {
  for (const rd::line_ends ends : {rd::line_ends::mirror, rd::line_ends::open, rd::line_ends::around}) {
    for (const std::size_t nodes : {2, 3, 4, 17}) {
      if (ends == rd::line_ends::around && nodes < 3) continue;
      for (const double weight : {0.3, 40.0}) {
        rd::diffusion_lines<double> lines(nodes, ends);
        lines.prepare(weight);
        constexpr std::size_t count = 3, stride = 5;
        std::vector<double> given(nodes * stride);
        for (std::size_t i = 0; i < given.size(); ++i) given[i] = std::sin(3.0 * static_cast<double>(i) + 1);
        std::vector<double> x = given;
        lines.solve(x.data(), 0, count, stride);
        for (std::size_t i = 0; i < nodes; ++i) {
          for (std::size_t k = 0; k < stride; ++k) {
            const auto at = [&](std::size_t node) { return x[node * stride + k]; };
            if (k >= count) {
              EXPECT_EQ(at(i), given[i * stride + k]);
              continue;
            }
            double bend = 0;
            const std::size_t last = nodes - 1;
            if (i > 0) bend += at(i - 1) - at(i);
            if (i < last) bend += at(i + 1) - at(i);
            if (i == 0 && ends == rd::line_ends::mirror) bend += at(1) - at(0);
            if (i == last && ends == rd::line_ends::mirror) bend += at(last - 1) - at(last);
            if (i == 0 && ends == rd::line_ends::around) bend += at(last) - at(0);
            if (i == last && ends == rd::line_ends::around) bend += at(0) - at(last);
            EXPECT_NEAR(at(i) - weight * bend, given[i * stride + k], 1e-12);
          }
        }
      }
    }
  }
}

// Where D differs too: (I − weight·L)·x is what was given, line by line.
TEST(DiffusionLines, SolveTheirEquationsWhereDVaries) {
  constexpr std::size_t nodes = 6, count = 4;
  std::vector<double> field(nodes * count), given(nodes * count);
  for (std::size_t i = 0; i < field.size(); ++i) {
    field[i] = 1 + 0.9 * std::sin(2.0 * static_cast<double>(i));
    given[i] = std::cos(3.0 * static_cast<double>(i) + 1);
  }
  for (const rd::line_ends ends : {rd::line_ends::mirror, rd::line_ends::open, rd::line_ends::around}) {
    rd::diffusion_lines<double> lines(nodes, ends, count, field, count, 1);
    lines.prepare(7);
    std::vector<double> x = given;
    lines.solve(x.data(), 0, 1, count);
    lines.solve(x.data() + 1, 1, count - 1, count);
    for (std::size_t i = 0; i < nodes; ++i) {
      for (std::size_t k = 0; k < count; ++k) {
        const auto flow = [&](std::size_t other) {
          return (field[i * count + k] + field[other * count + k]) / 2 * (x[other * count + k] - x[i * count + k]);
        };
        double bend = 0;
        if (i > 0) bend += flow(i - 1);
        if (i + 1 < nodes) bend += flow(i + 1);
        if (ends == rd::line_ends::mirror && i == 0) bend *= 2;
        if (ends == rd::line_ends::mirror && i + 1 == nodes) bend *= 2;
        if (ends == rd::line_ends::around && i == 0) bend += flow(nodes - 1);
        if (ends == rd::line_ends::around && i + 1 == nodes) bend += flow(0);
        EXPECT_NEAR(x[i * count + k] - 7 * bend, given[i * count + k], 1e-12);
      }
    }
  }
}

TEST(Split, AgreesWithShortExplicitSteps) {
  for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{9, 21}, {1, 40}}) {
    for (const auto boundary : {rd::boundary::no_flux, rd::boundary::periodic}) {
      rd::problem wave = plane(rows, columns, 0.5);
      wave.boundary = boundary;
      wave.parameters.recovery_diffusion = 0.4;
      const rd::initial_state begin = hill(wave.grid);
      const auto expected = explicit_steps(wave, begin, 0.0005, 8000);
      for (const rd::scheme scheme : implicit_schemes) {
        EXPECT_LE(largest_difference(rd::solve<double>(wave, begin, options_of(scheme, 0.02, {4})), expected), 3e-4);
        EXPECT_LE(largest_difference(rd::solve<float>(wave, begin, options_of(scheme, 0.02, {4})), expected), 3e-4);
      }
    }
  }
}

// Fields and coupled axons, against explicit steps of the library.
TEST(Split, AgreesWithExplicitStepsOfVariants) {
  rd::problem wave = plane(3, 41, 0.5);
  const rd::initial_state begin = hill(wave.grid);
  for (const bool coupled : {true, false}) {
    wave.coupling.reset();
    if (coupled) wave.coupling = 0.3;
    wave.fields.a.clear();
    wave.fields.epsilon.clear();
    for (std::size_t i = 0; i < wave.grid.nodes() && !coupled; ++i) {
      wave.fields.a.push_back(0.1 + 0.002 * static_cast<double>(i));
      wave.fields.epsilon.push_back(0.01 + 0.0003 * static_cast<double>(i));
    }
    const auto expected = last_state(
        rd::solve<double>(wave, begin, options_of(rd::scheme::explicit_steps, 0.0005, {3})), wave.grid.nodes());
    for (const rd::scheme scheme : implicit_schemes) {
      EXPECT_LE(largest_difference(rd::solve<double>(wave, begin, options_of(scheme, 0.02, {3})), expected), 3e-4);
    }
  }
}

rd::problem where_d_varies(std::size_t rows, std::size_t columns, double spacing) {
  rd::problem wave = plane(rows, columns, spacing);
  for (std::size_t i = 0; i < wave.grid.nodes(); ++i) {
    const double x = static_cast<double>(i % columns) / static_cast<double>(columns - 1);
    const double y = static_cast<double>(i / columns) / static_cast<double>(rows);
    wave.fields.diffusion.push_back(1 + 0.5 * std::cos(3.14159265358979 * x) * std::cos(3.14159265358979 * y));
  }
  return wave;
}

TEST(Split, AgreesWithExplicitStepsWhereDVaries) {
  for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{7, 21}, {1, 40}}) {
    for (const auto boundary : {rd::boundary::no_flux, rd::boundary::periodic}) {
      rd::problem wave = where_d_varies(rows, columns, 0.5);
      wave.boundary = boundary;
      const rd::initial_state begin = hill(wave.grid);
      const auto expected = last_state(
          rd::solve<double>(wave, begin, options_of(rd::scheme::explicit_steps, 0.0005, {3})), wave.grid.nodes());
      for (const rd::scheme scheme : implicit_schemes) {
        EXPECT_LE(largest_difference(rd::solve<double>(wave, begin, options_of(scheme, 0.02, {3})), expected), 3e-4);
      }
    }
  }
}

TEST(Split, IsOfSecondOrderInTimeWhereDVaries) {
  for (const bool axon : {false, true}) {
    const rd::problem wave = axon ? where_d_varies(1, 41, 0.4) : where_d_varies(17, 21, 0.4);
    const rd::initial_state begin = hill(wave.grid);
    for (const rd::scheme scheme : implicit_schemes) {
      const auto exact =
          last_state(rd::solve<double>(wave, begin, options_of(scheme, 0.000625, {4})), wave.grid.nodes());
      std::vector<double> errors;
      for (const double step : {0.04, 0.02, 0.01}) {
        errors.push_back(largest_difference(rd::solve<double>(wave, begin, options_of(scheme, step, {4})), exact));
      }
      EXPECT_NEAR(fitted_order(errors), 2, 0.05) << int(scheme) << ", axon " << axon;
    }
  }
}

// At walls too.
TEST(Split, IsOfSecondOrderInTime) {
  for (const bool axon : {false, true}) {
    rd::problem wave = axon ? plane(1, 41, 0.4) : plane(17, 21, 0.4);
    if (axon) wave.parameters.recovery_diffusion = 0.5;
    const rd::initial_state begin = hill(wave.grid);
    for (const rd::scheme scheme : implicit_schemes) {
      const auto exact =
          last_state(rd::solve<double>(wave, begin, options_of(scheme, 0.00125, {4})), wave.grid.nodes());
      std::vector<double> errors;
      for (const double step : {0.08, 0.04, 0.02}) {
        errors.push_back(largest_difference(rd::solve<double>(wave, begin, options_of(scheme, step, {4})), exact));
      }
      EXPECT_NEAR(fitted_order(errors), 2, 0.05) << int(scheme) << ", axon " << axon;
    }
  }
}

TEST(Split, IsOfSecondOrderInSpaceAtWalls) {
  for (const rd::scheme scheme : implicit_schemes) {
    std::vector<rd::initial_state> found;
    const std::vector<std::size_t> cells = {16, 32, 64, 128};
    for (const std::size_t across : cells) {
      const rd::problem wave = plane(across / 2 + 1, across + 1, 16.0 / static_cast<double>(across));
      found.push_back(
          last_state(rd::solve<double>(wave, hill(wave.grid), options_of(scheme, 0.05, {2})), wave.grid.nodes()));
    }
    std::vector<double> differences;
    for (std::size_t k = 0; k + 1 < cells.size(); ++k) {
      double largest = 0;
      for (std::size_t i = 0; i <= cells[k] / 2; ++i) {
        for (std::size_t j = 0; j <= cells[k]; ++j) {
          largest = std::max(largest, std::abs(found[k].v[i * (cells[k] + 1) + j] -
                                               found[k + 1].v[2 * i * (cells[k + 1] + 1) + 2 * j]));
        }
      }
      differences.push_back(largest);
    }
    EXPECT_NEAR(std::log2(differences[1] / differences[2]), 2, 0.05) << int(scheme);
  }
}

TEST(Split, TheStepFollowsTheTolerance) {
  const rd::problem wave = plane(17, 21, 0.4);
  const rd::initial_state begin = hill(wave.grid);
  const auto exact =
      last_state(rd::solve<double>(wave, begin, options_of(rd::scheme::tr_bdf2, 0.0025, {10})), wave.grid.nodes());
  std::size_t steps_before = 0;
  for (const double tolerance : {1e-4, 1e-6}) {
    rd::options how = options_of(rd::scheme::tr_bdf2, 0, {10});
    how.tolerance = tolerance;
    const auto found = rd::solve<double>(wave, begin, how);
    EXPECT_LT(largest_difference(found, exact), 60 * tolerance);
    EXPECT_GT(found.steps, steps_before);
    EXPECT_GT(found.newton_iterations, found.steps);
    steps_before = found.steps;
  }
}

TEST(Split, StaysBoundedForLongSteps) {
  rd::problem wave = plane(40, 50, 0.25);
  rd::initial_state begin = rd::rest(wave.grid);
  for (std::size_t i = 0; i < begin.v.size(); ++i) begin.v[i] = i % 50 < 20 ? 1 : 0;
  for (const rd::scheme scheme : implicit_schemes) {
    for (const double ratio : {1, 16}) {
      const double step = ratio * 0.25 * 0.25;
      const auto found = rd::solve<double>(wave, begin, options_of(scheme, step, {3 * step, 60 * step}));
      for (const double value : found.states) {
        EXPECT_LT(value, 1.05) << ratio;
        EXPECT_GT(value, -0.6) << ratio;
      }
    }
  }
}

TEST(Split, ThreadsAndStopsGiveTheSameBits) {
  const std::string path = testing::TempDir() + "split_checkpoint.json";
  rd::problem wave = plane(70, 61, 0.5);
  wave.boundary = rd::boundary::periodic;
  const rd::initial_state begin = hill(wave.grid);
  for (const auto& [scheme, step] : {std::tuple{rd::scheme::crank_nicolson, 0.004}, {rd::scheme::tr_bdf2, 0.0}}) {
    rd::options how = options_of(scheme, step, {0.05, 0.4});
    how.tolerance = 1e-8;
    const auto one = rd::solve<double>(wave, begin, how);
    how.threads = 3;
    EXPECT_EQ(rd::solve<double>(wave, begin, how).states, one.states);
    how.checkpoint = path;
    how.checkpoint_seconds = 0;
    std::filesystem::remove(path);
    std::stop_source stop;
    const auto stop_on_the_way = [&](const shoal::progress&) { stop.request_stop(); };
    EXPECT_THROW(rd::solve<double>(wave, begin, how, {}, {stop_on_the_way, stop.get_token()}), shoal::interrupted);
    const auto resumed = rd::solve<double>(wave, begin, how);
    EXPECT_EQ(resumed.states, one.states);
    EXPECT_EQ(resumed.newton_iterations, one.newton_iterations);
    EXPECT_LT(resumed.steps_here, one.steps) << "the stop came at the end";
  }
  std::filesystem::remove(path);
}

TEST(Split, RefusesInput) {
  rd::problem wave = plane(1, 20, 0.5);
  wave.parameters.recovery_diffusion = 1;
  wave.boundary = rd::boundary::input;
  EXPECT_THROW(rd::solve<double>(wave, rd::rest(wave.grid), options_of(rd::scheme::tr_bdf2, 0.1, {1})),
               shoal::bad_argument);
}
