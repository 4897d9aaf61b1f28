// Model files of clusterings.
#pragma once

#include <string>
#include <string_view>

#include <shoal/kmeans/model.hpp>

namespace shoal::kmeans {

/// Reads and writes {"format":"shoal/kmeans","version":1,…}. Throws io_error, bad_data with file and position.
model load_model(const std::string& path);
void save_model(const std::string& path, const model& model, std::string_view provenance_json = {});

}  // namespace shoal::kmeans
