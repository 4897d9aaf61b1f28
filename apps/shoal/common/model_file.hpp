// A model file, with the units that its model was fitted in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <shoal/io/io.hpp>
#include <shoal/io/json_file.hpp>

#include "common/answer.hpp"
#include "common/standardization.hpp"

namespace shoal::app {

/// A model and, when they are not the data's, the units of its fit.
template <class Model>
struct model_file {
  Model model;
  std::optional<standardization> units;

  /// Null when they are the data's.
  const standardization* units_of_fit() const { return units ? &*units : nullptr; }
};

/// What the text of a model file holds; `name` stands in messages, and `parse` is the family's.
template <class Model>
model_file<Model> model_file_of(const std::string& name, std::string_view text,
                                Model (*parse)(const std::string&, std::string_view)) {
  model_file<Model> file{parse(name, text), {}};
  file.units = units_of_fit(name, text, file.model.columns);
  return file;
}

/// Reads the file once, which may be a pipe.
template <class Model>
model_file<Model> read_model_file(const std::string& path, Model (*parse)(const std::string&, std::string_view)) {
  return model_file_of(path, read_whole_file(path, json_size_limit), parse);
}

/// What a fit writes into its model file of itself: its values, what computed it, and the units when they are kept.
std::string provenance_of(const named_values& fit, const std::string& hardware, const standardization* units);

}  // namespace shoal::app
