// Every allocation, opening, read, write, fsync, rename and start of a thread of a small fit fails in turn, alone and
// with all that follow: the program must end with a message and status 1, leave no file of its own behind, and keep
// what was there before. The numbers that were tried stand at the end.
#include "faults.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

namespace shoal_test {

void PrintTo(const failing_fit& tested, std::ostream* out) { *out << tested.name; }

namespace {

constexpr unsigned most_seconds = 30;  // of a fit that takes some milliseconds: more is a hang
constexpr std::size_t children = 2;    // at the same time

struct fault {
  std::string kind;
  long number;
  bool stays;
  std::string text() const { return fmt::format("{} {}{}", kind, number, stays ? " stay" : ""); }
};

using request_counts = std::map<std::string, long>;

request_counts read_counts(const std::string& path) {
  std::istringstream text(read_file(path));
  request_counts counts;
  for (std::string kind, number; std::getline(text, kind, ' ') && std::getline(text, number);) {
    counts[kind] = std::stol(number);
  }
  return counts;
}

// Files are many and small; nothing of what is tested depends on where they are.
void work_in_memory() {
  if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
}

std::string csv_rows(std::size_t rows) {
  std::string text = "a,b,c,d\n";
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      text += fmt::format("{}{}",
                          static_cast<double>((i * 7919 + j * 104729) % 1009) / 1009 + 3.0 * static_cast<double>(i % 3),
                          j == 3 ? "\n" : ",");
    }
  }
  return text;
}

void write_rows(const scratch_folder& folder, const std::string& name) {
  constexpr std::size_t rows = 600;
  const std::string text = csv_rows(rows);
  if (name.ends_with(".gz")) {
    const gzFile file = gzopen((folder / name).c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return;
  }
  write_file(folder / "made.csv", text);
  if (name.ends_with(".csv")) {
    fs::rename(folder / "made.csv", folder / name);
    return;
  }
  const outcome made = run({"data", "convert", folder / "made.csv", folder / name});
  ASSERT_EQ(made.status, 0) << made.err;
  fs::remove(folder / "made.csv");
}

// One fit in a folder of its own, again and again.
class trial {
 public:
  explicit trial(const failing_fit& fit) {
    write_rows(folder_, fit.rows);
    command_ =
        fit.fit +
        words{folder_ / fit.rows,     "--threads", "2",        "--checkpoint",         folder_ / "fit.checkpoint",
              "--checkpoint-seconds", "0",         "--output", folder_ / "model.json", "--labels",
              folder_ / "labels.npy"};
    kept_ = {fit.rows, "model.json", "labels.npy", "fit.checkpoint"};
  }

  // What the fit asks for when nothing fails; its model and labels are what is expected from then on.
  request_counts undisturbed() {
    begin();
    const outcome result = run_with({"SHOAL_FAULT_COUNTS=" + counts_.string()});
    EXPECT_EQ(result.status, 0) << result.err;
    model_ = read_file(folder_ / "model.json");
    labels_ = read_file(folder_ / "labels.npy");
    const request_counts counts = read_counts(counts_);
    fs::remove(counts_);
    return counts;
  }

  // False when a file was not as it must be, or the program did not end as it must.
  bool survives(const fault& tried) {
    begin();
    const outcome result = run_with({"SHOAL_FAULT=" + tried.text()});
    bool well = ended_well(result) && left_well(result);
    // Whatever was saved until then must be good to go on from.
    if (well && tried.number % 16 == 1) {
      const outcome again = run_with({});
      well = again.status == 0 && read_file(folder_ / "model.json") == model_;
      if (!well) why_ = fmt::format("the fit cannot be taken up again: {}", again.err);
    }
    if (!well) ADD_FAILURE() << tried.text() << ": " << why_;
    return well;
  }

 private:
  outcome run_with(words environment) const {
    environment.push_back("LD_PRELOAD=" SHOAL_FAULT_INJECTION);
    spawn_options options;
    options.environment = environment;
    options.seconds = most_seconds;
    return run(command_, options);
  }

  void begin() {
    write_file(folder_ / "model.json", "previous");
    write_file(folder_ / "labels.npy", "previous");
    fs::remove(folder_ / "fit.checkpoint");
  }

  bool ended_well(const outcome& result) {
    if (result.signal == SIGALRM) return fail("the fit hangs");
    if (result.signal != 0) return fail(fmt::format("signal {}: {}", result.signal, result.err));
    if (result.status != 0 && result.status != 1) return fail(fmt::format("status {}: {}", result.status, result.err));
    if (result.status == 1 && !result.err.starts_with("shoal: ") && result.err.find("\nshoal: ") == std::string::npos) {
      return fail("no message: '" + result.err + "'");
    }
    if (!is_clean_text(result.err)) return fail("an unreadable message: " + result.err);
    return true;
  }

  // Each output is the previous one or the whole new one, and there is nothing else.
  bool left_well(const outcome& result) {
    const bool finished = result.status == 0;
    // Nobody could remove what was being written.
    const bool broken_off = result.err.find("a file that ends in .part may be left") != std::string::npos;
    for (const auto& [name, whole] : {std::pair{"model.json", &model_}, std::pair{"labels.npy", &labels_}}) {
      const std::string there = read_file(folder_ / name);
      if (there != *whole && (finished || there != "previous")) return fail(fmt::format("{} is damaged", name));
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename();
      if (kept_.contains(name)) continue;
      if (!broken_off || !name.ends_with(".part")) return fail(name + " was left behind");
      fs::remove(entry.path());
    }
    return true;
  }

  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  scratch_folder folder_;
  fs::path counts_ = folder_.path() / "counts";
  words command_;
  std::set<std::string> kept_;
  std::string model_, labels_;
  std::string why_;
};

// Words and options are read by the same code whatever the fit, so of the allocations before the first file only some
// are tried; of those that fail for good some, since each begins like one that fails alone.
std::vector<fault> faults_of(const request_counts& counts, long stride) {
  constexpr long early_stride = 149, stay_stride = 9;
  std::vector<fault> all;
  for (const auto& [kind, count] : counts) {
    const bool early = kind == "early-allocation", late = kind == "allocation";
    for (long number = 1; number <= count; number += early ? early_stride : late ? stride : 1)
      all.push_back({kind, number, false});
    for (long number = early ? 75 : 1; number <= count; number += early ? early_stride : late ? stay_stride : 1) {
      all.push_back({kind, number, true});
    }
  }
  return all;
}

TEST_P(faults, end_in_a_message_and_leave_nothing_behind) {
  work_in_memory();
  const request_counts counts = trial(GetParam()).undisturbed();
  for (const char* const kind : {"early-allocation", "allocation", "open", "write", "sync", "rename", "thread"}) {
    EXPECT_GT(counts.at(kind), 0) << kind;
  }
  const std::vector<fault> all = faults_of(counts, GetParam().stride);
  std::atomic<std::size_t> next{0}, failed{0};
  const auto try_some = [&] {
    trial one(GetParam());
    one.undisturbed();
    constexpr std::size_t enough = 20;  // failures to learn from
    for (std::size_t i = next++; i < all.size() && failed < enough; i = next++) {
      if (!one.survives(all[i])) ++failed;
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t child = 1; child < children; ++child) others.emplace_back(try_some);
    try_some();
  }
  std::string tried;
  for (const auto& [kind, count] : counts) {
    const auto of = [&](bool stays) {
      return std::count_if(all.begin(), all.end(),
                           [&](const fault& one) { return one.kind == kind && one.stays == stays; });
    };
    tried +=
        fmt::format("{}{}: {} of {} alone, {} for good", tried.empty() ? "" : "; ", kind, of(false), count, of(true));
  }
  fmt::print("{}: {} faults ({})\n", GetParam().name, all.size(), tried);
}

}  // namespace
}  // namespace shoal_test
