// --algorithm, --accelerate and the options of chunks: what they report, promise and refuse.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../program.hpp"

namespace {

using namespace shoal_test;
using nlohmann::json;

class algorithms : public testing::Test {
 protected:
  algorithms() {
    const outcome made = run({"data", "generate", "--rows", "20000", "--columns", "3", "--components", "4",
                              "--mean-scale", "3", "--seed", "2", "--output", folder / "rows.npy", "--quiet"});
    EXPECT_EQ(made.status, 0) << made.err;
    fit = {"gmm", "fit", folder / "rows.npy", "--components", "4", "--init", "random-rows"};
  }

  json run_json(const words& command) {
    const outcome result = run(command + words{"--json"});
    EXPECT_EQ(result.status, 0) << result.err;
    return result.status == 0 ? json::parse(result.out) : json();
  }

  void refuse(const words& options, const std::string& part) {
    const outcome result = run(fit + options);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_TRUE(is_clean_text(result.err));
  }

  scratch_folder folder;
  words fit;
};

TEST_F(algorithms, are_reported_with_the_fit_and_in_the_model) {
  const json batch = run_json(fit + words{"--max-iterations", "3"});
  EXPECT_EQ(batch["algorithm"], "batch");
  EXPECT_EQ(batch["acceleration"], "none");
  for (const char* name : {"incremental", "asynchronous", "stepwise"}) {
    const json object = run_json(
        fit + words{"--algorithm", name, "--max-iterations", "3", "--tolerance", "0", "--output", folder / "m.json"});
    EXPECT_EQ(object["algorithm"], name);
    EXPECT_EQ(object["iterations"], 3);
    EXPECT_EQ(object["history"].size(), 3u);
    EXPECT_NE(read_file(folder / "m.json").find(std::string("\"") + name + "\""), std::string::npos);
  }
  EXPECT_EQ(run_json(fit + words{"--accelerate", "squarem", "--max-iterations", "3"})["acceleration"], "squarem");
  const json preset = run_json(fit + words{"--async-em-2013"});
  EXPECT_EQ(preset["algorithm"], "asynchronous");
  EXPECT_EQ(preset["init"], "kmeans-of-tenth");
  EXPECT_EQ(preset["max_iterations"], 100);
  EXPECT_EQ(preset["tolerance"], 0);
}

TEST_F(algorithms, need_fewer_iterations_than_batch_to_its_end) {
  const words to_the_end = {"--tolerance", "1e-9", "--max-iterations", "3000"};
  const json batch = run_json(fit + to_the_end);
  ASSERT_TRUE(batch["converged"].get<bool>());
  for (const words& other : {words{"--accelerate", "squarem"}, words{"--algorithm", "incremental"}}) {
    const json object = run_json(fit + to_the_end + other);
    EXPECT_TRUE(object["converged"].get<bool>());
    EXPECT_LT(object["iterations"].get<double>(), 0.75 * batch["iterations"].get<double>()) << other[1];
    EXPECT_NEAR(object["mean_log_likelihood"].get<double>(), batch["mean_log_likelihood"].get<double>(), 1e-4);
  }
}

TEST_F(algorithms, leave_their_options_in_the_model_and_in_the_report) {
  const json object = run_json(fit + words{"--algorithm", "asynchronous", "--chunk-rows", "600", "--superchunks", "5",
                                           "--threshold", "0.25", "--max-iterations", "2", "--output",
                                           folder / "m.json", "--report", folder / "r.html"});
  EXPECT_EQ(object["chunk_rows"], 600);
  EXPECT_EQ(object["superchunks"], 5);
  EXPECT_EQ(object["threshold"], 0.25);
  EXPECT_EQ(json::parse(read_file(folder / "m.json"))["provenance"]["superchunks"], 5);
  const std::string page = read_file(folder / "r.html");
  for (const char* fact : {"asynchronous", "chunk rows", "superchunks", "threshold"}) {
    EXPECT_NE(page.find(fact), std::string::npos) << fact;
  }
  EXPECT_EQ(run_json(fit + words{"--async-em-2013", "--max-iterations", "1"})["async_em_2013"], true);
  EXPECT_FALSE(run_json(fit + words{"--max-iterations", "1"}).contains("superchunks"));
}

TEST_F(algorithms, give_the_same_bytes_for_any_threads_and_memory) {
  const auto model = [&](const words& options) {
    const outcome result =
        run(fit + words{"--max-iterations", "7", "--tolerance", "0", "--output", folder / "m.json"} + options);
    EXPECT_EQ(result.status, 0) << result.err;
    return read_file(folder / "m.json");
  };
  std::vector<std::string> models;
  for (const words& choice : {words{"--accelerate", "squarem"}, words{"--algorithm", "incremental"},
                              words{"--algorithm", "incremental", "--chunk-rows", "600", "--superchunks", "5"},
                              words{"--algorithm", "stepwise"}}) {
    models.push_back(model(choice + words{"--threads", "1"}));
    EXPECT_EQ(model(choice + words{"--threads", "3"}), models.back()) << choice[1];
    EXPECT_EQ(model(choice + words{"--threads", "2", "--memory-limit", "64KiB"}), models.back()) << choice[1];
  }
  EXPECT_NE(models[1], models[2]);  // the cut is part of what is computed
}

TEST_F(algorithms, fold_in_less_above_a_threshold) {
  const words asynchronous = {"--algorithm", "asynchronous",     "--threads", "1",        "--tolerance",
                              "0",           "--max-iterations", "6",         "--output", folder / "m.json"};
  ASSERT_EQ(run(fit + asynchronous).status, 0);
  const std::string all = read_file(folder / "m.json");
  ASSERT_EQ(run(fit + asynchronous + words{"--threshold", "0.05"}).status, 0);
  EXPECT_NE(read_file(folder / "m.json"), all);
}

TEST_F(algorithms, refuse_what_does_not_suit_them) {
  refuse({"--algorithm", "incremantal"}, "did you mean 'incremental'?");
  refuse({"--accelerate", "squaren"}, "did you mean 'squarem'?");
  refuse({"--algorithm", "incremental", "--accelerate", "squarem"},
         "--accelerate squarem needs --algorithm batch; got incremental");
  refuse({"--threshold", "0.1"}, "--threshold needs --algorithm asynchronous; got batch");
  refuse({"--algorithm", "incremental", "--threshold", "0.1"},
         "--threshold needs --algorithm asynchronous; got incremental");
  refuse({"--chunk-rows", "500"}, "--chunk-rows needs an algorithm other than batch");
  refuse({"--superchunks", "5", "--accelerate", "squarem"}, "--superchunks needs an algorithm other than batch");
  refuse({"--algorithm", "asynchronous", "--threshold", "-1"}, "--threshold");
  refuse({"--algorithm", "incremental", "--chunk-rows", "-5"}, "--chunk-rows");
  refuse({"--algorithm", "incremental", "--superchunks", "1.5"}, "--superchunks");
  const outcome small = run(
      {"gmm", "fit", folder / "rows.npy", "--components", "200", "--algorithm", "incremental", "--chunk-rows", "1"});
  EXPECT_EQ(small.status, 2) << small.err;
  EXPECT_NE(small.err.find("take chunks of at least"), std::string::npos) << small.err;
  EXPECT_EQ(small.err.find("chunks."), std::string::npos) << "no names of the library: " << small.err;
  refuse({"--async-em-2013", "--algorithm", "incremental"}, "leave out --algorithm and --accelerate");
  refuse({"--async-em-2013", "--accelerate", "squarem"}, "leave out --algorithm and --accelerate");
}

}  // namespace
