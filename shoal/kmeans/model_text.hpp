// The text of a model's file.
#pragma once

#include <string>
#include <string_view>

#include <shoal/kmeans/model.hpp>

namespace shoal::kmeans {

/// The model that the text of a model file holds; `name` stands in messages. Throws bad_data.
model parse_model(const std::string& name, std::string_view text);

}  // namespace shoal::kmeans
