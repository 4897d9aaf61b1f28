// The fitting loop on a toy whose every step is known: stop rules, restarts, checkpoints, interruption, resumption.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/fit_loop.hpp>
#include <shoal/io/io.hpp>

namespace {

// Newton's iteration for a square root; restart r starts at 1 + r and its score prefers restart 2.
class square_root final : public shoal::stepper {
 public:
  explicit square_root(double target) : target_(target) {}
  void seed(std::size_t restart) override {
    ++seeds;
    value_ = 1.0 + static_cast<double>(restart);
    restart_ = restart;
  }
  std::vector<shoal::step_record> advance(std::size_t) override {
    if (interrupt_after != 0 && --interrupt_after == 0) throw shoal::interrupted("stopped on request");
    ++steps;
    const double before = value_;
    value_ = 0.5 * (value_ + target_ / value_);
    return {{before, std::abs(value_ - before), value_ == before}};
  }
  double score() override { return restart_ == 2 ? 1.0 : 0.0; }
  std::vector<double> save() const override { return {value_, static_cast<double>(restart_)}; }
  void restore(std::span<const double> state) override {
    value_ = state[0];
    restart_ = static_cast<std::size_t>(state[1]);
  }
  double value() const { return value_; }
  int interrupt_after = 0;
  int seeds = 0;
  std::size_t steps = 0;  // of all restarts

 private:
  double target_;
  double value_ = 0;
  std::size_t restart_ = 0;
};

shoal::loop_options options_for(std::size_t iterations, double tolerance, std::size_t restarts) {
  shoal::loop_options options;
  options.phase = "toy";
  options.max_iterations = iterations;
  options.restarts = restarts;
  options.stop = [tolerance](std::span<const shoal::step_record> steps) { return steps.back().change < tolerance; };
  return options;
}

class FitLoop : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() /
            (std::string("shoal-loop-") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }
  shoal::loop_options checkpointed(std::size_t iterations, double tolerance, std::size_t restarts) const {
    auto options = options_for(iterations, tolerance, restarts);
    options.checkpoint = path_.string();
    options.checkpoint_seconds = 0;
    options.identity = {{"target", "2"}, {"seed", "0"}};
    return options;
  }
  std::string thrown_by_resuming() const {
    square_root fit(2);
    try {
      shoal::run_fit(fit, checkpointed(50, 1e-9, 3), {});
    } catch (const shoal::error& failure) {
      return failure.what();
    }
    return "";
  }
  std::filesystem::path path_;
};

TEST_F(FitLoop, StopsByRuleByCountAndWhenNothingMoves) {
  square_root fit(2);
  const auto by_rule = shoal::run_fit(fit, options_for(50, 1e-3, 1), {});
  EXPECT_TRUE(by_rule.converged);
  EXPECT_EQ(by_rule.iterations, 4u);
  EXPECT_EQ(by_rule.history.front(), 1.0);
  const auto by_count = shoal::run_fit(fit, options_for(2, 0, 1), {});
  EXPECT_FALSE(by_count.converged);
  EXPECT_EQ(by_count.iterations, 2u);
  const auto settled = shoal::run_fit(fit, options_for(50, 0, 1), {});
  EXPECT_TRUE(settled.converged);
  EXPECT_LT(settled.iterations, 10u);
  const auto none = shoal::run_fit(fit, options_for(0, 0, 1), {});
  EXPECT_EQ(none.iterations, 0u);
  EXPECT_EQ(fit.value(), 1.0);
}

TEST_F(FitLoop, KeepsTheBestRestart) {
  square_root fit(2);
  const auto result = shoal::run_fit(fit, options_for(1, 0, 4), {});
  EXPECT_EQ(result.history, std::vector<double>{3.0});
  EXPECT_EQ(fit.value(), 0.5 * (3.0 + 2.0 / 3.0));
  EXPECT_EQ(fit.seeds, 4);
}

TEST_F(FitLoop, ResumesToTheSameBitsWhereverItWasInterrupted) {
  square_root whole(2);
  const auto expected = shoal::run_fit(whole, options_for(50, 1e-9, 3), {});
  for (int after = 1; after < 20; ++after) {
    std::filesystem::remove(path_);
    square_root fit(2);
    fit.interrupt_after = after;
    try {
      shoal::run_fit(fit, checkpointed(50, 1e-9, 3), {});
      break;  // it ended before the interruption
    } catch (const shoal::interrupted&) {
    }
    square_root resumed(2);
    const auto result = shoal::run_fit(resumed, checkpointed(50, 1e-9, 3), {});
    EXPECT_EQ(resumed.value(), whole.value()) << after;
    EXPECT_EQ(result.history, expected.history) << after;
    EXPECT_LT(resumed.seeds, 3) << "nothing was taken from the checkpoint";
    EXPECT_GT(after, 0);
  }
}

TEST_F(FitLoop, ReturnsAFinishedFitWithoutWorking) {
  square_root first(2);
  const auto expected = shoal::run_fit(first, checkpointed(50, 1e-9, 3), {});
  square_root again(2);
  const auto result = shoal::run_fit(again, checkpointed(50, 1e-9, 3), {});
  EXPECT_EQ(again.seeds, 0);
  EXPECT_EQ(again.value(), first.value());
  EXPECT_EQ(result.history, expected.history);
  EXPECT_EQ(result.converged, expected.converged);
  EXPECT_EQ(result.score, expected.score);
}

TEST_F(FitLoop, CountsTheIterationsOfAllRestartsThatItsSecondsWereSpentIn) {
  square_root fit(2);
  const auto result = shoal::run_fit(fit, options_for(50, 1e-9, 7), {});
  EXPECT_NE(fit.steps, 7 * result.iterations) << "the restarts are of one length, so that this shows nothing";
  EXPECT_EQ(result.loop_iterations, fit.steps);
  EXPECT_GT(result.loop_seconds, 0);
  EXPECT_GT(result.seeding_seconds, 0);
}

TEST_F(FitLoop, CountsOfAResumedFitOnlyWhatThisProcessDid) {
  square_root whole(2);
  const auto expected = shoal::run_fit(whole, options_for(50, 1e-9, 3), {});
  square_root fit(2);
  fit.interrupt_after = 8;  // in the second restart
  EXPECT_THROW(shoal::run_fit(fit, checkpointed(50, 1e-9, 3), {}), shoal::interrupted);
  square_root resumed(2);
  const auto rest = shoal::run_fit(resumed, checkpointed(50, 1e-9, 3), {});
  EXPECT_EQ(rest.iterations, expected.iterations);
  EXPECT_EQ(rest.loop_iterations, resumed.steps);
  EXPECT_LT(resumed.steps, whole.steps);
  square_root finished(2);
  const auto again = shoal::run_fit(finished, checkpointed(50, 1e-9, 3), {});
  EXPECT_EQ(again.iterations, expected.iterations);
  EXPECT_EQ(again.loop_iterations, 0u);
  EXPECT_EQ(again.loop_seconds, 0);
}

TEST_F(FitLoop, TimesItsStepsAndNotWhoeverWatchesThem) {
  const auto pause = std::chrono::milliseconds(20);
  shoal::control control;
  control.report = [&](const shoal::progress&) { std::this_thread::sleep_for(pause); };
  square_root fit(2);
  const auto result = shoal::run_fit(fit, options_for(4, 0, 1), control);
  EXPECT_LT(result.loop_seconds, 4 * std::chrono::duration<double>(pause).count());
}

TEST_F(FitLoop, RefusesTheCheckpointOfAnotherFitAndNamesTheDifference) {
  square_root fit(2);
  shoal::run_fit(fit, checkpointed(50, 1e-9, 3), {});
  auto other = checkpointed(50, 1e-9, 3);
  other.identity[1].second = "7";
  try {
    shoal::run_fit(fit, other, {});
    FAIL();
  } catch (const shoal::bad_argument& failure) {
    EXPECT_NE(std::string(failure.what()).find("seed is 0 there and 7 here"), std::string::npos) << failure.what();
  }
}

TEST_F(FitLoop, RefusesADamagedCheckpoint) {
  square_root fit(2);
  shoal::run_fit(fit, checkpointed(50, 1e-9, 3), {});
  const std::string whole = shoal::read_whole_file(path_.string(), 1 << 20);
  for (const std::size_t size : {std::size_t{1}, std::size_t{10}, whole.size() / 2, whole.size() - 4}) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc).write(whole.data(), static_cast<std::streamsize>(size));
    EXPECT_NE(thrown_by_resuming().find("not a usable checkpoint"), std::string::npos) << size;
  }
  std::string flipped = whole;
  flipped[flipped.find("\"state\":\"") + 12] ^= 1;
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << flipped;
  EXPECT_NE(thrown_by_resuming().find("checksum"), std::string::npos) << thrown_by_resuming();
  std::string newer = whole;
  newer.replace(newer.find("\"version\":2"), 11, "\"version\":3");
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << newer;
  EXPECT_NE(thrown_by_resuming().find("version is 3"), std::string::npos) << thrown_by_resuming();
}

// The words of one version of the program may mean something else in the next.
TEST_F(FitLoop, RefusesTheCheckpointOfAnotherVersionOfTheProgram) {
  square_root fit(2);
  shoal::run_fit(fit, checkpointed(50, 1e-9, 3), {});
  std::string other = shoal::read_whole_file(path_.string(), 1 << 20);
  const std::size_t at = other.find("\"program\":\"shoal ") + 17;
  other.replace(at, other.find('"', at) - at, "0.0.1");
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << other;
  EXPECT_NE(thrown_by_resuming().find("shoal 0.0.1 wrote it, and this is shoal "), std::string::npos)
      << thrown_by_resuming();
}

TEST_F(FitLoop, TwoFitsDoNotShareACheckpoint) {
  std::size_t reports = 0;
  shoal::control control;
  control.report = [&](const shoal::progress&) {
    ++reports;
    EXPECT_EQ(thrown_by_resuming(),
              path_.string() + ": another fit is using this checkpoint; wait for its end, or choose another file");
  };
  square_root first(2);
  const auto result = shoal::run_fit(first, checkpointed(50, 1e-9, 3), control);
  EXPECT_GT(reports, 3u);
  square_root second(2);
  EXPECT_EQ(shoal::run_fit(second, checkpointed(50, 1e-9, 3), {}).history, result.history);
}

// Not even when it was removed, so that the second began with a file of its own.
TEST_F(FitLoop, NoticesThatItsCheckpointWasReplaced) {
  shoal::control control;
  control.report = [&](const shoal::progress& now) {
    if (now.step != 2) return;
    std::filesystem::remove(path_);
    std::ofstream(path_) << "another fit's";
  };
  square_root fit(2);
  try {
    shoal::run_fit(fit, checkpointed(50, 1e-9, 3), control);
    FAIL();
  } catch (const shoal::io_error& failure) {
    EXPECT_NE(std::string(failure.what()).find("something else has replaced this checkpoint"), std::string::npos)
        << failure.what();
  }
  EXPECT_EQ(shoal::read_whole_file(path_.string(), 100), "another fit's");
}

TEST_F(FitLoop, MakesItsCheckpointAnewWhenItWasRemoved) {
  shoal::control control;
  control.report = [&](const shoal::progress& now) {
    if (now.step == 2) std::filesystem::remove(path_);
  };
  square_root fit(2);
  const auto result = shoal::run_fit(fit, checkpointed(50, 1e-9, 3), control);
  square_root again(2);
  EXPECT_EQ(shoal::run_fit(again, checkpointed(50, 1e-9, 3), {}).history, result.history);
  EXPECT_EQ(again.seeds, 0);
}

// An empty file is one that a fit had made to lock it when it was killed.
TEST_F(FitLoop, BeginsFromAnEmptyCheckpointAndLeavesNone) {
  std::ofstream(path_).close();
  square_root fit(2);
  EXPECT_GT(shoal::run_fit(fit, checkpointed(50, 1e-9, 3), {}).iterations, 0u);
  std::filesystem::remove(path_);
  class fails final : public shoal::stepper {
    void seed(std::size_t) override { throw shoal::bad_data("no start"); }
    std::vector<shoal::step_record> advance(std::size_t) override { return {}; }
    double score() override { return 0; }
    std::vector<double> save() const override { return {}; }
    void restore(std::span<const double>) override {}
  } failing;
  EXPECT_THROW(shoal::run_fit(failing, checkpointed(50, 1e-9, 3), {}), shoal::bad_data);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(FitLoop, RefusesACheckpointThatIsNoFile) {
  auto options = checkpointed(50, 1e-9, 3);
  options.checkpoint = "/dev/null";
  square_root fit(2);
  EXPECT_THROW(shoal::run_fit(fit, options, {}), shoal::bad_argument);
  options.checkpoint = path_.string() + "/there is no such folder";
  EXPECT_THROW(shoal::run_fit(fit, options, {}), shoal::io_error);
}

TEST_F(FitLoop, ReportsProgressAndStopsOnRequest) {
  std::stop_source stop;
  std::size_t reports = 0;
  shoal::control control;
  control.stop = stop.get_token();
  control.report = [&](const shoal::progress& progress) {
    EXPECT_EQ(progress.phase, "toy");
    EXPECT_EQ(progress.steps, 50u);
    if (++reports == 2) stop.request_stop();
  };
  square_root fit(2);
  EXPECT_THROW(shoal::run_fit(fit, options_for(50, 0, 1), control), shoal::interrupted);
  EXPECT_EQ(reports, 2u);
}

}  // namespace
