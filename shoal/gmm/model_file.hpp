// Model files of mixtures.
#pragma once

#include <string>
#include <string_view>

#include <shoal/gmm/model.hpp>

namespace shoal::gmm {

/// Reads and writes {"format":"shoal/gmm","version":1,…}. Throws io_error, bad_data with file and position.
model load_model(const std::string& path);
void save_model(const std::string& path, const model& model, std::string_view provenance_json = {});

}  // namespace shoal::gmm
