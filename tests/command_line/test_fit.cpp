// What a fit promises: its JSON, exact starts, exact iteration counts, the same bytes for any threads and memory,
// weights, scalars and standardized columns.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace {

using namespace shoal_test;
using nlohmann::json;

json run_json(const words& command) {
  const outcome result = run(command + words{"--json"});
  EXPECT_EQ(result.status, 0) << result.err;
  return result.status == 0 ? json::parse(result.out) : json();
}

class fits : public testing::Test {
 protected:
  fits() { generate("rows.npy", "6000", "float64"); }

  void generate(const std::string& name, const std::string& rows, const std::string& scalar) {
    const outcome made = run({"data", "generate", "--rows", rows, "--columns", "3", "--components", "4", "--mean-scale",
                              "30", "--seed", "2", "--scalar", scalar, "--output", folder / name, "--quiet"});
    EXPECT_EQ(made.status, 0) << made.err;
  }

  scratch_folder folder;
};

TEST_F(fits, time_an_iteration_over_all_restarts) {
  for (const words& family : {words{"gmm", "fit", folder / "rows.npy", "--components", "4"},
                              words{"kmeans", "fit", folder / "rows.npy", "--clusters", "4"}}) {
    const json object = run_json(
        family + words{"--restarts", "3", "--max-iterations", "4", "--tolerance", "0", "--init", "random-rows"});
    const auto iterations = object["loop_iterations"].get<std::size_t>();
    EXPECT_GT(iterations, object["iterations"].get<std::size_t>());
    EXPECT_LE(iterations, 12u);
    EXPECT_EQ(object["seconds_per_iteration"].get<double>(),
              object["loop_seconds"].get<double>() / static_cast<double>(iterations));
  }
}

TEST_F(fits, json_has_every_key_with_its_type) {
  const json object = run_json({"gmm", "fit", folder / "rows.npy", "--components", "4", "--threads", "2"});
  for (const char* key : {"mean_log_likelihood", "lower_bound", "bic", "aic", "seconds", "seconds_per_iteration",
                          "loop_seconds", "seeding_seconds", "total_weight", "tolerance", "regularization"}) {
    EXPECT_TRUE(object.at(key).is_number()) << key;
  }
  for (const char* key : {"iterations", "loop_iterations", "rows", "columns", "threads", "components", "restarts",
                          "reseeded", "seed", "max_iterations"}) {
    EXPECT_TRUE(object.at(key).is_number_unsigned()) << key;
  }
  for (const char* key : {"device", "scalar", "hardware", "version", "covariance_type", "init", "data"}) {
    EXPECT_TRUE(object.at(key).is_string()) << key;
  }
  EXPECT_TRUE(object.at("converged").is_boolean());
  EXPECT_EQ(object["rows"], 6000);
  EXPECT_EQ(object["columns"], 3);
  EXPECT_EQ(object["threads"], 2);
  EXPECT_EQ(object["device"], "cpu");
  EXPECT_EQ(object["scalar"], "float64");
  const auto history = object["history"].get<std::vector<double>>();
  EXPECT_EQ(history.size(), object["iterations"].get<std::size_t>());
  EXPECT_EQ(object["lower_bound"].get<double>(), history.back());
  for (std::size_t i = 1; i < history.size(); ++i) EXPECT_GE(history[i], history[i - 1] - 1e-9);
  // Free parameters of 4 full covariances of 3 columns: 4·6 + 4·3 + 3.
  const double likelihood = object["mean_log_likelihood"].get<double>();
  EXPECT_NEAR(object["bic"].get<double>(), -2 * likelihood * 6000 + 39 * std::log(6000.0), 1e-6);
  EXPECT_NEAR(object["aic"].get<double>(), -2 * likelihood * 6000 + 2 * 39, 1e-6);

  const json centroids = run_json({"kmeans", "fit", folder / "rows.npy", "--clusters", "4"});
  for (const char* key : {"inertia", "iterations", "history", "seconds", "seconds_per_iteration", "bic", "aic", "rows",
                          "columns", "device", "threads", "scalar", "converged", "relocated"}) {
    EXPECT_TRUE(centroids.contains(key)) << key;
  }
  EXPECT_EQ(centroids["history"].size(), centroids["iterations"].get<std::size_t>());
}

TEST_F(fits, a_start_from_a_file_is_exactly_that_model) {
  const words data = {"gmm", "fit", folder / "rows.npy"};
  for (const char* type : {"full", "tied", "diag", "spherical"}) {
    const json first = run_json(data + words{"--components", "3", "--covariance", type, "--max-iterations", "3",
                                             "--tolerance", "0", "--output", folder / "m.json"});
    const json none =
        run_json(data + words{"--init", folder / "m.json", "--max-iterations", "0", "--output", folder / "n.json"});
    EXPECT_EQ(none["iterations"], 0);
    EXPECT_TRUE(none["seconds_per_iteration"].is_null());
    EXPECT_EQ(none["mean_log_likelihood"], first["mean_log_likelihood"]) << type;
    json before = json::parse(read_file(folder / "m.json"));
    json after = json::parse(read_file(folder / "n.json"));
    for (const char* key : {"weights", "means", "covariances"}) EXPECT_EQ(before[key], after[key]) << type << key;
    // Three iterations and two more are five.
    const words two = {"--init", folder / "m.json", "--max-iterations", "2", "--tolerance",
                       "0",      "--output",        folder / "a.json"};
    const words five = {
        "--components",   "3", "--covariance", type, "--max-iterations", "5", "--tolerance", "0", "--output",
        folder / "b.json"};
    const json resumed = run_json(data + two);
    const json whole = run_json(data + five);
    EXPECT_EQ(resumed["iterations"], 2);
    EXPECT_EQ(whole["iterations"], 5);
    EXPECT_EQ(resumed["history"][0], whole["history"][3]);
    EXPECT_EQ(json::parse(read_file(folder / "a.json"))["means"], json::parse(read_file(folder / "b.json"))["means"]);
  }
  const json centroids = run_json({"kmeans", "fit", folder / "rows.npy", "--clusters", "3", "--max-iterations", "1",
                                   "--output", folder / "k.json"});
  const json same = run_json({"kmeans", "fit", folder / "rows.npy", "--init", folder / "k.json", "--max-iterations",
                              "0", "--output", folder / "l.json"});
  EXPECT_EQ(same["inertia"], centroids["inertia"]);
  EXPECT_EQ(json::parse(read_file(folder / "k.json"))["centroids"],
            json::parse(read_file(folder / "l.json"))["centroids"]);
}

TEST_F(fits, tolerance_zero_runs_every_iteration) {
  const json mixture =
      run_json({"gmm", "fit", folder / "rows.npy", "--components", "2", "--tolerance", "0", "--max-iterations", "37"});
  EXPECT_EQ(mixture["iterations"], 37);
  EXPECT_EQ(mixture["history"].size(), 37u);
  EXPECT_FALSE(mixture["converged"].get<bool>());
  const json centroids = run_json(
      {"kmeans", "fit", folder / "rows.npy", "--clusters", "2", "--tolerance", "0", "--max-iterations", "1000"});
  EXPECT_TRUE(centroids["converged"].get<bool>());
  EXPECT_LT(centroids["iterations"].get<int>(), 1000);
}

TEST_F(fits, the_same_bytes_for_any_threads_and_memory) {
  generate("narrow.npy", "30000", "float32");
  ASSERT_EQ(run({"data", "convert", folder / "narrow.npy", folder / "narrow.csv"}).status, 0);
  const auto model = [&](const words& fit, const words& how) {
    const outcome result = run(fit + words{"--output", folder / "m.json"} + how);
    EXPECT_EQ(result.status, 0) << result.err;
    return read_file(folder / "m.json");
  };
  const std::string npy = folder / "narrow.npy";
  for (const words& fit :
       {words{"gmm", "fit", npy, "--components", "5", "--init", "random-rows", "--max-iterations", "6"},
        words{"gmm", "fit", npy, "--components", "5", "--covariance", "diag", "--standardize", "--max-iterations", "4"},
        words{"gmm", "fit", folder / "narrow.csv", "--components", "3", "--covariance", "tied", "--scalar", "float32"},
        words{"kmeans", "fit", npy, "--clusters", "9", "--init", "k-means-parallel"}}) {
    const std::string first = model(fit, {"--threads", "1"});
    EXPECT_EQ(model(fit, {"--threads", "1"}), first) << fit[1];
    EXPECT_EQ(model(fit, {"--threads", "2"}), first) << fit[1];
    EXPECT_EQ(model(fit, {"--threads", "5"}), first) << fit[1];
    EXPECT_EQ(model(fit, {"--threads", "2", "--memory-limit", "100KiB"}), first) << fit[1];
    EXPECT_EQ(model(fit, {"--threads", "3", "--memory-limit", "64KiB"}), first) << fit[1];
  }
}

TEST_F(fits, the_scalar_is_the_files_unless_said) {
  generate("narrow.npy", "500", "float32");
  EXPECT_EQ(run_json({"gmm", "fit", folder / "narrow.npy", "--components", "1"})["scalar"], "float32");
  EXPECT_EQ(run_json({"gmm", "fit", folder / "narrow.npy", "--components", "1", "--scalar", "float64"})["scalar"],
            "float64");
  EXPECT_EQ(run_json({"gmm", "fit", folder / "rows.npy", "--components", "1", "--scalar", "float32"})["scalar"],
            "float32");
  ASSERT_EQ(run({"data", "convert", folder / "narrow.npy", folder / "narrow.csv"}).status, 0);
  EXPECT_EQ(run_json({"gmm", "fit", folder / "narrow.csv", "--components", "1"})["scalar"], "float64");
}

TEST_F(fits, a_weight_of_two_is_the_row_twice) {
  const npy_array rows = read_npy(folder / "rows.npy");
  std::vector<double> some;
  std::vector<double> repeated;
  std::vector<double> weights;
  std::string text = "weight\n";
  for (std::size_t i = 0; i < 400; ++i) {
    const std::size_t times = i % 3;
    weights.push_back(static_cast<double>(times));
    text += std::to_string(times) + "\n";
    for (std::size_t j = 0; j < 3; ++j) some.push_back(rows.values[3 * i + j]);
    for (std::size_t t = 0; t < times; ++t) {
      for (std::size_t j = 0; j < 3; ++j) repeated.push_back(rows.values[3 * i + j]);
    }
  }
  write_npy(folder / "some.npy", some, 400, 3);
  write_npy(folder / "repeated.npy", repeated, repeated.size() / 3, 3);
  write_npy(folder / "w.npy", weights, 400, 1);
  write_file(folder / "w.csv", text);
  ASSERT_EQ(run({"gmm", "fit", folder / "some.npy", "--components", "2", "--output", folder / "start.json"}).status, 0);
  const words options = {"--init", folder / "start.json", "--tolerance", "0", "--max-iterations", "5"};
  const json twice = run_json(words{"gmm", "fit", folder / "repeated.npy"} + options);
  for (const char* file : {"w.npy", "w.csv"}) {
    const json weighted = run_json(words{"gmm", "fit", folder / "some.npy", "--weights", folder / file} + options);
    EXPECT_EQ(weighted["total_weight"], static_cast<double>(repeated.size() / 3));
    EXPECT_NEAR(weighted["mean_log_likelihood"].get<double>(), twice["mean_log_likelihood"].get<double>(), 1e-10);
    EXPECT_NEAR(weighted["bic"].get<double>(), twice["bic"].get<double>(), 1e-6);
  }
  const json score =
      run_json({"gmm", "score", folder / "start.json", folder / "some.npy", "--weights", folder / "w.npy"});
  const json plain = run_json({"gmm", "score", folder / "start.json", folder / "repeated.npy"});
  EXPECT_NEAR(score["mean_log_likelihood"].get<double>(), plain["mean_log_likelihood"].get<double>(), 1e-12);
  EXPECT_NEAR(score["bic"].get<double>(), plain["bic"].get<double>(), 1e-8);
}

// Rows of which one column was multiplied by 1000 and shifted: standardized they are the same rows.
TEST_F(fits, standardized_fits_do_not_see_the_units) {
  npy_array rows = read_npy(folder / "rows.npy");
  write_npy(folder / "plain.npy", rows.values, 6000, 3);
  for (std::size_t i = 0; i < 6000; ++i) rows.values[3 * i + 1] = 1024 * rows.values[3 * i + 1] + 65536;
  write_npy(folder / "scaled.npy", rows.values, 6000, 3);
  for (const char* type : {"full", "tied", "diag", "spherical"}) {
    const words options = {"--components", "4", "--covariance",     type, "--standardize",
                           "--tolerance",  "0", "--max-iterations", "10"};
    const json plain = run_json(words{"gmm", "fit", folder / "plain.npy", "--output", folder / "p.json"} + options);
    const json scaled = run_json(words{"gmm", "fit", folder / "scaled.npy", "--output", folder / "s.json"} + options);
    const double volume = std::log(1024.0);
    EXPECT_NEAR(scaled["mean_log_likelihood"].get<double>(), plain["mean_log_likelihood"].get<double>() - volume, 1e-6);
    EXPECT_NEAR(scaled["history"][0].get<double>(), plain["history"][0].get<double>() - volume, 1e-6);
    EXPECT_NEAR(scaled["bic"].get<double>(), plain["bic"].get<double>() + 2 * volume * 6000, 1e-2);
    // The model is in the data's units: scoring the data with it says what the fit said.
    const json score = run_json({"gmm", "score", folder / "s.json", folder / "scaled.npy"});
    EXPECT_NEAR(score["mean_log_likelihood"].get<double>(), scaled["mean_log_likelihood"].get<double>(), 1e-9) << type;
    const json p = json::parse(read_file(folder / "p.json"));
    const json s = json::parse(read_file(folder / "s.json"));
    EXPECT_EQ(s["covariance_type"], std::string(type) == "spherical" ? "diag" : type);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_NEAR(s["means"][k][0].get<double>(), p["means"][k][0].get<double>(), 1e-5);
      EXPECT_NEAR((s["means"][k][1].get<double>() - 65536) / 1024, p["means"][k][1].get<double>(), 1e-5);
    }
  }
  // A further fit from the file goes on where the first ended.
  const json more = run_json(
      {"gmm", "fit", folder / "scaled.npy", "--standardize", "--init", folder / "p.json", "--max-iterations", "0"});
  EXPECT_TRUE(more["mean_log_likelihood"].is_number());
}

TEST_F(fits, standardized_kmeans_keeps_its_units_for_predict) {
  npy_array rows = read_npy(folder / "rows.npy");
  for (std::size_t i = 0; i < 6000; ++i) rows.values[3 * i + 1] *= 1e4;
  write_npy(folder / "scaled.npy", rows.values, 6000, 3);
  const json plain = run_json(
      {"kmeans", "fit", folder / "rows.npy", "--clusters", "4", "--standardize", "--labels", folder / "a.npy"});
  const json scaled = run_json({"kmeans", "fit", folder / "scaled.npy", "--clusters", "4", "--standardize", "--labels",
                                folder / "b.npy", "--output", folder / "k.json"});
  EXPECT_NEAR(scaled["inertia"].get<double>(), plain["inertia"].get<double>(), 1e-6 * plain["inertia"].get<double>());
  EXPECT_EQ(read_file(folder / "a.npy"), read_file(folder / "b.npy"));
  const json predicted =
      run_json({"kmeans", "predict", folder / "k.json", folder / "scaled.npy", "--output", folder / "c.npy"});
  EXPECT_EQ(read_file(folder / "c.npy"), read_file(folder / "b.npy"));
  EXPECT_NEAR(predicted["inertia"].get<double>(), scaled["inertia"].get<double>(),
              1e-9 * scaled["inertia"].get<double>());
  const json start = run_json(
      {"kmeans", "fit", folder / "scaled.npy", "--standardize", "--init", folder / "k.json", "--max-iterations", "0"});
  EXPECT_NEAR(start["inertia"].get<double>(), scaled["inertia"].get<double>(), 1e-9 * scaled["inertia"].get<double>());
}

TEST_F(fits, a_constant_column_is_no_obstacle) {
  std::vector<double> values;
  for (std::size_t i = 0; i < 200; ++i) {
    values.push_back(static_cast<double>(i % 17));
    values.push_back(0.1);
  }
  write_npy(folder / "constant.npy", values, 200, 2);
  for (const words& extra : {words{}, words{"--standardize"}}) {
    const json mixture = run_json(words{"gmm", "fit", folder / "constant.npy", "--components", "2"} + extra);
    EXPECT_TRUE(mixture["mean_log_likelihood"].is_number());
    EXPECT_TRUE(
        run_json(words{"kmeans", "fit", folder / "constant.npy", "--clusters", "2"} + extra)["inertia"].is_number());
  }
}

TEST_F(fits, every_start_by_name) {
  for (const char* init : {"kmeans", "k-means++", "k-means-parallel", "random-rows", "random-responsibilities"}) {
    const json first = run_json({"gmm", "fit", folder / "rows.npy", "--components", "3", "--init", init, "--restarts",
                                 "2", "--seed", "7", "--max-iterations", "20"});
    EXPECT_EQ(first["init"], init);
    EXPECT_EQ(first["restarts"], 2);
    EXPECT_EQ(first["seed"], 7);
  }
}

// Of text that tells a family's user something, one line that begins so.
std::size_t lines_that_begin(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    count += at == 0 || text[at - 1] == '\n';
  }
  return count;
}

TEST_F(fits, columns_of_other_scales_are_told_of) {
  std::string rows = "long,short\n";
  for (int i = 0; i < 60; ++i) rows += std::to_string(i * 31 % 60) + "," + std::to_string(0.01 * (i * 7 % 60)) + "\n";
  write_file(folder / "scales.csv", rows);
  const words fit = {"kmeans", "fit", folder / "scales.csv", "--clusters", "2", "--report", folder / "r.html"};
  const outcome told = run(fit);
  EXPECT_EQ(lines_that_begin(told.out, "note "), 1u) << told.out;
  EXPECT_NE(told.out.find("the variance of long is 10,000 times that of short"), std::string::npos) << told.out;
  EXPECT_NE(read_file(folder / "r.html").find("Note: the variance of long"), std::string::npos);
  EXPECT_TRUE(run_json(fit)["note"].is_string());
  const json standardized = run_json(fit + words{"--standardize"});
  EXPECT_FALSE(standardized.contains("note"));
  EXPECT_EQ(read_file(folder / "r.html").find("Note:"), std::string::npos);
}

TEST_F(fits, an_automatic_device_is_told_of_only_where_there_was_a_choice) {
  const outcome small = run({"kmeans", "fit", folder / "rows.npy", "--clusters", "2"});
  EXPECT_EQ(small.err, "");
  if (SHOAL_BUILT_WITH_CUDA) return;  // much work may then have one
  const outcome made = run({"data", "generate", "--rows", "2e6", "--columns", "8", "--components", "2", "--scalar",
                            "float32", "--output", folder / "much.npy"});
  ASSERT_EQ(made.status, 0) << made.err;
  const outcome much = run({"kmeans", "fit", folder / "much.npy", "--clusters", "16", "--max-iterations", "20"});
  EXPECT_EQ(much.err, "");
}

TEST_F(fits, say_how_long_their_start_took) {
  const outcome text = run({"kmeans", "fit", folder / "rows.npy", "--clusters", "4"});
  EXPECT_NE(text.out.find(" to choose the start, "), std::string::npos) << text.out;
  const json object =
      run_json({"kmeans", "fit", folder / "rows.npy", "--clusters", "4", "--report", folder / "r.html"});
  EXPECT_EQ(object["init"], "auto");
  EXPECT_EQ(object["seeding"], "k-means++");
  EXPECT_GT(object["seeding_seconds"].get<double>(), 0);
  const std::string page = read_file(folder / "r.html");
  EXPECT_NE(page.find("time to choose the start"), std::string::npos);
  EXPECT_EQ(page.find("<dt>seconds"), std::string::npos) << "a time in microseconds is not called seconds";
}

}  // namespace
