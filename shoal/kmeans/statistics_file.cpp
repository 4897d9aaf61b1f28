// The flat form of these statistics, and files of it.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/estimation/statistics_form.hpp>
#include <shoal/io/whole_file.hpp>
#include <shoal/kmeans/statistics.hpp>
#include <shoal/kmeans/statistics_contents.hpp>

namespace shoal::kmeans {

std::string write(const model_statistics& statistics) {
  return write_statistics<statistics_monoid>(statistics.inside());
}

model_statistics read(std::string_view bytes, const std::string& name) {
  statistics_reader in(name, bytes, statistics_family, statistics_shape);
  const std::uint64_t K = in.identity().shape[0].second, d = in.identity().shape[1].second;
  if (K == 0 || d == 0 || K > in.left() || d > in.left() || K * d > in.left()) {
    in.refuse(fmt::format("{} clusters of {} columns do not fit their length", K, d));
  }
  model_statistics::contents made{{{}, d, {}, statistics_monoid{K, d}, {}, {}}};
  take_statistics<statistics_monoid>(in, made, false, [K, d](const statistics& value) -> std::string {
    if (value.weights.size() != K || value.sums.size() != K * d) return "a value has not the shape that they say";
    std::vector<double> weights = value.weights;
    weights.push_back(value.inertia);
    return wrong_numbers(value.sums, weights);
  });
  return model_statistics(std::make_shared<const model_statistics::contents>(std::move(made)));
}

void save_statistics(const std::string& path, const model_statistics& statistics) {
  write_file_atomically(path, write(statistics));
}

model_statistics load_statistics(const std::string& path) {
  return read(read_whole_file(path, largest_statistics_file), path);
}

}  // namespace shoal::kmeans
