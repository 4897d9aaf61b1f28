#include <shoal/kmeans/model_file.hpp>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/json_file.hpp>
#include <shoal/io/whole_file.hpp>
#include <shoal/kmeans/model.hpp>
#include <shoal/kmeans/model_text.hpp>

namespace shoal::kmeans {
namespace {

constexpr std::size_t newest_version = 1;

model read_model(const json_file& file) {
  file.require_format("shoal/kmeans", newest_version);
  const json_element centroids = file.root().member("centroids");
  model loaded;
  loaded.clusters = centroids.array_size();
  if (loaded.clusters == 0) centroids.fail("expected at least one centroid, got none");
  loaded.columns = centroids.at(0).array_size();
  if (loaded.columns == 0) centroids.at(0).fail("expected at least one column, got none");
  loaded.centroids = centroids.numbers({loaded.clusters, loaded.columns});
  if (const auto names = file.root().optional_member("column_names")) {
    loaded.column_names = names->texts(loaded.columns);
  }
  return loaded;
}

}  // namespace

model parse_model(const std::string& name, std::string_view text) { return read_model(json_file::parse(name, text)); }

model load_model(const std::string& path) { return read_model(json_file::read(path)); }

void save_model(const std::string& path, const model& model, std::string_view provenance_json) {
  if (model.clusters == 0 || model.columns == 0 || model.centroids.size() != model.clusters * model.columns) {
    throw bad_argument(fmt::format("a model of {} clusters and {} columns cannot have {} centroid values",
                                   model.clusters, model.columns, model.centroids.size()));
  }
  if (!model.column_names.empty() && model.column_names.size() != model.columns) {
    throw bad_argument(
        fmt::format("a model of {} columns cannot have {} column names", model.columns, model.column_names.size()));
  }
  json_writer writer;
  writer.text("format", "shoal/kmeans").integer("version", newest_version);
  if (!model.column_names.empty()) writer.texts("column_names", model.column_names);
  writer.numbers("centroids", model.centroids, {model.clusters, model.columns});
  if (!provenance_json.empty()) writer.json("provenance", provenance_json);
  write_file_atomically(path, writer.finish());
}

}  // namespace shoal::kmeans
