// Fits a mixture in three processes that share no memory: in every iteration each sums its part of the rows into a
// file, and the parent merges the files. The model has the bits of fit().
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <shoal/gmm/fit.hpp>
#include <shoal/gmm/generate.hpp>
#include <shoal/gmm/model_file.hpp>
#include <shoal/gmm/sample.hpp>
#include <shoal/gmm/statistics.hpp>

namespace {

namespace gmm = shoal::gmm;

constexpr std::size_t rows = 60000, columns = 3, iterations = 8;
const std::string folder =
    std::filesystem::temp_directory_path() / ("shoal_three_processes_" + std::to_string(::getpid()));

std::string file_of(const char* what, std::size_t number) { return folder + "/" + what + std::to_string(number); }

// What one process does in one iteration: it needs the model and its own rows, and leaves a file.
void sum_part(const std::vector<double>& values, std::size_t first, std::size_t end, std::size_t part, bool places) {
  const gmm::model model = gmm::load_model(file_of("model", 0));
  const shoal::matrix_view<const double> mine(values.data() + first * columns, end - first, columns);
  gmm::accumulate_options options;
  if (places) options.part = {first, rows};
  gmm::save_statistics(file_of("part", part), gmm::accumulate(model, mine, options));
}

gmm::model fit_in_processes(const std::vector<double>& values, const gmm::model& start,
                            const std::vector<std::size_t>& cuts, bool places) {
  gmm::model model = start;
  for (std::size_t iteration = 0; iteration < iterations; ++iteration) {
    gmm::save_model(file_of("model", 0), model);
    std::vector<pid_t> processes;
    for (std::size_t part = 0; part + 1 < cuts.size(); ++part) {
      processes.push_back(::fork());
      if (processes.back() == 0) {
        sum_part(values, cuts[part], cuts[part + 1], part, places);
        std::_Exit(0);
      }
    }
    for (const pid_t process : processes) {
      int status = 1;
      if (::waitpid(process, &status, 0) != process || status != 0) throw shoal::error("a process failed");
    }
    gmm::model_statistics all = gmm::load_statistics(file_of("part", 0));
    for (std::size_t part = 1; part < processes.size(); ++part) {
      all = gmm::combine(all, gmm::load_statistics(file_of("part", part)));
    }
    std::printf("iteration %zu: mean log-likelihood %.6f\n", iteration + 1, all.mean_log_likelihood());
    model = gmm::maximise(all, model, {1e-6});
  }
  return model;
}

bool close(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0, farthest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    farthest = std::max(farthest, std::abs(a[i] - b[i]));
  }
  return farthest <= 1e-12 * largest;
}

}  // namespace

int main() {
  gmm::generator_options drawn;
  drawn.components = 4;
  drawn.columns = columns;
  std::vector<double> values(rows * columns);
  gmm::sample(gmm::generate_model(drawn), 7, 0, {values.data(), rows, columns}, nullptr);

  // All begin with one model, here of fit() on a few of the rows.
  gmm::options options;
  options.components = 4;
  options.max_iterations = 1;
  const gmm::model start = gmm::fit({values.data(), 2000, columns}, options).model;

  options.init = gmm::initialization::model;
  options.start = start;
  options.max_iterations = iterations;
  options.tolerance = 0;
  const gmm::model whole = gmm::fit({values.data(), rows, columns}, options).model;

  std::filesystem::create_directory(folder);
  const auto cuts = gmm::cut_rows(start, rows, sizeof(double), 3);
  const gmm::model exact = fit_in_processes(values, start, cuts, true);
  const gmm::model anywhere = fit_in_processes(values, start, {0, 11111, 44444, rows}, false);
  std::filesystem::remove_all(folder);

  const bool same =
      exact.weights == whole.weights && exact.means == whole.means && exact.covariances == whole.covariances;
  const bool agrees = close(anywhere.weights, whole.weights) && close(anywhere.means, whole.means) &&
                      close(anywhere.covariances, whole.covariances);
  std::printf("cut between lanes: %s\n", same ? "the bits of fit()" : "other bits than fit()");
  std::printf("cut anywhere: %s\n", agrees ? "fit() to 1e-12" : "farther than 1e-12 from fit()");
  return same && agrees ? 0 : 1;
}
