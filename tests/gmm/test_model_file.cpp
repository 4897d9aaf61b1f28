// Mixtures as files: exact round trips and every refusal.
#include <cmath>

#include <shoal/gmm/model_file.hpp>
#include <shoal/gmm/model_text.hpp>

#include "../io/files.hpp"

namespace {

using namespace testing_files;
using shoal::bad_argument;
using shoal::bad_data;
using shoal::gmm::covariance_type;
using shoal::gmm::model;

model example(covariance_type type) {
  model made;
  made.covariance_type = type;
  made.components = 2;
  made.columns = 3;
  made.weights = {1.0 / 3, 2.0 / 3};
  made.means = {0.1, -0.0, 1e300, 5e-324, 3, -1e6};
  switch (type) {
    case covariance_type::full:
      made.covariances = {2, 0.5, 0.1, 0.5, 1, 0.2, 0.1, 0.2, 3, 1, 0, 0, 0, 1.1, 0, 0, 0, 1e-12};
      break;
    case covariance_type::tied:
      made.covariances = {2, 0.5, 0.1, 0.5, 1, 0.2, 0.1, 0.2, 3};
      break;
    case covariance_type::diag:
      made.covariances = {1, 2, 3, 0.1, 0.2, 0.3};
      break;
    case covariance_type::spherical:
      made.covariances = {1.0 / 7, 9};
      break;
  }
  return made;
}

TEST(ModelFile, KeepsEveryBit) {
  const folder place;
  const std::string path = place.path("m.json");
  for (const auto type :
       {covariance_type::full, covariance_type::tied, covariance_type::diag, covariance_type::spherical}) {
    model saved = example(type);
    for (const bool named : {false, true}) {
      if (named) saved.column_names = {"a", "b \"c\"", "d"};
      shoal::gmm::save_model(path, saved, named ? R"({"seed": 7})" : "");
      const model read = shoal::gmm::load_model(path);
      EXPECT_EQ(read.covariance_type, type);
      EXPECT_EQ(read.components, 2u);
      EXPECT_EQ(read.columns, 3u);
      EXPECT_EQ(read.weights, saved.weights);
      EXPECT_EQ(bytes_of(read.means), bytes_of(saved.means));  // minus zero too
      EXPECT_EQ(read.covariances, saved.covariances);
      EXPECT_EQ(read.column_names, saved.column_names);
    }
  }
  EXPECT_NE(contents(path).find("\"provenance\": {\"seed\": 7}"), std::string::npos);
  EXPECT_NE(contents(path).find("\"covariance_type\": \"spherical\""), std::string::npos);
}

TEST(ModelFile, RefusesToWriteWhatItCouldNotRead) {
  const folder place;
  model broken = example(covariance_type::diag);
  broken.means[4] = NAN;
  expect_refusal<bad_argument>([&] { shoal::gmm::save_model(place.path("m.json"), broken); }, {"means", "nan"});
  broken = example(covariance_type::diag);
  broken.covariances.pop_back();
  expect_refusal<bad_argument>([&] { shoal::gmm::save_model(place.path("m.json"), broken); }, {"covariances", "shape"});
  expect_refusal<bad_argument>(
      [&] { shoal::gmm::save_model(place.path("m.json"), example(covariance_type::full), "{"); }, {"provenance"});
  EXPECT_EQ(place.entries(), 0u);
}

std::string file_text(const std::string& type, const std::string& weights, const std::string& means,
                      const std::string& covariances, const std::string& more = "") {
  return R"({"format": "shoal/gmm", "version": 1, "covariance_type": ")" + type + R"(", "weights": )" + weights +
         R"(, "means": )" + means + R"(, "covariances": )" + covariances + more + "}";
}

void refuse(const std::string& text, const std::vector<std::string>& parts) {
  std::vector<std::string> all = {"m.json: "};
  all.insert(all.end(), parts.begin(), parts.end());
  expect_refusal<bad_data>([&] { shoal::gmm::parse_model("m.json", text); }, all);
}

TEST(ModelFile, ReadsOneThatWasTypedByHand) {
  const model read = shoal::gmm::parse_model(
      "m.json", file_text("full", "[0.3333333, 0.6666667]", "[[1], [2]]", "[[[1]], [[2]]]", ", \"note\": \"mine\""));
  EXPECT_EQ(read.means, (std::vector<double>{1, 2}));
  EXPECT_EQ(read.columns, 1u);
}

TEST(ModelFile, NamesWhatIsWrong) {
  refuse(file_text("full", "[0.5, 0.6]", "[[1], [2]]", "[[[1]], [[1]]]"),
         {"weights: the weights must sum to 1, got 1.1"});
  refuse(file_text("full", "[1.5, -0.5]", "[[1], [2]]", "[[[1]], [[1]]]"),
         {"weights[1]: a weight must not be negative"});
  refuse(file_text("full", "[1e308, 1e308]", "[[1], [2]]", "[[[1]], [[1]]]"), {"sum to 1"});
  refuse(file_text("full", "[]", "[]", "[]"), {"weights: a mixture needs at least one component"});
  refuse(file_text("full", "[1]", "[[]]", "[[]]"), {"means[0]", "at least one column"});
  refuse(file_text("full", "[1]", "[[1], [2]]", "[[[1]]]"), {"means: expected an array of 1"});
  refuse(file_text("full", "[0.5, 0.5]", "[[1, 2], [2]]", "[]"),
         {"means[1]: expected an array of 2, got an array of 1"});
  refuse(file_text("full", "[1]", "[[null]]", "[[[1]]]"), {"means[0][0]: expected a finite number, got null"});
  refuse(file_text("full", "[1]", "[[1, 2]]", "[[1, 1]]"), {"covariances[0]", "expected an array of 2, got 1"});
  refuse(file_text("tied", "[1]", "[[1, 2]]", "[1, 1]"), {"covariances[0]: expected an array of 2"});
  refuse(file_text("full", "[1]", "[[1, 2]]", "[[[1, 0.1], [0.2, 1]]]"),
         {"covariances[0][1][0]", "symmetric", "0.2 here and 0.1 at [0][1]"});
  refuse(file_text("tied", "[1]", "[[1, 2]]", "[[1, 3], [3, 1]]"), {"covariances[1][0]", "larger than"});
  refuse(file_text("tied", "[1]", "[[1, 2]]", "[[1, 0], [0, 0]]"), {"covariances[1][1]: a variance must be positive"});
  refuse(file_text("diag", "[1]", "[[1, 2]]", "[[1, -2]]"), {"covariances[0][1]: a variance must be positive, got -2"});
  refuse(file_text("spherical", "[1]", "[[1, 2]]", "[0]"), {"covariances[0]: a variance must be positive, got 0"});
  refuse(file_text("round", "[1]", "[[1]]", "[1]"), {"covariance_type", "\"full\", \"tied\", \"diag\"", "\"round\""});
  refuse(file_text("spherical", "[1]", "[[1, 2]]", "[1]", R"(, "column_names": ["a"])"),
         {"column_names: expected an array of 2 strings"});
  refuse(R"({"format": "shoal/kmeans", "version": 1})", {"format: expected \"shoal/gmm\""});
  refuse(R"({"format": "shoal/gmm", "version": 2})", {"version 2 is unknown"});
  refuse(R"({"format": "shoal/gmm", "version": 1})", {"\"covariance_type\" is missing"});
  const folder place;
  expect_refusal<bad_data>([&] { shoal::gmm::load_model(place.write("x\n.json", "\xff\xff")); }, {"x\\n.json: byte 0"});
}

}  // namespace
