// shoal som: fit, predict and score on their ordinary way, their files, and what they refuse.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../program.hpp"

namespace {

using namespace shoal_test;
using nlohmann::json;

json run_json(const words& command) {
  const outcome result = run(command + words{"--json"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out.find('\n'), result.out.size() - 1) << "one object, one line: " << result.out;
  return result.status == 0 ? json::parse(result.out) : json();
}

// Three groups far from each other, each with a name.
std::string three_groups() {
  std::string text = "x,y,kind\n";
  for (int i = 0; i < 120; ++i) {
    const double angle = i * 2.39996;
    const double radius = std::sqrt(i / 120.0);
    const int group = i % 3;
    text += std::to_string(20 * group + radius * std::cos(angle)) + "," +
            std::to_string(-30 * (group % 2) + radius * std::sin(angle)) + ",g" + std::to_string(group) + "\n";
  }
  return text;
}

class maps : public testing::Test {
 protected:
  maps() { write_file(folder / "rows.csv", three_groups()); }

  words fit(const words& more = {}) const {
    return words{"som", "fit", folder / "rows.csv", "--label-column", "kind", "--width", "6", "--height", "4"} + more;
  }

  // A refusal: its status, a part of its message, and nothing on standard output.
  void refuse(const words& command, int status, const std::string& part) const {
    std::string what;
    for (const std::string& word : command) what += " " + word;
    const outcome result = run(command);
    EXPECT_EQ(result.status, status) << what << "\n" << result.err;
    EXPECT_EQ(result.out, "") << what;
    EXPECT_NE(result.err.find(part), std::string::npos) << what << "\n" << result.err;
    EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 4) << what << "\n" << result.err;
    EXPECT_TRUE(is_clean_text(result.err)) << what;
  }

  scratch_folder folder;
};

TEST_F(maps, from_fit_to_score) {
  const outcome fitted = run(fit({"--lattice", "hexagonal", "--output", folder / "map.json", "--labels",
                                  folder / "units.npy", "--report", folder / "map.html"}));
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  EXPECT_NE(fitted.out.find("6 × 4 units, hexagonal"), std::string::npos) << fitted.out;
  EXPECT_NE(fitted.out.find("purity          1.0000 with column kind"), std::string::npos) << fitted.out;
  EXPECT_NE(fitted.out.find(" an epoch; cpu"), std::string::npos) << fitted.out;
  EXPECT_EQ(fitted.err, "");

  const json model = json::parse(read_file(folder / "map.json"));
  EXPECT_EQ(model["format"], "shoal/som");
  EXPECT_EQ(model["provenance"]["radius"], (std::vector<double>{2, 1})) << "also where it was not asked for";
  EXPECT_NE(read_file(folder / "map.html").find("radius"), std::string::npos);
  EXPECT_EQ(model["version"], 1);
  EXPECT_EQ(model["width"], 6);
  EXPECT_EQ(model["height"], 4);
  EXPECT_EQ(model["lattice"], "hexagonal");
  EXPECT_EQ(model["toroidal"], false);
  EXPECT_EQ(model["codebook"].size(), 24u);
  EXPECT_EQ(model["codebook"][0].size(), 2u);
  EXPECT_EQ(model["column_names"], (words{"x", "y"}));
  EXPECT_EQ(model["provenance"]["epochs"], 10);

  const std::string page = read_file(folder / "map.html");
  for (const char* part : {"U-matrix", "Hits", "Labels", "Component planes", "epoch", ">g2</text>", "100.0"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }

  const words data = {folder / "rows.csv", "--label-column", "kind"};
  const json predicted =
      run_json(words{"som", "predict", folder / "map.json"} + data + words{"--output", folder / "p.npy"});
  const npy_array from_fit = read_npy(folder / "units.npy");
  const npy_array from_predict = read_npy(folder / "p.npy");
  EXPECT_EQ(from_fit.element, "<i4");
  EXPECT_EQ(from_fit.shape, (std::vector<std::size_t>{120}));
  EXPECT_EQ(from_fit.values, from_predict.values);
  EXPECT_EQ(predicted["purity"], 1.0);
  const json scored = run_json(words{"som", "score", folder / "map.json"} + data);
  EXPECT_EQ(scored["quantization_error"], predicted["quantization_error"]);
  EXPECT_GE(scored["topographic_error"].get<double>(), 0);
  EXPECT_LE(scored["topographic_error"].get<double>(), 1);
  EXPECT_EQ(scored["total_weight"], 120.0);

  // The error is the mean distance of each row to its unit, and no unit is nearer.
  double sum = 0;
  const std::string text = read_file(folder / "rows.csv");
  std::size_t at = text.find('\n') + 1;
  for (std::size_t i = 0; i < 120; ++i) {
    std::size_t used = 0;
    const double x = std::stod(text.substr(at), &used);
    const double y = std::stod(text.substr(at + used + 1));
    at = text.find('\n', at) + 1;
    double least = 1e300;
    for (const json& unit : model["codebook"]) {
      least = std::min(least, std::hypot(x - unit[0].get<double>(), y - unit[1].get<double>()));
    }
    const json& own = model["codebook"][static_cast<std::size_t>(from_fit.values[i])];
    EXPECT_NEAR(std::hypot(x - own[0].get<double>(), y - own[1].get<double>()), least, 1e-12);
    sum += least;
  }
  EXPECT_NEAR(scored["quantization_error"].get<double>(), sum / 120, 1e-12);
}

TEST_F(maps, help_names_every_documented_option) {
  const outcome help = run({"som", "fit", "--help"});
  for (const char* option :
       {"--width",      "--height",       "--lattice", "--toroidal",     "--metric",        "--neighborhood",
        "--cutoff",     "--radius",       "--decay",   "--training",     "--epochs",        "--rate",
        "--rate-decay", "--init",         "--seed",    "--standardize",  "--checkpoint",    "--checkpoint-seconds",
        "--output",     "--labels",       "--report",  "--device",       "--device-memory", "--precision",
        "--threads",    "--memory-limit", "--columns", "--label-column", "--weights",       "--scalar",
        "--json",       "--quiet"}) {
    EXPECT_NE(help.out.find(option), std::string::npos) << option;
  }
  EXPECT_EQ(help.out.find("--restarts"), std::string::npos) << "a map has one start";
}

TEST_F(maps, json_has_every_key_with_its_type) {
  const json object =
      run_json(fit({"--toroidal", "--radius", "3:0.5", "--decay", "exponential", "--epochs", "7", "--neighborhood",
                    "triangle", "--cutoff", "2", "--init", "sampled-rows", "--seed", "4", "--threads", "2"}));
  for (const char* key : {"quantization_error", "topographic_error", "seconds", "seconds_per_iteration", "loop_seconds",
                          "total_weight", "cutoff", "purity"}) {
    EXPECT_TRUE(object.at(key).is_number()) << key;
  }
  for (const char* key : {"rows", "columns", "width", "height", "epochs", "iterations", "loop_iterations", "seed",
                          "threads", "units_hit"}) {
    EXPECT_TRUE(object.at(key).is_number_integer()) << key;
  }
  for (const char* key : {"data", "lattice", "metric", "neighborhood", "decay", "training", "init", "device", "scalar",
                          "hardware", "version", "label_column"}) {
    EXPECT_TRUE(object.at(key).is_string()) << key;
  }
  EXPECT_EQ(object["toroidal"], true);
  EXPECT_EQ(object["radius"], (std::vector<double>{3, 0.5}));
  EXPECT_EQ(object["epochs"], 7);
  EXPECT_EQ(object["history"].size(), 7u);
  EXPECT_EQ(object["init"], "sampled-rows");
  EXPECT_EQ(object["seed"], 4);
  EXPECT_FALSE(object.contains("rate")) << "batch training has none";
  const json online = run_json(fit({"--training", "online", "--rate", "0.4:0.02", "--rate-decay", "asymptotic"}));
  EXPECT_EQ(online["rate"], (std::vector<double>{0.4, 0.02}));
  EXPECT_EQ(online["rate_decay"], "asymptotic");
}

TEST_F(maps, every_choice_by_name) {
  for (const words& choice :
       {words{"--metric", "taxicab"}, words{"--metric", "cosine"}, words{"--metric", "chebyshev"},
        words{"--neighborhood", "bubble"}, words{"--neighborhood", "mexican-hat"}, words{"--decay", "asymptotic"},
        words{"--init", "random-values"}, words{"--training", "online"}, words{"--lattice", "hexagonal"}}) {
    const json object = run_json(fit(choice + words{"--epochs", "3"}));
    const std::string key = choice[0].substr(2);
    EXPECT_EQ(object[key], choice[1]);
    EXPECT_TRUE(object["quantization_error"].is_number()) << choice[1];
  }
}

TEST_F(maps, the_same_bytes_for_any_threads_and_memory) {
  ASSERT_EQ(run({"data", "generate", "--rows", "20000", "--columns", "3", "--components", "4", "--scalar", "float32",
                 "--output", folder / "rows.npy", "--quiet"})
                .status,
            0);
  const auto model = [&](const words& more, const words& how) {
    const outcome result = run(words{"som", "fit", folder / "rows.npy", "--width", "9", "--height", "8", "--epochs",
                                     "4", "--output", folder / "m.json"} +
                               more + how);
    EXPECT_EQ(result.status, 0) << result.err;
    return read_file(folder / "m.json");
  };
  for (const words& more : {words{}, words{"--standardize", "--lattice", "hexagonal"}, words{"--training", "online"},
                            words{"--metric", "taxicab", "--init", "sampled-rows"}}) {
    const std::string first = model(more, {"--threads", "1"});
    EXPECT_EQ(model(more, {"--threads", "2"}), first);
    EXPECT_EQ(model(more, {"--threads", "5", "--memory-limit", "64KiB"}), first);
  }
}

TEST_F(maps, a_start_from_a_file_goes_on_from_that_map) {
  const words two = {"--epochs", "2", "--radius", "2:2"};
  ASSERT_EQ(
      run(fit(two + words{"--lattice", "hexagonal", "--metric", "taxicab", "--output", folder / "a.json"})).status, 0);
  const words data = {"som", "fit", folder / "rows.csv", "--label-column", "kind"};
  // Lattice and metric are the start's.
  const json more = run_json(data + two + words{"--init", folder / "a.json", "--output", folder / "b.json"});
  EXPECT_EQ(more["lattice"], "hexagonal");
  EXPECT_EQ(more["metric"], "taxicab");
  EXPECT_EQ(more["width"], 6);
  ASSERT_EQ(run(fit({"--epochs", "4", "--radius", "2:2", "--lattice", "hexagonal", "--metric", "taxicab", "--output",
                     folder / "whole.json"}))
                .status,
            0);
  EXPECT_EQ(json::parse(read_file(folder / "b.json"))["codebook"],
            json::parse(read_file(folder / "whole.json"))["codebook"])
      << "two epochs and two more are four";
  refuse(data + words{"--init", folder / "a.json", "--width", "5"}, 2, "--width");
  refuse(data + words{"--init", folder / "a.json", "--height", "5"}, 2, "--height");
  refuse(data + words{"--init", folder / "a.json", "--lattice", "rectangular"}, 2, "--lattice");
  refuse(data + words{"--init", folder / "a.json", "--metric", "cosine"}, 2, "--metric");
  refuse(data + words{"--init", folder / "a.json", "--toroidal"}, 2, "--toroidal");
  refuse(data + words{"--init", folder / "a.json", "--columns", "x"}, 2, "--init");
}

TEST_F(maps, standardized_fits_do_not_see_the_units) {
  std::vector<double> plain;
  std::vector<double> scaled;
  for (int i = 0; i < 300; ++i) {
    const double x = std::sin(i * 0.7);
    const double y = std::cos(i * 1.3) + 0.2 * x;
    plain.insert(plain.end(), {x, y});
    scaled.insert(scaled.end(), {x, 1024 * y + 65536});
  }
  write_npy(folder / "plain.npy", plain, 300, 2);
  write_npy(folder / "scaled.npy", scaled, 300, 2);
  const auto trained = [&](const std::string& name) {
    return run_json({"som", "fit", folder / (name + ".npy"), "--width", "5", "--height", "5", "--standardize",
                     "--output", folder / (name + ".json"), "--labels", folder / (name + "_units.npy")});
  };
  const json first = trained("plain");
  const json second = trained("scaled");
  EXPECT_NEAR(first["quantization_error"].get<double>(), second["quantization_error"].get<double>(), 1e-9);
  EXPECT_EQ(read_npy(folder / "plain_units.npy").values, read_npy(folder / "scaled_units.npy").values);
  const json a = json::parse(read_file(folder / "plain.json"))["codebook"];
  const json b = json::parse(read_file(folder / "scaled.json"))["codebook"];
  for (std::size_t u = 0; u < 25; ++u) {
    EXPECT_NEAR(b[u][1].get<double>(), 1024 * a[u][1].get<double>() + 65536, 1e-6) << "in the data's own units";
  }
  const json score = run_json({"som", "score", folder / "scaled.json", folder / "scaled.npy"});
  EXPECT_NEAR(score["quantization_error"].get<double>(), second["quantization_error"].get<double>(), 1e-9)
      << "the model keeps the units of its fit";
  const json predict =
      run_json({"som", "predict", folder / "scaled.json", folder / "scaled.npy", "--output", folder / "again.npy"});
  EXPECT_EQ(read_npy(folder / "again.npy").values, read_npy(folder / "scaled_units.npy").values);
}

TEST_F(maps, a_weight_of_two_is_the_row_twice) {
  std::vector<double> rows;
  std::vector<double> repeated;
  std::vector<double> weights;
  for (int i = 0; i < 200; ++i) {
    const std::vector<double> row = {std::sin(i * 0.9), std::cos(i * 0.4), i * 0.01};
    const int times = i % 3;
    rows.insert(rows.end(), row.begin(), row.end());
    weights.push_back(times);
    for (int t = 0; t < times; ++t) repeated.insert(repeated.end(), row.begin(), row.end());
  }
  write_npy(folder / "some.npy", rows, 200, 3);
  write_npy(folder / "repeated.npy", repeated, repeated.size() / 3, 3);
  write_npy(folder / "w.npy", weights, 200, 1);
  const words options = {"--width", "4", "--height", "3", "--epochs", "6"};
  const json weighted = run_json(words{"som", "fit", folder / "some.npy", "--weights", folder / "w.npy"} + options);
  const json twice = run_json(words{"som", "fit", folder / "repeated.npy"} + options);
  EXPECT_EQ(weighted["total_weight"], static_cast<double>(repeated.size() / 3));
  EXPECT_NEAR(weighted["quantization_error"].get<double>(), twice["quantization_error"].get<double>(), 1e-9);
  EXPECT_NEAR(weighted["topographic_error"].get<double>(), twice["topographic_error"].get<double>(), 1e-9);
}

TEST_F(maps, rows_are_not_replaced) {
  const std::string before = read_file(folder / "rows.csv");
  fs::rename(folder / "rows.csv", folder / "rows");
  refuse(
      {"som", "fit", folder / "rows", "--columns", "x,y", "--width", "2", "--height", "2", "--labels", folder / "rows"},
      2, "--labels would replace DATA");
  EXPECT_EQ(read_file(folder / "rows"), before);
}

TEST_F(maps, a_large_map_has_a_light_report) {
  ASSERT_EQ(run({"som", "fit", folder / "rows.csv", "--columns", "x,y", "--width", "200", "--height", "200",
                 "--lattice", "hexagonal", "--epochs", "1", "--report", folder / "large.html"})
                .status,
            0);
  const std::string page = read_file(folder / "large.html");
  EXPECT_LT(page.size(), 1000000u);
  EXPECT_LT(std::count(page.begin(), page.end(), '<'), 2000);
}

TEST_F(maps, words_that_cannot_be) {
  const std::string rows = folder / "rows.csv";
  refuse({"som"}, 2, "fit, predict, score");
  refuse({"sm"}, 2, "did you mean");
  refuse({"som", "fit"}, 2, "DATA");
  refuse({"som", "fit", rows, "--columns", "x,y", "--height", "4"}, 2, "--width is missing");
  refuse({"som", "fit", rows, "--columns", "x,y", "--width", "4"}, 2, "--height is missing");
  refuse(fit({"--lattise", "hexagonal"}), 2, "did you mean '--lattice'?");
  refuse(fit({"--lattice", "hexagon"}), 2, "did you mean 'hexagonal'?");
  refuse(fit({"--metric", "manhattan"}), 2, "euclidean, taxicab, cosine, chebyshev");
  refuse(fit({"--neighborhood", "gauss"}), 2, "did you mean 'gaussian'?");
  refuse(fit({"--radius", "5"}), 2, "--radius: '5' is not two numbers");
  refuse(fit({"--radius", "5:x"}), 2, "--radius: 'x'");
  refuse(fit({"--radius", "-1:1"}), 2, "--radius");
  refuse(fit({"--radius", "2:0", "--decay", "exponential"}), 2, "radius");
  refuse(fit({"--cutoff", "-1"}), 2, "--cutoff");
  refuse(fit({"--epochs", "0"}), 2, "--epochs");
  refuse(fit({"--rate", "0.5:0.1"}), 2, "--rate: batch training has no rate");
  refuse(fit({"--rate-decay", "linear"}), 2, "--rate-decay: batch training has no rate");
  refuse(fit({"--training", "online", "--rate", "0:0.1"}), 2, "--rate");
  refuse(fit({"--training", "online", "--rate", "1.5:0.1"}), 2, "rate");
  refuse(fit({"--init", "principal"}), 2, "did you mean 'principal-plane'?");
  refuse(fit({"--width", "0"}), 2, "--width");
  if (!built_with_cuda()) refuse(fit({"--device", "cuda"}), 1, "CUDA support was not built");
  refuse(fit({"--device", "cpu", "--precision", "tf32"}), 2, "precision tf32");
  refuse(
      {"som", "fit", rows, "--columns", "x,y", "--width", "4", "--height", "3", "--lattice", "hexagonal", "--toroidal"},
      2, "even");
  refuse({"som", "predict", "m.json", rows}, 2, "--output");
}

TEST_F(maps, files_that_are_broken) {
  ASSERT_EQ(run(fit({"--output", folder / "map.json"})).status, 0);
  const std::string whole = read_file(folder / "map.json");
  const auto broken = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in " << text.substr(0, 300);
    write_file(folder / "broken.json", text.replace(at, from.size(), to));
    return words{"som", "score", folder / "broken.json", folder / "rows.csv", "--columns", "x,y"};
  };
  refuse(broken("shoal/som", "shoal/gmm"), 1, "broken.json");
  refuse(broken("\"version\": 1", "\"version\": 99"), 1, "version");
  refuse(broken("\"width\": 6", "\"width\": 7"), 1, "broken.json");
  refuse(broken("\"rectangular\"", "\"triangular\""), 1, "broken.json");
  refuse(broken("\"euclidean\"", "\"manhattan\""), 1, "broken.json");
  refuse(broken("\"toroidal\": false", "\"toroidal\": 3"), 1, "broken.json");
  write_file(folder / "cut.json", whole.substr(0, whole.size() / 2));
  refuse({"som", "score", folder / "cut.json", folder / "rows.csv"}, 1, "cut.json");
  refuse({"kmeans", "predict", folder / "map.json", folder / "rows.csv", "--output", folder / "l.npy"}, 1,
         "shoal/kmeans");
  refuse({"som", "score", folder / "nothere.json", folder / "rows.csv"}, 1, "nothere.json");
  write_file(folder / "three.csv", "1,2,3\n4,5,6\n");
  refuse({"som", "score", folder / "map.json", folder / "three.csv"}, 1, "3 columns");
  write_npy(folder / "nan.npy", {1, 2, 3, std::nan("")}, 2, 2);
  refuse({"som", "fit", folder / "nan.npy", "--width", "2", "--height", "2"}, 1, "nan.npy: row 1, column 1");
  refuse({"som", "score", folder / "map.json", folder / "nan.npy"}, 1, "nan.npy: row 1, column 1");
  refuse({"som", "predict", folder / "map.json", folder / "nan.npy", "--output", folder / "l.npy"}, 1,
         "nan.npy: row 1, column 1");
}

// The map that README shows: its columns are of scales 142-fold apart, and standardized it keeps neighbours together.
TEST(som_showcase, standardized_old_faithful_keeps_its_topography) {
  const words fit = {"som",       "fit",      SHOAL_EXAMPLE_DATA "/faithful.csv", "--width", "20", "--height", "15",
                     "--lattice", "hexagonal"};
  const json shown = run_json(fit + words{"--standardize"});
  EXPECT_LT(shown["topographic_error"].get<double>(), 0.05);
  EXPECT_FALSE(shown.contains("note"));
  const json raw = run_json(fit);
  EXPECT_GT(raw["topographic_error"].get<double>(), 0.3);
  EXPECT_NE(raw["note"].get<std::string>().find("the variance of waiting is 142 times that of eruptions"),
            std::string::npos);
  const std::string readme = read_file(SHOAL_EXAMPLE_DATA "/../../README.md");
  const std::size_t command = readme.find("shoal som fit examples/data/faithful.csv");
  ASSERT_NE(command, std::string::npos);
  EXPECT_NE(readme.substr(command, readme.find('\n', command) - command).find("--standardize"), std::string::npos);
}

}  // namespace
