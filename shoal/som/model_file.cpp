// Maps as JSON files: {"format":"shoal/som","version":1,…}.
#include <shoal/som/model_file.hpp>

#include <array>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/json_file.hpp>
#include <shoal/io/printable.hpp>
#include <shoal/io/whole_file.hpp>
#include <shoal/som/check_model.hpp>
#include <shoal/som/lattice.hpp>
#include <shoal/som/metric.hpp>
#include <shoal/som/model.hpp>
#include <shoal/som/model_text.hpp>

namespace shoal::som {
namespace {

constexpr std::size_t newest_version = 1;
constexpr std::size_t longest_side = std::numeric_limits<std::int32_t>::max();

template <class Value>
struct named {
  std::string_view name;
  Value value;
};
constexpr std::array<named<lattice>, 2> lattices = {
    {{"rectangular", lattice::rectangular}, {"hexagonal", lattice::hexagonal}}};
constexpr std::array<named<metric>, 4> metrics = {{{"euclidean", metric::euclidean},
                                                   {"taxicab", metric::taxicab},
                                                   {"cosine", metric::cosine},
                                                   {"chebyshev", metric::chebyshev}}};

template <class Names, class Value>
std::string_view name_of(const Names& names, Value value) {
  for (const auto& each : names) {
    if (each.value == value) return each.name;
  }
  throw bad_argument("cannot write a map with an unknown lattice or metric");
}

template <class Names>
auto read_name(const json_element& element, const Names& names) {
  const std::string text = element.text();
  std::string known;
  for (const auto& each : names) {
    if (each.name == text) return each.value;
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", each.name);
  }
  element.fail(fmt::format("expected one of {}; got \"{}\"", known, printable(text)));
}

model read_model(const json_file& file) {
  file.require_format("shoal/som", newest_version);
  const json_element root = file.root();
  model loaded;
  loaded.width = root.member("width").integer(1, longest_side);
  loaded.height = root.member("height").integer(1, longest_side);
  loaded.lattice = read_name(root.member("lattice"), lattices);
  loaded.toroidal = root.member("toroidal").boolean();
  loaded.metric = read_name(root.member("metric"), metrics);
  try {
    check_shape(loaded.width, loaded.height, loaded.lattice, loaded.toroidal);
  } catch (const bad_argument& refused) {
    root.member("height").fail(refused.what());
  }
  const json_element codebook = root.member("codebook");
  if (codebook.array_size() != loaded.units()) {
    codebook.fail(fmt::format("expected the weights of {} x {} units, got those of {}", loaded.width, loaded.height,
                              codebook.array_size()));
  }
  loaded.columns = codebook.at(0).array_size();
  if (loaded.columns == 0) codebook.at(0).fail("expected at least one column, got none");
  loaded.codebook = codebook.numbers({loaded.units(), loaded.columns});
  if (const auto names = root.optional_member("column_names")) loaded.column_names = names->texts(loaded.columns);
  return loaded;
}

}  // namespace

model parse_model(const std::string& name, std::string_view text) { return read_model(json_file::parse(name, text)); }

model load_model(const std::string& path) { return read_model(json_file::read(path)); }

void save_model(const std::string& path, const model& model, std::string_view provenance_json) {
  check_model(model);
  if (!model.column_names.empty() && model.column_names.size() != model.columns) {
    throw bad_argument(
        fmt::format("a model of {} columns cannot have {} column names", model.columns, model.column_names.size()));
  }
  json_writer writer;
  writer.text("format", "shoal/som")
      .integer("version", newest_version)
      .integer("width", model.width)
      .integer("height", model.height)
      .text("lattice", name_of(lattices, model.lattice))
      .boolean("toroidal", model.toroidal)
      .text("metric", name_of(metrics, model.metric));
  if (!model.column_names.empty()) writer.texts("column_names", model.column_names);
  writer.numbers("codebook", model.codebook, {model.units(), model.columns});
  if (!provenance_json.empty()) writer.json("provenance", provenance_json);
  write_file_atomically(path, writer.finish());
}

}  // namespace shoal::som
