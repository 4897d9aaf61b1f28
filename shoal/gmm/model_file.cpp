// Mixtures as JSON files: {"format":"shoal/gmm","version":1,…}.
#include <shoal/gmm/model_file.hpp>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/model_text.hpp>
#include <shoal/io/json_file.hpp>
#include <shoal/io/printable.hpp>
#include <shoal/io/whole_file.hpp>

namespace shoal::gmm {
namespace {

constexpr std::string_view format_name = "shoal/gmm";
constexpr std::uint64_t newest_version = 1;

// Weights that were typed by hand need not sum to one to the last bit.
constexpr double weight_sum_tolerance = 1e-6;

// Relative to the two standard deviations: far above rounding, far below any real asymmetry.
constexpr double asymmetry_tolerance = 1e-9;

struct named_type {
  std::string_view name;
  covariance_type type;
};
constexpr std::array<named_type, 4> type_names = {{{"full", covariance_type::full},
                                                   {"tied", covariance_type::tied},
                                                   {"diag", covariance_type::diag},
                                                   {"spherical", covariance_type::spherical}}};

std::string_view name_of(covariance_type type) {
  for (const named_type& named : type_names) {
    if (named.type == type) return named.name;
  }
  throw bad_argument("cannot write a mixture with an unknown covariance type");
}

covariance_type read_type(const json_element& element) {
  const std::string name = element.text();
  for (const named_type& named : type_names) {
    if (named.name == name) return named.type;
  }
  element.fail(fmt::format("expected \"full\", \"tied\", \"diag\" or \"spherical\", got \"{}\"", printable(name)));
}

std::vector<std::size_t> covariance_shape(covariance_type type, std::size_t components, std::size_t columns) {
  switch (type) {
    case covariance_type::full:
      return {components, columns, columns};
    case covariance_type::tied:
      return {columns, columns};
    case covariance_type::diag:
      return {components, columns};
    case covariance_type::spherical:
      break;
  }
  return {components};
}

void check_weights(const json_element& element, const std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    if (weights[k] < 0) element.at(k).fail(fmt::format("a weight must not be negative, got {}", weights[k]));
    sum += weights[k];
  }
  if (std::abs(sum - 1) > weight_sum_tolerance) element.fail(fmt::format("the weights must sum to 1, got {}", sum));
}

// `matrix` is row-major [d][d]; `element` is its place in the file.
void check_matrix(const json_element& element, const double* matrix, std::size_t d) {
  for (std::size_t i = 0; i < d; ++i) {
    const double variance = matrix[i * d + i];
    if (!(variance > 0)) element.at(i).at(i).fail(fmt::format("a variance must be positive, got {}", variance));
  }
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double lower = matrix[i * d + j];
      const double upper = matrix[j * d + i];
      const double scale = std::sqrt(matrix[i * d + i]) * std::sqrt(matrix[j * d + j]);
      if (std::abs(lower - upper) > asymmetry_tolerance * scale) {
        element.at(i).at(j).fail(
            fmt::format("the covariance must be symmetric, got {} here and {} at [{}][{}]", lower, upper, j, i));
      }
      if (std::abs(lower) > scale * (1 + asymmetry_tolerance)) {
        element.at(i).at(j).fail(
            fmt::format("a covariance of {} is larger than the two standard deviations multiplied ({})", lower, scale));
      }
    }
  }
}

void check_covariances(const json_element& element, const model& read) {
  const std::size_t d = read.columns;
  const double* values = read.covariances.data();
  switch (read.covariance_type) {
    case covariance_type::full:
      for (std::size_t k = 0; k < read.components; ++k) check_matrix(element.at(k), values + k * d * d, d);
      return;
    case covariance_type::tied:
      return check_matrix(element, values, d);
    case covariance_type::diag:
      for (std::size_t i = 0; i < read.covariances.size(); ++i) {
        if (!(values[i] > 0)) {
          element.at(i / d).at(i % d).fail(fmt::format("a variance must be positive, got {}", values[i]));
        }
      }
      return;
    case covariance_type::spherical:
      for (std::size_t k = 0; k < read.components; ++k) {
        if (!(values[k] > 0)) element.at(k).fail(fmt::format("a variance must be positive, got {}", values[k]));
      }
      return;
  }
}

model read_model(const json_file& file) {
  file.require_format(format_name, newest_version);
  const json_element root = file.root();
  model read;
  read.covariance_type = read_type(root.member("covariance_type"));
  const json_element weights = root.member("weights");
  const json_element means = root.member("means");
  const json_element covariances = root.member("covariances");
  read.components = weights.array_size();
  if (read.components == 0) weights.fail("a mixture needs at least one component");
  if (means.array_size() != read.components) {
    means.fail(fmt::format("expected an array of {} means, as there are weights, got {}", read.components,
                           means.array_size()));
  }
  read.columns = means.at(0).array_size();
  if (read.columns == 0) means.at(0).fail("a mean needs at least one column");
  read.weights = weights.numbers({read.components});
  check_weights(weights, read.weights);
  read.means = means.numbers({read.components, read.columns});
  read.covariances = covariances.numbers(covariance_shape(read.covariance_type, read.components, read.columns));
  check_covariances(covariances, read);
  if (const auto names = root.optional_member("column_names")) read.column_names = names->texts(read.columns);
  return read;
}

}  // namespace

model parse_model(const std::string& name, std::string_view text) { return read_model(json_file::parse(name, text)); }

model load_model(const std::string& path) { return read_model(json_file::read(path)); }

std::string format_model(const model& model, std::string_view provenance_json) {
  const std::size_t k = model.components;
  const std::size_t d = model.columns;
  json_writer writer;
  writer.text("format", format_name)
      .integer("version", newest_version)
      .text("covariance_type", name_of(model.covariance_type))
      .numbers("weights", model.weights, {k})
      .numbers("means", model.means, {k, d})
      .numbers("covariances", model.covariances, covariance_shape(model.covariance_type, k, d));
  if (!model.column_names.empty()) writer.texts("column_names", model.column_names);
  if (!provenance_json.empty()) writer.json("provenance", provenance_json);
  return writer.finish();
}

void save_model(const std::string& path, const model& model, std::string_view provenance_json) {
  write_file_atomically(path, format_model(model, provenance_json));
}

}  // namespace shoal::gmm
