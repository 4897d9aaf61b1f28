// The text of a model's file.
#pragma once

#include <string>
#include <string_view>

#include <shoal/som/model.hpp>

namespace shoal::som {

/// The model that the text of a model file holds; `name` stands in messages. Throws bad_data.
model parse_model(const std::string& name, std::string_view text);

}  // namespace shoal::som
