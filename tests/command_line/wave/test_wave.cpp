// shoal wave run as a user runs it.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../program.hpp"

namespace {

using namespace shoal_test;
using nlohmann::json;

json answer_of(const words& command) {
  const outcome result = run(words{"wave", "run", "--json"} + command);
  EXPECT_EQ(result.status, 0) << result.err;
  return json::parse(result.out);
}

void expect_refused(const words& command, const std::string& part) {
  const outcome result = run(words{"wave", "run"} + command);
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

TEST(wave, answers_in_json) {
  const json front = answer_of({"--preset", "front", "--nodes", "801", "--spacing", "0.25", "--time", "40"});
  EXPECT_EQ(front["nodes"], 801);
  EXPECT_EQ(front["times"], json({0.0, 40.0}));
  EXPECT_GT(front["steps"].get<int>(), 1000);
  EXPECT_GT(front["seconds"].get<double>(), 0);
  EXPECT_NEAR(front["seconds_per_step"].get<double>() * front["steps"].get<double>(), front["seconds"].get<double>(),
              1e-9);
  EXPECT_NEAR(front["wave_speed"].get<double>(), 0.8 / std::sqrt(2.0), 3e-3);
  EXPECT_TRUE(answer_of({"--preset", "impulse", "--time", "50"})["wave_speed"].is_null());
}

TEST(wave, writes_states_by_every_scheme_in_both_scalars) {
  const scratch_folder folder;
  for (const std::string scheme : {"explicit", "adaptive", "crank-nicolson", "pieces", "tr-bdf2", "source-2016"}) {
    for (const std::string scalar : {"float32", "float64"}) {
      const std::string path = folder / (scheme + scalar + ".npy");
      answer_of({"--scheme", scheme, "--scalar", scalar, "--times", "0,60", "--output", path});
      const npy_array states = read_npy(path);
      EXPECT_EQ(states.element, scalar == "float32" ? "<f4" : "<f8");
      EXPECT_EQ(states.shape, (std::vector<std::size_t>{2, 2, 401}));
      EXPECT_DOUBLE_EQ(states.values[200], 1);       // the impulse's top
      EXPECT_LT(states.values[2 * 401 + 200], 0.5);  // which has collapsed
    }
  }
}

TEST(wave, every_preset_and_boundary_runs) {
  for (const std::string preset : {"axon-input", "impulse", "oscillation", "front", "self-excitation", "impulse-train",
                                   "return-to-rest", "spiral"}) {
    EXPECT_EQ(answer_of({"--preset", preset, "--time", "5"})["preset"], preset);
  }
  for (const std::string boundary : {"no-flux", "input", "periodic-input", "periodic"}) {
    EXPECT_EQ(answer_of({"--boundary", boundary, "--time", "5"})["boundary"], boundary);
  }
}

TEST(wave, computes_the_plane) {
  const scratch_folder folder;
  const std::string path = folder / "plane.npy";
  const json plane = answer_of({"--rows", "20", "--columns", "30", "--times", "1,2,3", "--output", path});
  EXPECT_EQ(plane["nodes"], 600);
  EXPECT_EQ(plane["rows"], 20);
  EXPECT_TRUE(plane["wave_speed"].is_null());
  EXPECT_EQ(read_npy(path).shape, (std::vector<std::size_t>{3, 2, 20, 30}));
  for (const std::string scheme : {"crank-nicolson", "tr-bdf2"}) {
    const json implicit = answer_of({"--rows", "20", "--columns", "30", "--time", "3", "--scheme", scheme});
    EXPECT_GT(implicit["newton_iterations"].get<int>(), implicit["steps"].get<int>());
  }
}

TEST(wave, draws_noise_by_its_seed) {
  const scratch_folder folder;
  const auto states = [&](const std::string& seed, const std::string& threads) {
    const std::string path = folder / "noise.npy";
    const json answer =
        answer_of({"--noise", "0.1", "--seed", seed, "--threads", threads, "--time", "5", "--output", path});
    EXPECT_EQ(answer["noise_kind"], "additive");
    EXPECT_EQ(answer["seed"], std::stoi(seed));
    return read_file(path);
  };
  EXPECT_EQ(states("1", "1"), states("1", "2"));
  EXPECT_NE(states("1", "1"), states("2", "1"));
  expect_refused({"--noise", "0.1", "--scheme", "tr-bdf2"}, "noise needs");
}

TEST(wave, couples_axons) {
  const json axons = answer_of({"--rows", "2", "--columns", "30", "--coupling", "0.1", "--time", "3"});
  EXPECT_EQ(axons["coupling"], 0.1);
  expect_refused({"--coupling", "0.1"}, "at least 2 axons");
  expect_refused({"--rows", "2", "--columns", "30"}, "at least 3 nodes in each direction");
}

TEST(wave, counts_adaptive_nodes) {
  for (const std::string differences : {"three-point", "five-point", "spline"}) {
    const json adaptive = answer_of({"--scheme", "adaptive", "--differences", differences, "--time", "30"});
    EXPECT_EQ(adaptive["differences"], differences);
    EXPECT_LT(adaptive["mean_nodes"].get<double>(), 401.0 / 3);
    EXPECT_GT(adaptive["mean_nodes"].get<double>(), 401.0 / 9);
  }
  EXPECT_FALSE(answer_of({"--time", "3"}).contains("mean_nodes"));
}

TEST(wave, writes_a_page_with_pictures) {
  const scratch_folder folder;
  const std::string axon = folder / "axon.html", plane = folder / "plane.html";
  answer_of({"--times", "0,20,40,60", "--report", axon});
  for (const std::string part : {"v over space and time", "The wave as it moves", "speed", "Profiles", "Phase plane",
                                 "data:image/png", "t = 40"}) {
    EXPECT_NE(read_file(axon).find(part), std::string::npos) << part;
  }
  EXPECT_EQ(read_file(axon).find("http:"), std::string::npos);
  EXPECT_EQ(read_file(axon).find("Nodes in use"), std::string::npos);
  const auto count = [](const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(read_file(axon), "<animate "), 4u);
  const std::string adaptive = folder / "adaptive.html";
  answer_of({"--scheme", "adaptive", "--times", "0,20,40,60", "--report", adaptive});
  EXPECT_NE(read_file(adaptive).find("Nodes in use"), std::string::npos);
  answer_of({"--rows", "20", "--columns", "30", "--time", "3", "--report", plane});
  EXPECT_NE(read_file(plane).find("v at time 3"), std::string::npos);
}

TEST(wave, goes_on_from_a_checkpoint) {
  const scratch_folder folder;
  const words command = {"--time", "30", "--checkpoint", folder / "wave.json"};
  const json first = answer_of(command), second = answer_of(command);
  EXPECT_EQ(first["steps"], second["steps"]);
  expect_refused({"--time", "31", "--checkpoint", folder / "wave.json"}, "times is 0,30 there and 0,31 here");
}

TEST(wave, refuses_wrong_use_with_the_limit) {
  expect_refused({"--step", "0.2"}, "stay bounded up to 0.117716");
  expect_refused({"--nodes", "2"}, "at least 3 nodes");
  expect_refused({"--rows", "20"}, "give both");
  expect_refused({"--preset", "spiral", "--scheme", "adaptive"}, "in the plane (200 rows)");
  expect_refused({"--device", "tpu"}, "'tpu' is not a device");
  expect_refused({"--time", "3", "--times", "1,2"}, "--time and --times both say when to end");
  expect_refused({"--times", "2,1"}, "ascend");
  expect_refused({"--scheme", "explict"}, "did you mean 'explicit'?");
  expect_refused({"--spacing", "0"}, "--spacing");
}

}  // namespace
