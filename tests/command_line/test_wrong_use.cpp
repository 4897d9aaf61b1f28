// Wrong words end with status 2, failed runs with 1; both with a few lines of clean text, and nothing is printed.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "program.hpp"

namespace {

using namespace shoal_test;

// What every refusal has in common.
void expect_refusal(const outcome& result, int status, const std::string& part, const std::string& what) {
  EXPECT_EQ(result.status, status) << what << "\n" << result.err;
  EXPECT_EQ(result.out, "") << what;
  EXPECT_NE(result.err.find(part), std::string::npos) << what << "\n" << result.err;
  EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 4) << what << "\n" << result.err;
  EXPECT_GE(std::count(result.err.begin(), result.err.end(), '\n'), 1) << what;
  EXPECT_TRUE(is_clean_text(result.err)) << what;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text = "shoal";
  for (const std::string& word : words) text += " " + word;
  return text;
}

class wrong_use : public testing::Test {
 protected:
  wrong_use() {
    write_file(folder / "rows.csv", "a,b\n1,2\n3,4\n5,7\n2,2\n9,1\n4,4\n");
    const outcome fit = run({"gmm", "fit", folder / "rows.csv", "--components", "1", "--output", folder / "m.json"});
    EXPECT_EQ(fit.status, 0) << fit.err;
  }

  void refuse(std::vector<std::string> words, int status, const std::string& part) {
    for (std::string& word : words) {
      if (word == "ROWS") word = folder / "rows.csv";
      if (word == "MODEL") word = folder / "m.json";
      if (word.rfind("./", 0) == 0) word = folder / word.substr(2);
    }
    expect_refusal(run(words), status, part, joined(words));
  }

  scratch_folder folder;
};

TEST_F(wrong_use, words_that_are_not_there) {
  refuse({}, 2, "say what to do");
  refuse({"gmm"}, 2, "fit, predict, score, sample, select");
  refuse({"gnm"}, 2, "did you mean 'gmm'?");
  refuse({"gmm", "fti"}, 2, "did you mean 'fit'?");
  refuse({"gmm", "fit"}, 2, "DATA");
  refuse({"gmm", "fit", "ROWS"}, 2, "--components is missing");
  refuse({"gmm", "fit", "ROWS", "--component", "2"}, 2, "did you mean '--components'?");
  refuse({"gmm", "fit", "ROWS", "--components"}, 2, "--components needs a value");
  refuse({"gmm", "fit", "ROWS", "--components", "2", "--components", "3"}, 2, "--components is given twice");
  refuse({"gmm", "select", "ROWS", "--component=2"}, 2, "did you mean '--components'?");
  refuse({"gmm", "fit", "ROWS", "more", "--components", "2"}, 2, "'more'");
  refuse({"gmm", "predict", "MODEL", "ROWS"}, 2, "--output");
  refuse({"gmm", "sample", "MODEL", "--output", "./s.npy"}, 2, "--rows");
  refuse({"kmeans", "fit", "ROWS"}, 2, "--clusters is missing");
  refuse({"data", "generate", "--rows", "5"}, 2, "required");
  refuse({"devices", "--jsn"}, 2, "did you mean '--json'?");
  refuse({"--nonsense"}, 2, "--nonsense");
}

TEST_F(wrong_use, threads_of_the_environment) {
  const words fit = {"gmm", "fit", folder / "rows.csv", "--components", "1", "--output", folder / "n.json"};
  for (const char* name : {"SHOAL_THREADS", "OMP_NUM_THREADS"}) {
    setenv(name, "many", 1);
    refuse(fit, 2, std::string(name) + " must be a number of threads");
    EXPECT_EQ(run(fit + words{"--threads", "2"}).status, 0);
    setenv(name, "3", 1);
    const outcome devices = run({"devices", "--json"});
    EXPECT_NE(devices.out.find(R"("threads":3)"), std::string::npos) << devices.out;
    unsetenv(name);
  }
}

TEST_F(wrong_use, values_that_cannot_be) {
  const std::vector<std::string> fit = {"gmm", "fit", "ROWS", "--components", "2"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = fit;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  refuse({"gmm", "fit", "ROWS", "--components", "0"}, 2, "--components");
  refuse({"gmm", "fit", "ROWS", "--components", "1..3"}, 2, "--components");
  refuse({"gmm", "fit", "ROWS", "--components", "-2"}, 2, "--components");
  refuse(with({"--covariance", "ful"}), 2, "did you mean 'full'?");
  refuse(with({"--init", "kmean"}), 2, "did you mean 'kmeans'?");
  refuse(with({"--init", "./nothere.json"}), 2, "no such file");
  refuse(with({"--tolerance", "-1"}), 2, "--tolerance");
  refuse(with({"--tolerance", "nan"}), 2, "--tolerance");
  refuse(with({"--regularization", "inf"}), 2, "--regularization");
  refuse(with({"--max-iterations", "1.5"}), 2, "--max-iterations");
  refuse(with({"--restarts", "0"}), 2, "--restarts");
  refuse(with({"--seed", "-1"}), 2, "--seed");
  refuse(with({"--threads", "0"}), 2, "--threads");
  refuse(with({"--threads", "1000000"}), 2, "--threads");
  refuse(with({"--memory-limit", "lots"}), 2, "--memory-limit");
  refuse(with({"--scalar", "float16"}), 2, "--scalar");
  refuse(with({"--device", "tpu"}), 2, "--device");
  refuse(with({"--precision", "half"}), 2, "float32, tf32, bf16");
  refuse(with({"--device", "cpu", "--precision", "tf32"}), 2, "precision tf32 is one of CUDA devices");
  if (!built_with_cuda()) {
    refuse(with({"--device", "cuda"}), 1, "CUDA support was not built; configure with -DSHOAL_CUDA=ON");
    refuse(with({"--device", "cuda:0"}), 1, "CUDA support was not built");
  }
  refuse(with({"--columns", "a,c"}), 2, "c");
  refuse(with({"--columns", ""}), 2, "--columns");
  refuse(with({"--columns", "7"}), 2, "7");
  refuse(with({"--label-column", "c"}), 2, "c");
  refuse(with({"--output", ""}), 2, "--output");
  refuse(with({"--output", "./x", "--labels", "./x"}), 2, "both name");
  refuse(with({"--json=maybe"}), 2, "--json");
  refuse({"gmm", "select", "ROWS", "--components", "3..1"}, 2, "--components");
  refuse({"gmm", "select", "ROWS", "--components", "1..2", "--criterion", "cic"}, 2, "--criterion");
  refuse({"gmm", "select", "ROWS", "--components", "1..2", "--init", "MODEL"}, 2, "--init");
  refuse({"kmeans", "fit", "ROWS", "--clusters", "2", "--stop-rule", "never"}, 2, "--stop-rule");
  refuse({"gmm", "sample", "MODEL", "--rows", "0", "--output", "./s.npy"}, 2, "--rows");
  refuse({"data", "generate", "--rows", "9", "--columns", "3", "--components", "2", "--degrees-of-freedom", "1",
          "--output", "./g.npy"},
         2, "--degrees-of-freedom: 1 is too small for 3 columns; give more than 2");
  refuse(
      {"data", "generate", "--rows", "9", "--columns", "3", "--components", "2", "--alpha", "3", "--output", "./g.npy"},
      2, "add --weights dirichlet");
  refuse(
      {"data", "generate", "--rows", "9", "--columns", "3", "--components", "2", "--alpha", "0", "--output", "./g.npy"},
      2, "--alpha");
  refuse({"data", "convert", "ROWS", "./rows.parquet"}, 2, ".npy or .csv");
  refuse({"data", "convert", "ROWS", "./rows.npy", "--labels", "./l.npy"}, 2, "--label-column");
}

TEST_F(wrong_use, starts_that_do_not_fit) {
  refuse({"gmm", "fit", "ROWS", "--init", "MODEL", "--components", "2"}, 2, "--components");
  refuse({"gmm", "fit", "ROWS", "--init", "MODEL", "--covariance", "diag"}, 2, "--covariance");
  refuse({"gmm", "fit", "ROWS", "--init", "MODEL", "--columns", "a"}, 2, "--init");
  refuse({"gmm", "fit", "ROWS", "--init", "MODEL", "--columns", "b,a"}, 2, "b, a");
  refuse({"kmeans", "fit", "ROWS", "--init", "MODEL"}, 1, "shoal/kmeans");
}

TEST_F(wrong_use, broken_files) {
  refuse({"gmm", "fit", "./nothere.csv", "--components", "1"}, 1, "nothere.csv");
  write_file(folder / "empty.csv", "");
  refuse({"gmm", "fit", "./empty.csv", "--components", "1"}, 1, "empty.csv");
  write_file(folder / "ragged.csv", "a,b\n1,2\n3\n");
  refuse({"gmm", "fit", "./ragged.csv", "--components", "1"}, 1, "3");
  write_file(folder / "words.csv", "a,b\n1,2\n3,red\n");
  refuse({"gmm", "fit", "./words.csv", "--components", "1"}, 1, "red");
  write_file(folder / "nan.csv", "a,b\n1,2\n3,nan\n");
  refuse({"gmm", "fit", "./nan.csv", "--components", "1"}, 1, "nan.csv");
  write_npy(folder / "rows.npy", {1, 2, 3, 4, 5, 6}, 3, 2);
  const std::string whole = read_file(folder / "rows.npy");
  write_file(folder / "short.npy", whole.substr(0, whole.size() - 5));
  refuse({"gmm", "fit", "./short.npy", "--components", "1"}, 1, "short.npy");
  write_npy(folder / "infinite.npy", {1, 2, 3, 1 / 0.0, 5, 6}, 3, 2);
  refuse({"gmm", "fit", "./infinite.npy", "--components", "1"}, 1, "infinite.npy: row 1, column 1");
  refuse({"gmm", "fit", "./infinite.npy", "--components", "1", "--standardize"}, 1, "infinite.npy: row 1, column 1");
  refuse({"gmm", "score", "MODEL", "./infinite.npy"}, 1, "infinite.npy: row 1");
  refuse({"gmm", "predict", "MODEL", "./infinite.npy", "--output", "./p.npy"}, 1, "infinite.npy: row 1");
  refuse({"kmeans", "fit", "./infinite.npy", "--clusters", "1"}, 1, "infinite.npy: row 1, column 1");
  refuse({"gmm", "fit", "ROWS", "--components", "7"}, 1, "7");
  refuse({"gmm", "select", "ROWS", "--components", "1..7"}, 1, "rows.csv: 7 components need at least 7 rows");
  refuse({"kmeans", "select", "ROWS", "--clusters", "1..7"}, 1, "rows.csv: 7 clusters need at least 7 rows");
  write_file(folder / "broken.json", "{\"format\":\"shoal/gmm\",\"version\":1,");
  refuse({"gmm", "score", "./broken.json", "ROWS"}, 1, "broken.json");
  write_file(folder / "newer.json", "{\"format\":\"shoal/gmm\",\"version\":99}");
  refuse({"gmm", "predict", "./newer.json", "ROWS", "--output", "./p.npy"}, 1, "version");
  write_file(folder / "renamed.csv", "x,b\n1,2\n4,5\n");
  refuse({"gmm", "score", "MODEL", "./renamed.csv"}, 1, "the header must hold the model's names");
  refuse({"gmm", "score", "MODEL", "ROWS", "--columns", "b,a"}, 1, "give --columns the model's names, in its order");
  refuse({"gmm", "study", "--parts", "data", "--data-folder", "./nothere"}, 1, "--data-folder: the folder");
  write_file(folder / "three.csv", "1,2,3\n4,5,6\n");
  refuse({"gmm", "score", "MODEL", "./three.csv"}, 1, "3 columns");
}

TEST_F(wrong_use, weights_that_cannot_be) {
  const std::vector<std::string> fit = {"gmm", "fit", "ROWS", "--components", "1", "--weights", "./w.txt"};
  write_file(folder / "w.txt", "1\n1\n1\n");
  refuse(fit, 1, "3 weights for the 6 rows");
  write_file(folder / "w.txt", "1 2\n1 2\n1 2\n1 2\n1 2\n1 2\n");
  refuse(fit, 1, "one column");
  write_file(folder / "w.txt", "1\n1\n-1\n1\n1\n1\n");
  refuse(fit, 1, "w.txt: the weight of row 2");
  write_file(folder / "w.txt", "0\n0\n0\n0\n0\n0\n");
  refuse(fit, 1, "weight");
}

TEST_F(wrong_use, names_that_are_not_text) {
  const outcome result = run({"gmm", "fit", folder / "\xff\x1b[31m.csv", "--components", "1"});
  expect_refusal(result, 1, "\\xFF", "a name that is not UTF-8");
  expect_refusal(run({"gmm", "\xff"}), 2, "\\xFF", "a verb that is not UTF-8");
}

}  // namespace
