// Options of mixtures, from words to the library.
#include "gmm/words.hpp"

#include <utility>

#include <fmt/format.h>

#include <shoal/gmm/model_file.hpp>

#include "common/library_options.hpp"

namespace shoal::app {

const choices<gmm::covariance_type>& covariance_choices() {
  using type = gmm::covariance_type;
  static const choices<type> known = {
      {"full", type::full}, {"tied", type::tied}, {"diag", type::diag}, {"spherical", type::spherical}};
  return known;
}

const choices<gmm::initialization>& gmm_initialization_choices() {
  using init = gmm::initialization;
  static const choices<init> known = {{"kmeans", init::kmeans},
                                      {"k-means++", init::plus_plus},
                                      {"k-means-parallel", init::parallel},
                                      {"random-rows", init::random_rows},
                                      {"random-responsibilities", init::random_responsibilities},
                                      {"kmeans-of-tenth", init::kmeans_of_tenth}};
  return known;
}

const choices<gmm::algorithm>& algorithm_choices() {
  using enum gmm::algorithm;
  static const choices<gmm::algorithm> known = {
      {"batch", batch}, {"incremental", incremental}, {"asynchronous", asynchronous}, {"stepwise", stepwise}};
  return known;
}

const choices<gmm::acceleration>& acceleration_choices() {
  static const choices<gmm::acceleration> known = {{"none", gmm::acceleration::none},
                                                   {"squarem", gmm::acceleration::squarem}};
  return known;
}

void add_gmm_options(CLI::App& app, gmm_options& options) {
  options.fit.init = "kmeans";
  options.fit.max_iterations = 100;
  options.fit.tolerance = 1e-3;
  add_data_options(app, options.data);
  add_choice(app, "--covariance", options.covariance, covariance_choices(), "Shape of the covariances", "full");
  add_init_option(app, options.fit, words_of(gmm_initialization_choices()));
  add_fit_options(app, options.fit);
  add_number(app, "--tolerance", options.fit.tolerance,
             "Stop when the mean log-likelihood changes by less; 0: exactly --max-iterations", 0);
  add_number(app, "--regularization", options.regularization, "Added to the diagonal of every covariance", 0);
  add_choice(app, "--algorithm", options.algorithm, algorithm_choices(),
             "How often the model moves during a pass over the rows", "batch");
  add_choice(app, "--accelerate", options.acceleration, acceleration_choices(), "Extrapolate the models of batch",
             "none");
  add_count(app, "--chunk-rows", options.chunks.rows, "N",
            "Rows of a chunk, for algorithms other than batch; 0: chosen from the data's shape");
  add_count(app, "--superchunks", options.chunks.superchunks, "N",
            "Times that the model moves in a pass, for algorithms other than batch; 0: 32, fewer for few rows");
  add_number(app, "--threshold", options.chunks.threshold,
             "asynchronous: leave out chunks whose responsibilities moved by no more than this", 0);
  add_flag(app, "--async-em-2013", options.async_em_2013,
           "The parameters of Altinigneli, Plant & Boehm (KDD 2013), in place of the options for them");
  add_device_options(app, options.run);
  add_run_options(app, options.run);
}

namespace {

// The library says the same of its own names, and ignores what batch has no use for.
void check_algorithm(const gmm_options& options, const gmm::options& library) {
  if (options.async_em_2013) return;
  const bool batch = library.algorithm == gmm::algorithm::batch;
  const std::string algorithm = word_for(algorithm_choices(), library.algorithm);
  if (!batch && library.acceleration != gmm::acceleration::none) {
    throw bad_argument(fmt::format("--accelerate {} needs --algorithm batch; got {}",
                                   word_for(acceleration_choices(), library.acceleration), algorithm));
  }
  if (options.chunks.threshold > 0 && library.algorithm != gmm::algorithm::asynchronous) {
    throw bad_argument(fmt::format("--threshold needs --algorithm asynchronous; got {}", algorithm));
  }
  for (const auto& [name, value] :
       {std::pair("--chunk-rows", options.chunks.rows), std::pair("--superchunks", options.chunks.superchunks)}) {
    if (batch && value != 0) {
      throw bad_argument(fmt::format("{} needs an algorithm other than batch, such as --algorithm incremental", name));
    }
  }
}

}  // namespace

gmm_request library_options(const gmm_options& options, std::optional<std::size_t> components, std::size_t threads) {
  gmm_request request;
  gmm::options& library = request.library;
  library.init = chosen_init(options.fit, gmm_initialization_choices(), gmm::initialization::model);
  library.covariance_type = options.covariance.value_or(gmm::covariance_type::full);
  if (library.init == gmm::initialization::model) {
    library.start = gmm::load_model(options.fit.init);
    const gmm::model& start = library.start;
    if (components && *components != start.components) {
      throw bad_argument(
          fmt::format("--components is {}, but the model {} has {}", *components, options.fit.init, start.components));
    }
    if (options.covariance && *options.covariance != start.covariance_type) {
      throw bad_argument(fmt::format("--covariance is {}, but the model {} is {}",
                                     word_for(covariance_choices(), *options.covariance), options.fit.init,
                                     word_for(covariance_choices(), start.covariance_type)));
    }
    components = start.components;
    library.covariance_type = start.covariance_type;
  }
  if (!components) throw bad_argument("--components is missing: say how many, as in --components 3");
  library.components = *components;
  library.algorithm = options.algorithm.value_or(gmm::algorithm::batch);
  library.acceleration = options.acceleration;
  library.chunks = options.chunks;
  library.regularization = options.regularization;
  set_shared_options(library, options.fit, options.run, threads);
  check_algorithm(options, library);
  if (options.async_em_2013) {
    if (options.algorithm.value_or(gmm::algorithm::asynchronous) != gmm::algorithm::asynchronous ||
        library.acceleration != gmm::acceleration::none) {
      throw bad_argument("--async-em-2013 is asynchronous and not accelerated; leave out --algorithm and --accelerate");
    }
    gmm::set_async_em_2013(library);
  }
  return request;
}

mixture_file read_mixture(const std::string& path) { return {gmm::load_model(path)}; }

}  // namespace shoal::app
