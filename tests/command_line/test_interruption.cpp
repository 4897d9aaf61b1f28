// Fits that are killed or stopped, and resumed by the same command: the same model, bit for bit.
#include "interruption.hpp"

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <sys/stat.h>

#include <nlohmann/json.hpp>

namespace shoal_test {

using nlohmann::json;

void PrintTo(const interrupted_fit& tested, std::ostream* out) { *out << tested.name; }

interruption::interruption() {
  const outcome made = run({"data", "generate", "--rows", "20000", "--columns", "4", "--components", "6",
                            "--mean-scale", "3", "--seed", "4", "--output", folder / "rows.npy", "--quiet"});
  EXPECT_EQ(made.status, 0) << made.err;
  command = GetParam().fit + words{folder / "rows.npy"};
  checkpointed = command + words{"--checkpoint", folder / "fit.checkpoint", "--checkpoint-seconds", "0",
                                 "--output",     folder / "resumed.json"};
}

std::string interruption::uninterrupted() {
  const outcome result = run(command + words{"--output", folder / "whole.json"});
  EXPECT_EQ(result.status, 0) << result.err;
  return read_file(folder / "whole.json");
}

namespace {

// What tells one checkpoint from the next, since each takes the place of the last: times alone pass in ticks that are
// longer than a small fit's iterations.
std::tuple<ino_t, time_t, long> mark_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || status.st_size == 0) return {};  // empty until the first
  return {status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

bool hold_after(process& fit, int checkpoints, const std::string& path, std::tuple<ino_t, time_t, long> last) {
  for (int seen = 0; fit.running();) {
    if (const auto mark = mark_of(path); mark != last) {
      last = mark;
      if (++seen >= checkpoints) return fit.hold();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return false;
}

}  // namespace

// A busy machine may look away until the fit is over: then it starts again.
std::unique_ptr<process> interruption::held_fit(int checkpoints, const words& more) {
  const std::string path = folder / "fit.checkpoint";
  for (int i = 0; i < 50; ++i) {
    const auto before = mark_of(path);
    auto fit = std::make_unique<process>(checkpointed + more);
    if (hold_after(*fit, checkpoints, path, before)) return fit;
    const outcome over = fit->wait();
    EXPECT_EQ(over.status, 0) << over.err;
    if (over.status != 0) break;
    fs::remove(path);
    fs::remove(folder / "resumed.json");
  }
  return nullptr;
}

namespace {

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

}  // namespace

TEST_P(interruption, kill_and_resume_give_the_same_bytes) {
  const std::string whole = uninterrupted();
  for (const int checkpoints : {1, 4, 9}) {
    const std::unique_ptr<process> fit = held_fit(checkpoints);
    ASSERT_NE(fit, nullptr);
    fit->send(SIGKILL);
    EXPECT_EQ(fit->wait().signal, SIGKILL);
    // The rows, the whole model and the checkpoint: nothing half written. A file that is whole, and about to take the
    // checkpoint's place, keeps its passing name when it is killed there.
    for (const std::string& name : names_in(folder.path())) {
      EXPECT_TRUE(name == "rows.npy" || name == "whole.json" || name == "fit.checkpoint" ||
                  name == "fit.checkpoint.shoal-0.part")
          << name;
    }
  }
  // Threads may change on the way.
  const outcome resumed = run(checkpointed + words{"--threads", "3"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(read_file(folder / "resumed.json"), whole);
  EXPECT_EQ(names_in(folder.path()),
            (std::set<std::string>{"fit.checkpoint", "resumed.json", "rows.npy", "whole.json"}));

  // A finished checkpoint gives the model at once, with the history of the whole fit.
  fs::remove(folder / "resumed.json");
  const outcome finished = run(checkpointed + words{"--json"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(read_file(folder / "resumed.json"), whole);
  const json object = json::parse(finished.out);
  EXPECT_EQ(object["history"].size(), object["iterations"].get<std::size_t>());
}

TEST_P(interruption, control_c_leaves_a_whole_checkpoint) {
  const std::string whole = uninterrupted();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::unique_ptr<process> fit = held_fit(3, {"--json"});
    ASSERT_NE(fit, nullptr);
    fit->send(signal);
    fit->send(SIGCONT);
    const outcome stopped = fit->wait();
    EXPECT_EQ(stopped.status, 128 + signal);
    EXPECT_EQ(stopped.out, "");
    EXPECT_NE(stopped.err.find("the same command goes on from"), std::string::npos) << stopped.err;
    EXPECT_TRUE(is_clean_text(stopped.err));
    EXPECT_FALSE(fs::exists(folder / "resumed.json"));
  }
  const outcome resumed = run(checkpointed);
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(read_file(folder / "resumed.json"), whole);
}

TEST_P(interruption, a_checkpoint_of_something_else_is_refused) {
  const std::unique_ptr<process> fit = held_fit(1);
  ASSERT_NE(fit, nullptr);
  fit->send(SIGKILL);
  fit->wait();
  const std::string before = read_file(folder / "fit.checkpoint");
  const auto refuse = [&](const words& other) {
    const outcome result = run(other);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_NE(result.err.find("fit.checkpoint"), std::string::npos) << result.err;
    EXPECT_TRUE(is_clean_text(result.err));
    EXPECT_EQ(read_file(folder / "fit.checkpoint"), before);
  };
  for (const words& other : GetParam().refused) refuse(checkpointed + other);
  refuse(checkpointed + words{"--columns", "0..2"});
  refuse(checkpointed + words{"--columns", "1,0,2,3"});

  npy_array rows = read_npy(folder / "rows.npy");
  std::string weights;
  for (int i = 0; i < 20000; ++i) weights += i == 77 ? "2\n" : "1\n";
  write_file(folder / "w.txt", weights);
  refuse(checkpointed + words{"--weights", folder / "w.txt"});
  rows.values[40001] += 1e-3;  // more than float32 rounds away
  write_npy(folder / "rows.npy", rows.values, 20000, 4);
  refuse(checkpointed);

  write_file(folder / "fit.checkpoint", before.substr(0, before.size() / 2));
  const outcome damaged = run(checkpointed);
  EXPECT_EQ(damaged.status, 1) << damaged.err;
  EXPECT_NE(damaged.err.find("fit.checkpoint"), std::string::npos) << damaged.err;
}

// The lock ends with the process, however that ends.
TEST_P(interruption, two_fits_do_not_share_a_checkpoint) {
  const std::unique_ptr<process> fit = held_fit(1);
  ASSERT_NE(fit, nullptr);
  const outcome second = run(checkpointed);
  EXPECT_EQ(second.status, 1) << second.err;
  EXPECT_NE(second.err.find("fit.checkpoint: another fit is using this checkpoint; wait for its end"),
            std::string::npos)
      << second.err;
  fit->send(SIGKILL);
  fit->wait();
  EXPECT_NE(held_fit(1), nullptr);
}

// However many signals arrive, and however close to each other, the status is the same.
TEST_P(interruption, a_second_control_c_ends_at_once) {
  const std::unique_ptr<process> fit = held_fit(1);
  ASSERT_NE(fit, nullptr);
  fit->send(SIGINT);
  fit->send(SIGCONT);
  for (int i = 0; i < 1000 && fit->running(); ++i) {
    fit->send(SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(fit->running());
  EXPECT_EQ(fit->wait().status, 130);
}

}  // namespace shoal_test
