// The flat form of these statistics, and files of it.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/estimation/statistics_form.hpp>
#include <shoal/gmm/statistics.hpp>
#include <shoal/gmm/statistics_contents.hpp>
#include <shoal/io/whole_file.hpp>

namespace shoal::gmm {
namespace {

std::string wrong_value(const statistics& value) {
  std::vector<double> weights{value.total_weight(), value.far_rows()};
  for (std::size_t k = 0; k < value.layout().components(); ++k) weights.push_back(value.weight(k));
  return wrong_numbers(value.values(), weights);
}

}  // namespace

std::string write(const model_statistics& statistics) {
  return write_statistics<statistics_group>(statistics.inside());
}

model_statistics read(std::string_view bytes, const std::string& name) {
  statistics_reader in(name, bytes, statistics_family, statistics_shape);
  const std::uint64_t type = in.identity().shape[0].second, K = in.identity().shape[1].second,
                      d = in.identity().shape[2].second;
  if (type > 3) in.refuse(fmt::format("their covariance type is {}", type));
  const double columns = static_cast<double>(d), components = static_cast<double>(K);
  const double of_matrix = columns * columns / 2;
  const double least = components * columns + (type == 0 ? components * of_matrix : type == 1 ? of_matrix : 0);
  if (K == 0 || d == 0 || least > static_cast<double>(in.left())) {
    in.refuse(fmt::format("{} components of {} columns do not fit their length", K, d));
  }
  const statistics_layout layout(static_cast<covariance_type>(type), K, d);
  model_statistics::contents made{{{}, d, {}, statistics_group(layout), {}, {}}};
  take_statistics<statistics_group>(in, made, false, wrong_value);
  return model_statistics(std::make_shared<const model_statistics::contents>(std::move(made)));
}

void save_statistics(const std::string& path, const model_statistics& statistics) {
  write_file_atomically(path, write(statistics));
}

model_statistics load_statistics(const std::string& path) {
  return read(read_whole_file(path, largest_statistics_file), path);
}

}  // namespace shoal::gmm
