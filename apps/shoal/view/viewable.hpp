// What a kind of file must bring along to be shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/options.hpp"
#include "common/rows.hpp"
#include "report/subsample.hpp"
#include "viewer/scene.hpp"

namespace shoal::app {

/// What `shoal view` is given.
struct view_command {
  std::string file;
  data_options data;
  run_options run;
  viewer::view_settings view;
  std::optional<std::size_t> sponge;
  std::vector<std::string> axes;
  std::vector<double> quantiles = {0.5, 0.95};
  std::size_t most_rows = 0;
  std::string variable = "v";
  double spacing = 1;
  std::vector<double> times;
  std::string output;
  std::string picture;
  bool window = false;
  std::string screenshot;
};

/// Makes the scene of a file whose contents are given. Messages name command.file.
using show_file = viewer::scene (*)(const view_command& command, const std::string& contents);

/// A kind of model file, by its "format".
struct viewable {
  std::string format;
  show_file show;
};

/// The rows that are shown with a model, in float64; none without DATA.
report::row_sample rows_to_show(const view_command& command, const expected_columns& expected);

/// "3 components of 2 columns, model.json"
std::string view_subtitle(const view_command& command, const std::string& shape);

}  // namespace shoal::app
