// Rows that come from files larger than the memory that they may take.
#include <filesystem>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include <shoal/gmm/fit.hpp>
#include <shoal/io/io.hpp>

#include "fits.hpp"
#include "hash.hpp"

namespace bits {
namespace {

namespace gmm = shoal::gmm;
constexpr shape rows_of_files{9'001, 5};

template <class Scalar>
using writer = void (*)(const std::string& path, const shoal::row_source<Scalar>& rows);

template <class Scalar>
void write_text(const std::string& path, const shoal::row_source<Scalar>& rows) {
  shoal::write_csv(path, rows, {});
}

template <class Scalar>
std::uint64_t hash_of(const char* ending, writer<Scalar> write, const place& place) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("shoal-bits-{}{}", getpid(), ending)).string();
  write(path, given_rows<Scalar>(rows_of_files).rows());
  shoal::read_options reading;
  reading.memory_limit = std::size_t{1} << 14;
  const shoal::opened_rows<Scalar> opened = shoal::open_rows<Scalar>(path, reading);
  std::filesystem::remove(path);
  gmm::options options;
  options.components = 6;
  options.covariance_type = gmm::covariance_type::full;
  options.init = gmm::initialization::random_rows;
  options.max_iterations = 5;
  options.tolerance = 0;
  options.threads = place.threads;
  options.memory_limit = place.threads * 3 * 512 * rows_of_files.columns * sizeof(Scalar);
  options.device = place.device;
  const gmm::fit_result fitted = gmm::fit(*opened.rows, options);
  return hash()
      .take(fitted.model.weights)
      .take(fitted.model.means)
      .take(fitted.model.covariances)
      .take(fitted.history)
      .value();
}

}  // namespace

const add_fits added([]() -> std::vector<kept_fit> {
  return {{"file, float32 .npy", runs_on::host_and_devices,
           [](const place& place) { return hash_of<float>(".npy", shoal::write_npy<float>, place); }},
          {"file, float64 text", runs_on::host_and_devices,
           [](const place& place) { return hash_of<double>(".csv", write_text<double>, place); }}};
});

}  // namespace bits
