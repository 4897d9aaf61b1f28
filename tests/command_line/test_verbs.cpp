// Every verb on its ordinary way, and the help of each.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "nouns.hpp"
#include "program.hpp"

namespace {

using namespace shoal_test;
using nlohmann::json;

// Three groups far from each other, with names.
std::string three_groups() {
  std::string text = "x,y,kind\n";
  for (int i = 0; i < 90; ++i) {
    const double angle = i * 2.39996;
    const double radius = std::sqrt(i / 90.0);
    const int group = i % 3;
    text += std::to_string(20 * group + radius * std::cos(angle)) + "," +
            std::to_string(-30 * (group % 2) + radius * std::sin(angle)) + ",g" + std::to_string(group) + "\n";
  }
  return text;
}

json run_json(const words& command, const spawn_options& options = {}) {
  const outcome result = run(command, options);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out.find('\n'), result.out.size() - 1) << "one object, one line: " << result.out;
  return json::parse(result.out);
}

// The program's words, those of every noun, and those of its verbs.
std::vector<words> every_verb(const CLI::App& app, const words& before = {}) {
  std::vector<words> verbs = {before};
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::vector<words> more = every_verb(*below, before + words{below->get_name()});
    verbs.insert(verbs.end(), more.begin(), more.end());
  }
  return verbs;
}

TEST(verbs, every_help_has_an_example) {
  CLI::App program;
  shoal::app::verb selected;
  shoal::app::declare_nouns(program, selected);
  const std::vector<words> verbs = every_verb(program);
  EXPECT_GT(verbs.size(), 15u);
  for (words verb : verbs) {
    std::string name = "shoal";
    for (const std::string& word : verb) name += " " + word;
    verb.push_back("--help");
    const outcome result = run(verb);
    EXPECT_EQ(result.status, 0) << name;
    EXPECT_EQ(result.err, "") << name;
    const std::size_t example = result.out.find("Example");
    ASSERT_NE(example, std::string::npos) << name;
    EXPECT_NE(result.out.find(name, example), std::string::npos) << name;
    EXPECT_TRUE(is_clean_text(result.out)) << name;
  }
}

TEST(verbs, help_names_every_documented_option) {
  const outcome fit = run({"gmm", "fit", "--help"});
  for (const char* option :
       {"--components",   "--covariance",  "--init",    "--max-iterations", "--tolerance",  "--regularization",
        "--restarts",     "--seed",        "--scalar",  "--device",         "--threads",    "--columns",
        "--label-column", "--standardize", "--weights", "--memory-limit",   "--checkpoint", "--checkpoint-seconds",
        "--output",       "--labels",      "--report",  "--json",           "--quiet"}) {
    EXPECT_NE(fit.out.find(option), std::string::npos) << option;
  }
  const outcome generate = run({"data", "generate", "--help"});
  for (const char* option : {"--rows", "--columns", "--components", "--seed", "--weights", "--alpha", "--mean-scale",
                             "--degrees-of-freedom", "--normal", "--scalar", "--output", "--labels", "--model"}) {
    EXPECT_NE(generate.out.find(option), std::string::npos) << option;
  }
}

TEST(verbs, summaries_of_one_row) {
  const scratch_folder folder;
  write_file(folder / "one.txt", "3\n");
  const outcome info = run({"data", "info", folder / "one.txt"});
  EXPECT_EQ(info.out.rfind("format          text\nshape           1 row of 1 column\n", 0), 0u) << info.out;
  const outcome clusters = run({"kmeans", "fit", folder / "one.txt", "--clusters", "1"});
  EXPECT_NE(clusters.out.find("1 cluster, 1 column\n"), std::string::npos) << clusters.out;
  EXPECT_NE(clusters.out.find("one.txt: 1 row\n"), std::string::npos) << clusters.out;
  EXPECT_NE(clusters.out.find("BIC and AIC need more rows than clusters"), std::string::npos) << clusters.out;
  EXPECT_EQ(clusters.out.find("nan"), std::string::npos) << clusters.out;
  write_file(folder / "two.txt", "3\n4\n");
  const outcome choice = run({"kmeans", "select", folder / "two.txt", "--clusters", "1,2"});
  EXPECT_EQ(choice.out.find("nan"), std::string::npos) << choice.out;
}

TEST(verbs, version) {
  const outcome result = run({"--version"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out.rfind("shoal ", 0), 0u);
}

// The processor comes first, whatever else this build can run on.
TEST(verbs, devices) {
  const outcome text = run({"devices"});
  EXPECT_EQ(text.status, 0);
  const json object = run_json({"devices", "--json"});
  ASSERT_GE(object["devices"].size(), 1u);
  EXPECT_GE(object["devices"][0]["threads"].get<int>(), 1);
  EXPECT_GT(object["devices"][0]["memory_bytes"].get<double>(), 1e6);
  EXPECT_FALSE(object["devices"][0]["simd_target"].get<std::string>().empty());
  EXPECT_EQ(object["cuda"]["built"].get<bool>(), built_with_cuda());
  EXPECT_EQ(text.out.find("CUDA support was not built; configure with -DSHOAL_CUDA=ON") != std::string::npos,
            !built_with_cuda());
}

TEST(verbs, gmm_from_fit_to_sample) {
  const scratch_folder folder;
  write_file(folder / "rows.csv", three_groups());
  const std::vector<std::string> data = {folder / "rows.csv", "--label-column", "kind"};
  const outcome fit = run({"gmm", "fit", data[0], data[1], data[2], "--components", "3", "--output", folder / "m.json",
                           "--labels", folder / "labels.npy", "--report", folder / "report.html"});
  ASSERT_EQ(fit.status, 0) << fit.err;
  EXPECT_NE(fit.out.find("adjusted Rand index 1.0000"), std::string::npos) << fit.out;
  EXPECT_EQ(fit.err, "") << fit.err;
  const std::string page = read_file(folder / "report.html");
  EXPECT_NE(page.find("<html"), std::string::npos);
  EXPECT_NE(page.find("<svg"), std::string::npos);
  const json model = json::parse(read_file(folder / "m.json"));
  EXPECT_EQ(model["format"], "shoal/gmm");
  EXPECT_EQ(model["column_names"], (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(model["provenance"]["seed"], 0);

  const outcome predict =
      run({"gmm", "predict", folder / "m.json", data[0], data[1], data[2], "--output", folder / "p.npy"});
  ASSERT_EQ(predict.status, 0) << predict.err;
  EXPECT_EQ(read_file(folder / "p.npy"), read_file(folder / "labels.npy"));
  const npy_array labels = read_npy(folder / "p.npy");
  EXPECT_EQ(labels.element, "<i4");
  EXPECT_EQ(labels.shape, (std::vector<std::size_t>{90}));
  for (std::size_t i = 3; i < 90; ++i) EXPECT_EQ(labels.values[i], labels.values[i % 3]);

  const outcome probabilities =
      run({"gmm", "predict", folder / "m.json", data[0], "--probabilities", "--output", folder / "q.npy", "--quiet"});
  ASSERT_EQ(probabilities.status, 0) << probabilities.err;
  EXPECT_EQ(probabilities.out, "");
  const npy_array matrix = read_npy(folder / "q.npy");
  EXPECT_EQ(matrix.shape, (std::vector<std::size_t>{90, 3}));
  for (std::size_t i = 0; i < 90; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k) sum += matrix.values[3 * i + k];
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_GT(matrix.values[3 * i + static_cast<std::size_t>(labels.values[i])], 0.999);
  }

  const json score = run_json({"gmm", "score", folder / "m.json", data[0], "--json"});
  EXPECT_EQ(score["mean_log_likelihood"], model["provenance"]["mean_log_likelihood"]);
  EXPECT_NEAR(score["bic"].get<double>(), model["provenance"]["bic"].get<double>(), 1e-9);

  for (const char* name : {"s.npy", "t.npy"}) {
    const std::string rows = name[0] == 's' ? "50" : "20";
    const outcome sample = run({"gmm", "sample", folder / "m.json", "--rows", rows, "--seed", "5", "--output",
                                folder / name, "--labels", folder / (std::string("labels-") + name)});
    ASSERT_EQ(sample.status, 0) << sample.err;
  }
  const npy_array longer = read_npy(folder / "s.npy");
  const npy_array shorter = read_npy(folder / "t.npy");
  EXPECT_EQ(longer.shape, (std::vector<std::size_t>{50, 2}));
  for (std::size_t i = 0; i < shorter.values.size(); ++i) EXPECT_EQ(shorter.values[i], longer.values[i]);
}

TEST(verbs, gmm_select_finds_the_planted_number) {
  const scratch_folder folder;
  write_file(folder / "rows.csv", three_groups());
  const json object =
      run_json({"gmm", "select", folder / "rows.csv", "--columns", "x,y", "--components", "1..6", "--covariance",
                "spherical", "--output", folder / "best.json", "--report", folder / "choice.html", "--json"});
  EXPECT_EQ(object["components"], 3);
  EXPECT_EQ(object["criterion"], "bic");
  ASSERT_EQ(object["candidates"].size(), 6u);
  double least = INFINITY;
  for (const json& candidate : object["candidates"]) least = std::min(least, candidate["bic"].get<double>());
  EXPECT_EQ(object["bic"].get<double>(), least);
  EXPECT_EQ(json::parse(read_file(folder / "best.json"))["weights"].size(), 3u);
  EXPECT_NE(read_file(folder / "choice.html").find("BIC"), std::string::npos);

  const outcome text =
      run({"gmm", "select", folder / "rows.csv", "--columns", "x,y", "--components", "1,3", "--criterion", "aic"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("chosen"), std::string::npos);
}

TEST(verbs, kmeans_from_fit_to_predict) {
  const scratch_folder folder;
  write_file(folder / "rows.csv", three_groups());
  const json object =
      run_json({"kmeans", "fit", folder / "rows.csv", "--label-column", "kind", "--clusters", "3", "--output",
                folder / "k.json", "--labels", folder / "labels.npy", "--report", folder / "k.html", "--json"});
  EXPECT_EQ(object["adjusted_rand_index"], 1.0);
  EXPECT_TRUE(object["converged"].get<bool>());
  EXPECT_EQ(json::parse(read_file(folder / "k.json"))["format"], "shoal/kmeans");
  EXPECT_NE(read_file(folder / "k.html").find("<svg"), std::string::npos);
  const json predicted =
      run_json({"kmeans", "predict", folder / "k.json", folder / "rows.csv", "--output", folder / "p.npy", "--json"});
  EXPECT_NEAR(predicted["inertia"].get<double>(), object["inertia"].get<double>(),
              1e-9 * object["inertia"].get<double>());
  EXPECT_EQ(read_file(folder / "p.npy"), read_file(folder / "labels.npy"));
  const json selected =
      run_json({"kmeans", "select", folder / "rows.csv", "--columns", "0..1", "--clusters", "1..5", "--json"});
  EXPECT_EQ(selected["clusters"].get<int>(), selected["candidates"].size() > 0 ? selected["clusters"].get<int>() : 0);
  EXPECT_EQ(selected["candidates"].size(), 5u);
  for (const char* rule : {"scikit-learn", "relative-shift"}) {
    EXPECT_EQ(run_json({"kmeans", "fit", folder / "rows.csv", "--columns", "x,y", "--clusters", "3", "--stop-rule",
                        rule, "--init", "k-means-parallel", "--json"})["stop_rule"],
              rule);
  }
}

TEST(verbs, data_from_generate_to_convert) {
  const scratch_folder folder;
  const auto generate = [&](const std::string& rows, const std::string& name, const std::string& threads) {
    const outcome result = run({"data",
                                "generate",
                                "--rows",
                                rows,
                                "--columns",
                                "3",
                                "--components",
                                "4",
                                "--seed",
                                "9",
                                "--weights",
                                "dirichlet",
                                "--alpha",
                                "2",
                                "--mean-scale",
                                "50",
                                "--degrees-of-freedom",
                                "6",
                                "--normal",
                                "ratio-of-uniforms",
                                "--scalar",
                                "float32",
                                "--output",
                                folder / name,
                                "--labels",
                                folder / ("labels-" + name),
                                "--model",
                                folder / (name + ".json"),
                                "--threads",
                                threads});
    ASSERT_EQ(result.status, 0) << result.err;
  };
  generate("40000", "long.npy", "1");
  generate("40000", "again.npy", "3");
  generate("17", "short.npy", "2");
  EXPECT_EQ(read_file(folder / "long.npy"), read_file(folder / "again.npy"));
  EXPECT_EQ(read_file(folder / "labels-long.npy"), read_file(folder / "labels-again.npy"));
  const npy_array longer = read_npy(folder / "long.npy");
  const npy_array shorter = read_npy(folder / "short.npy");
  EXPECT_EQ(longer.element, "<f4");
  EXPECT_EQ(shorter.shape, (std::vector<std::size_t>{17, 3}));
  for (std::size_t i = 0; i < shorter.values.size(); ++i) EXPECT_EQ(shorter.values[i], longer.values[i]);

  const json info = run_json({"data", "info", folder / "long.npy", "--json"});
  EXPECT_EQ(info["format"], "npy");
  EXPECT_EQ(info["element"], "float32");
  EXPECT_EQ(info["rows"], 40000);
  EXPECT_EQ(info["scalar"], "float32");
  ASSERT_EQ(info["statistics"].size(), 3u);
  double sum = 0;
  for (std::size_t i = 0; i < 40000; ++i) sum += longer.values[3 * i + 1];
  EXPECT_NEAR(info["statistics"][1]["mean"].get<double>(), sum / 40000, 1e-9);

  // Text and back keeps every bit.
  ASSERT_EQ(run({"data", "convert", folder / "long.npy", folder / "long.csv", "--columns", "2,0"}).status, 0);
  ASSERT_EQ(run({"data", "convert", folder / "long.csv", folder / "back.npy", "--scalar", "float32"}).status, 0);
  const npy_array back = read_npy(folder / "back.npy");
  ASSERT_EQ(back.shape, (std::vector<std::size_t>{40000, 2}));
  for (std::size_t i = 0; i < 40000; ++i) {
    ASSERT_EQ(back.values[2 * i], longer.values[3 * i + 2]);
    ASSERT_EQ(back.values[2 * i + 1], longer.values[3 * i]);
  }

  write_file(folder / "named.csv", "a,\"b,c\",kind\n1,2,no\n3,4,yes\n5,6,no\n");
  const outcome named = run({"data", "convert", folder / "named.csv", folder / "out.csv", "--label-column", "kind",
                             "--labels", folder / "kinds.npy"});
  ASSERT_EQ(named.status, 0) << named.err;
  EXPECT_EQ(read_file(folder / "out.csv"), "a,\"b,c\"\n1,2\n3,4\n5,6\n");
  EXPECT_EQ(read_npy(folder / "kinds.npy").values, (std::vector<double>{0, 1, 0}));
}

// A value that a narrower file cannot hold became infinite in it.
TEST(verbs, data_convert_refuses_what_float32_cannot_hold) {
  const scratch_folder folder;
  write_file(folder / "rows.csv", "1,2\n3,1e300\n");
  ASSERT_EQ(run({"data", "convert", folder / "rows.csv", folder / "rows.npy"}).status, 0);
  for (const char* file : {"rows.csv", "rows.npy"}) {
    const outcome refused =
        run({"data", "convert", folder / file, folder / "narrow.npy", "--scalar", "float32", "--label-column", "0"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_NE(refused.err.find("too large for float32"), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find(file), std::string::npos) << refused.err;
    EXPECT_FALSE(fs::exists(folder / "narrow.npy"));
    EXPECT_EQ(
        run({"data", "convert", folder / file, folder / "out.npy", "--scalar", "float32", "--columns", "0"}).status, 0);
    EXPECT_EQ(read_npy(folder / "out.npy").values, (std::vector<double>{1, 3}));
  }
}

TEST(verbs, standard_input) {
  const scratch_folder folder;
  write_file(folder / "rows.csv", three_groups());
  spawn_options options;
  options.standard_input = folder / "rows.csv";
  const std::vector<std::string> rest = {"--columns", "x,y", "--components", "3", "--json"};
  std::vector<std::string> piped = {"gmm", "fit", "-"};
  std::vector<std::string> named = {"gmm", "fit", folder / "rows.csv"};
  piped.insert(piped.end(), rest.begin(), rest.end());
  named.insert(named.end(), rest.begin(), rest.end());
  EXPECT_EQ(run_json(piped, options)["mean_log_likelihood"], run_json(named)["mean_log_likelihood"]);
}

TEST(verbs, columns_of_a_model_are_found_by_name) {
  const scratch_folder folder;
  write_file(folder / "rows.csv", three_groups());
  ASSERT_EQ(
      run({"gmm", "fit", folder / "rows.csv", "--columns", "x,y", "--components", "2", "--output", folder / "m.json"})
          .status,
      0);
  const json straight =
      run_json({"gmm", "score", folder / "m.json", folder / "rows.csv", "--columns", "x,y", "--json"});
  // The same columns in another order, among others, and the label column in between.
  std::string shuffled = "y,kind,x\n";
  const std::string text = three_groups();
  for (std::size_t at = text.find('\n') + 1; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::size_t first = text.find(',', at);
    const std::size_t second = text.find(',', first + 1);
    shuffled += text.substr(first + 1, second - first - 1) + "," + text.substr(second + 1, end - second - 1) + "," +
                text.substr(at, first - at) + "\n";
    at = end + 1;
  }
  write_file(folder / "shuffled.csv", shuffled);
  EXPECT_EQ(run_json({"gmm", "score", folder / "m.json", folder / "shuffled.csv", "--json"})["mean_log_likelihood"],
            straight["mean_log_likelihood"]);
  const outcome wrong = run({"gmm", "score", folder / "m.json", folder / "shuffled.csv", "--columns", "y,x"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_NE(wrong.err.find("y, x"), std::string::npos) << wrong.err;
  write_file(folder / "other.csv", "p,q\n1,2\n3,4\n");
  EXPECT_EQ(run({"gmm", "score", folder / "m.json", folder / "other.csv"}).status, 1);
}

}  // namespace
