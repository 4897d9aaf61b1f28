// The text of a mixture's file.
#pragma once

#include <string>
#include <string_view>

#include <shoal/gmm/model.hpp>

namespace shoal::gmm {

/// The mixture that the text of a model file holds; `name` stands in messages. Throws bad_data.
model parse_model(const std::string& name, std::string_view text);

/// The text of a mixture's file. Throws bad_argument for a model with numbers that are not finite or too few.
std::string format_model(const model& model, std::string_view provenance_json = {});

}  // namespace shoal::gmm
