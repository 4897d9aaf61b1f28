// Inputs as the world hands them over: pipes, files that change, small files that ask for much, names that mislead.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace {

using namespace shoal_test;
using nlohmann::json;

class inputs : public testing::Test {
 protected:
  inputs() {
    const outcome made = run({"data", "generate", "--rows", "3000", "--columns", "2", "--components", "2", "--seed",
                              "3", "--output", folder / "rows.npy", "--quiet"});
    EXPECT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(run({"data", "convert", folder / "rows.npy", folder / "rows.csv", "--quiet"}).status, 0);
    write_file(folder / "weights.txt", [] {
      std::string text;
      for (int i = 0; i < 3000; ++i) text += i % 3 == 0 ? "2\n" : "1\n";
      return text;
    }());
  }

  // The same words with files, and with each of these files in a FIFO, which can be opened once and read once.
  void expect_same_through_fifos(const words& command, const std::vector<std::string>& files,
                                 const std::string& output) {
    const auto result_of = [&](const words& all) {
      const outcome result = run(all);
      EXPECT_EQ(result.status, 0) << result.err;
      return output.empty() ? result.out : read_file(folder / output);
    };
    const std::string expected = result_of(command);
    words piped = command;
    std::vector<std::jthread> writers;
    for (const std::string& file : files) {
      const std::string fifo = (folder / "fifo-") + file;
      ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
      std::replace(piped.begin(), piped.end(), folder / file, fifo);
      writers.emplace_back(
          [fifo, contents = read_file(folder / file)] { std::ofstream(fifo, std::ios::binary) << contents; });
    }
    EXPECT_EQ(without_names(result_of(piped)), without_names(expected));
    writers.clear();
    for (const std::string& file : files) fs::remove((folder / "fifo-") + file);
  }

  static std::string without_names(std::string text) {
    for (std::size_t at = 0; (at = text.find("fifo-", at)) != std::string::npos;) text.erase(at, 5);
    return text;
  }

  scratch_folder folder;
};

TEST_F(inputs, are_opened_once) {
  for (const char* rows : {"rows.csv", "rows.npy"}) {
    expect_same_through_fifos({"data", "info", folder / rows}, {rows}, "");
    expect_same_through_fifos({"data", "info", folder / rows, "--weights", folder / "weights.txt"},
                              {rows, "weights.txt"}, "");
    expect_same_through_fifos({"data", "convert", folder / rows, folder / "out.npy", "--quiet"}, {rows}, "out.npy");
    expect_same_through_fifos({"gmm", "fit", folder / rows, "--components", "2", "--output", folder / "m.json",
                               "--labels", folder / "l.npy", "--quiet"},
                              {rows}, "l.npy");
    expect_same_through_fifos(
        {"gmm", "select", folder / rows, "--components", "1..2", "--labels", folder / "l.npy", "--quiet"}, {rows},
        "l.npy");
  }
  ASSERT_EQ(run({"kmeans", "fit", folder / "rows.csv", "--clusters", "3", "--standardize", "--output",
                 folder / "k.json", "--quiet"})
                .status,
            0);
  for (const auto& [family, model] : {std::pair("gmm", "m.json"), std::pair("kmeans", "k.json")}) {
    expect_same_through_fifos(
        {family, "predict", folder / model, folder / "rows.csv", "--output", folder / "l.npy", "--quiet"},
        {model, "rows.csv"}, "l.npy");
  }
  expect_same_through_fifos(
      {"kmeans", "fit", folder / "rows.csv", "--init", folder / "k.json", "--labels", folder / "l.npy", "--quiet"},
      {"k.json", "rows.csv"}, "l.npy");
}

TEST_F(inputs, a_pipe_that_is_named_twice_is_refused) {
  const std::string fifo = folder / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::jthread writer([&] { std::ofstream(fifo) << "1\n2\n"; });
  const outcome result = run({"data", "info", fifo, "--weights", fifo});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("cannot both come from the pipe"), std::string::npos) << result.err;
}

TEST_F(inputs, a_file_that_changes_during_a_fit_ends_it_with_a_message) {
  const words fit = {"gmm",
                     "fit",
                     folder / "rows.npy",
                     "--components",
                     "2",
                     "--tolerance",
                     "0",
                     "--max-iterations",
                     "1000000",
                     "--checkpoint",
                     folder / "c",
                     "--checkpoint-seconds",
                     "0"};
  const std::string whole = read_file(folder / "rows.npy");
  const auto wait_until_it_fits = [&](process& running) {
    for (int i = 0; i < 10000 && running.running() && !fs::exists(folder / "c"); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  const auto expect_refused = [&](const auto& how) {
    process running(fit + words{"--memory-limit", "20000"});
    wait_until_it_fits(running);
    how();
    const outcome result = running.wait();
    EXPECT_EQ(result.status, 1) << "signal " << result.signal << ": " << result.err;
    EXPECT_NE(result.err.find("rows.npy"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("while it was read"), std::string::npos) << result.err;
    write_file(folder / "rows.npy", whole);
    fs::remove(folder / "c");
  };
  expect_refused([&] { fs::resize_file(folder / "rows.npy", 200); });
  expect_refused([&] { fs::resize_file(folder / "rows.npy", 0); });
  expect_refused([&] {
    std::fstream(folder / "rows.npy", std::ios::in | std::ios::out | std::ios::binary).seekp(1000).write("12345678", 8);
  });

  // Rows that fit into memory are held there, and no change reaches them.
  process held(fit);
  wait_until_it_fits(held);
  fs::resize_file(folder / "rows.npy", 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(held.running());
  held.send(SIGINT);
  EXPECT_EQ(held.wait().status, 130);
}

TEST_F(inputs, a_small_compressed_file_fills_no_disk) {
  const std::string path = folder / "bomb.csv.gz";
  gzFile file = gzopen(path.c_str(), "wb9");
  const std::string lines = [] {
    std::string text;
    for (int i = 0; i < 1 << 10; ++i) text += "1." + std::string(1019, '0') + ",1\n";
    return text;
  }();
  for (int i = 0; i < 65; ++i) ASSERT_EQ(gzwrite(file, lines.data(), lines.size()), static_cast<int>(lines.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
  ASSERT_LT(fs::file_size(path), 500'000u);
  const outcome refused = run({"data", "info", path});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("--unpacked-limit"), std::string::npos) << refused.err;
  const outcome meant = run({"data", "info", path, "--unpacked-limit", "1GiB", "--json"});
  EXPECT_EQ(meant.status, 0) << meant.err;
  EXPECT_EQ(json::parse(meant.out)["rows"], 65u << 10);
}

TEST_F(inputs, a_wide_file_is_described_in_part) {
  write_npy(folder / "wide.npy", std::vector<double>(300'000, 1.5), 1, 300'000, true);
  const outcome result = run({"data", "info", folder / "wide.npy", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json said = json::parse(result.out);
  EXPECT_EQ(said["columns"], 300'000);
  EXPECT_EQ(said["statistics"].size(), 10'000u);
  EXPECT_EQ(said["columns_left_out"], 290'000);
  const outcome text = run({"data", "info", folder / "wide.npy"});
  EXPECT_NE(text.out.find("290,000 columns more; choose with --columns, or raise --most-columns"), std::string::npos);
  const outcome more = run({"data", "info", folder / "wide.npy", "--json", "--most-columns", "10001"});
  EXPECT_EQ(json::parse(more.out)["statistics"].size(), 10'001u);
  const outcome chosen = run({"data", "info", folder / "wide.npy", "--json", "--columns", "299990..299999"});
  EXPECT_EQ(json::parse(chosen.out)["statistics"].size(), 10u);
  EXPECT_FALSE(json::parse(chosen.out).contains("columns_left_out"));
}

// A model says how many numbers it holds by holding them; its other values are few.
TEST_F(inputs, a_model_of_small_values_takes_no_memory) {
  std::string text = R"({"format": "shoal/kmeans", "version": 1, "centroids": [[])";
  for (int i = 0; i < 2'000'000; ++i) text += ",[]";
  write_file(folder / "model.json", text + "]}");
  const outcome result =
      run({"kmeans", "predict", folder / "model.json", folder / "rows.csv", "--output", folder / "l.npy"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("more than 1048576 values"), std::string::npos) << result.err;
}

TEST_F(inputs, names_turn_no_text_around) {
  const std::string turned = "a\u202Eb";
  const std::string file = folder / ("x" + turned + ".csv");
  write_file(file, turned + ",c\n1,2\n3,5\n2,2\n9,1\n");
  const auto expect_shown = [&](const outcome& result) {
    for (const std::string& text : {result.out, result.err}) {
      EXPECT_EQ(text.find("\u202E"), std::string::npos) << text;
    }
  };
  const outcome info = run({"data", "info", file});
  EXPECT_NE(info.out.find("a\\u202Eb"), std::string::npos) << info.out;
  expect_shown(info);
  const outcome structured = run({"data", "info", file, "--json"});
  expect_shown(structured);
  EXPECT_EQ(json::parse(structured.out)["column_names"][0], turned);
  expect_shown(run({"data", "info", file, "--columns", "nothing" + turned}));
  expect_shown(run({"data", "info", file + turned}));
  expect_shown(run({"data", "info", file, "--threads", turned}));
  expect_shown(run({"data", turned}));
  const outcome fit = run({"kmeans", "fit", file, "--clusters", "2", "--report", folder / "r.html", "--output",
                           folder / ("m" + turned + ".json")});
  EXPECT_EQ(fit.status, 0) << fit.err;
  expect_shown(fit);
  const std::string page = read_file(folder / "r.html");
  EXPECT_EQ(page.find("\u202E"), std::string::npos);
  EXPECT_NE(page.find("a\\u202Eb"), std::string::npos);
}

// A model kept other names than its own data have, and could not be used on them.
TEST_F(inputs, names_that_are_not_utf8_come_back_from_models) {
  const std::string rows = folder / "latin.csv", model = folder / "latin.json";
  write_file(rows, "gr\xF6\xDF\x65,\xC3\xB6\n1,2\n3,5\n4,4\n");
  const outcome fitted = run({"gmm", "fit", rows, "--components", "1", "--output", model, "--json"});
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  EXPECT_EQ(json::parse(fitted.out)["column_names"], json({"größe", "ö"}));
  const outcome scored = run({"gmm", "score", model, rows});
  EXPECT_EQ(scored.status, 0) << scored.err;
  EXPECT_EQ(run({"gmm", "fit", rows, "--components", "1", "--columns", "größe"}).status, 0);
}

}  // namespace
