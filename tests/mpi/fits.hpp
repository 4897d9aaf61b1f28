// Holds a fit of the program on ranks to the bytes of one process.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "launched.hpp"

namespace shoal_test {

inline constexpr std::size_t fitted_rows = 20000;
inline constexpr std::size_t fitted_columns = 3;

/// Rows in four clouds, and weights for them, some of which are zero.
inline void write_clouds(const std::string& rows, const std::string& weights) {
  std::vector<double> values, heavy;
  std::uint32_t state = 1;
  const auto next = [&] { return static_cast<double>((state = state * 1664525U + 1013904223U) >> 8) / 0x1p24; };
  for (std::size_t i = 0; i < fitted_rows; ++i) {
    for (std::size_t j = 0; j < fitted_columns; ++j) {
      values.push_back(static_cast<double>((i % 4) * (j + 1)) + next() + next() + next());
    }
    heavy.push_back(static_cast<double>(i % 5) / 4);
  }
  write_npy(rows, values, fitted_rows, fitted_columns);
  write_npy(weights, heavy, fitted_rows, 1);
}

/// `fit` is told its rows and outputs here: model, labels and history are to be those of one process.
inline void expect_bytes_of_one_process(const words& fit, bool weighted = false) {
  const scratch_folder folder;
  write_clouds(folder / "rows.npy", folder / "weights.npy");
  const auto run_as = [&](const std::string& name, const spawn_options& options) {
    words command = fit + words{folder / "rows.npy",       "--json",   "--output",
                                folder / (name + ".json"), "--labels", folder / (name + ".npy")};
    if (weighted) command = command + words{"--weights", folder / "weights.npy"};
    const outcome ended = run(command, options);
    EXPECT_EQ(ended.status, 0) << name << ": " << ended.err;
    return ended.status == 0 ? nlohmann::json::parse(ended.out) : nlohmann::json();
  };
  const nlohmann::json expected = run_as("one", {});
  for (const std::size_t ranks : {2, 3}) {
    const std::string name = std::to_string(ranks);
    const nlohmann::json found = run_as(name, on_ranks(ranks));
    if (found.is_null()) continue;
    EXPECT_EQ(found["history"], expected["history"]) << name << " ranks";
    EXPECT_EQ(read_file(folder / (name + ".json")), read_file(folder / "one.json")) << name << " ranks";
    EXPECT_EQ(read_file(folder / (name + ".npy")), read_file(folder / "one.npy")) << name << " ranks";
  }
}

/// A mixture of the folder's rows, written to NAME.json, that makes every iteration it is allowed.
inline words whole_fit(const scratch_folder& folder, const std::string& name, const std::string& iterations) {
  return {"gmm",         "fit", folder / "rows.npy", "--components", "3",        "--quiet",
          "--tolerance", "0",   "--max-iterations",  iterations,     "--output", folder / (name + ".json")};
}

/// The same with a checkpoint, NAME.checkpoint, after each iteration.
inline words checkpointed_fit(const scratch_folder& folder, const std::string& name, const std::string& iterations) {
  return whole_fit(folder, name, iterations) +
         words{"--checkpoint", folder / (name + ".checkpoint"), "--checkpoint-seconds", "0"};
}

}  // namespace shoal_test
