// Options of self-organizing maps, from words to the library.
#include "som/words.hpp"

#include <utility>

#include <fmt/format.h>

#include <shoal/som/model_text.hpp>

#include "common/library_options.hpp"

namespace shoal::app {

const choices<som::lattice>& lattice_choices() {
  static const choices<som::lattice> known = {{"rectangular", som::lattice::rectangular},
                                              {"hexagonal", som::lattice::hexagonal}};
  return known;
}

const choices<som::metric>& metric_choices() {
  static const choices<som::metric> known = {{"euclidean", som::metric::euclidean},
                                             {"taxicab", som::metric::taxicab},
                                             {"cosine", som::metric::cosine},
                                             {"chebyshev", som::metric::chebyshev}};
  return known;
}

const choices<som::neighborhood>& neighborhood_choices() {
  static const choices<som::neighborhood> known = {{"gaussian", som::neighborhood::gaussian},
                                                   {"bubble", som::neighborhood::bubble},
                                                   {"mexican-hat", som::neighborhood::mexican_hat},
                                                   {"triangle", som::neighborhood::triangle}};
  return known;
}

const choices<som::decay>& decay_choices() {
  static const choices<som::decay> known = {
      {"linear", som::decay::linear}, {"exponential", som::decay::exponential}, {"asymptotic", som::decay::asymptotic}};
  return known;
}

const choices<som::training>& training_choices() {
  static const choices<som::training> known = {{"batch", som::training::batch}, {"online", som::training::online}};
  return known;
}

const choices<som::initialization>& initialization_choices() {
  using initialization = som::initialization;
  static const choices<initialization> known = {{"principal-plane", initialization::principal_plane},
                                                {"sampled-rows", initialization::sampled_rows},
                                                {"random-values", initialization::random_values}};
  return known;
}

som::range parse_range(std::string_view option, std::string_view text, double least, bool open) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    throw bad_argument(
        fmt::format("{}: '{}' is not two numbers; write the first and the last as in 10:1", option, text));
  }
  return {parse_number(option, text.substr(0, colon), least, open),
          parse_number(option, text.substr(colon + 1), least, open)};
}

void add_som_options(CLI::App& app, som_options& options) {
  options.fit.init = "principal-plane";
  som::options& map = options.map;
  const auto add_side = [&](const char* name, std::optional<std::size_t>& side, const char* help) {
    add_option(app, name, "N", help, "", [&side, name](const std::string& text) { side = parse_count(name, text, 1); });
  };
  add_side("--width", options.width, "Units in a row of the map; not needed when --init is a file");
  add_side("--height", options.height, "Rows of the map; not needed when --init is a file");
  add_data_options(app, options.data);
  add_choice(app, "--lattice", options.lattice, lattice_choices(), "How the units lie", "rectangular");
  add_flag(app, "--toroidal", options.toroidal,
           "A map without border: the last row lies next to the first, and so do the columns");
  add_choice(app, "--metric", options.metric, metric_choices(), "Distance between rows and units", "euclidean");
  add_choice(app, "--neighborhood", map.neighborhood, neighborhood_choices(),
             "How much units around the best-matching one take part", "gaussian");
  add_number(app, "--cutoff", map.cutoff, "Units farther than X radii take no part; 0: no cut-off", 0);
  add_option(app, "--radius", "FIRST:LAST", "Radius of the neighbourhood in units of the lattice",
             "half the smaller side to 1",
             [&map](const std::string& text) { map.radius = parse_range("--radius", text, 0, false); });
  add_choice(app, "--decay", map.radius_decay, decay_choices(), "Way of the radius from first to last",
             word_for(decay_choices(), map.radius_decay));
  add_choice(app, "--training", map.training, training_choices(),
             "An epoch as one step, or a step for each row, which runs on one thread", "batch");
  add_option(app, "--epochs", "N", "Passes over the rows", std::to_string(map.epochs),
             [&map](const std::string& text) { map.epochs = parse_count("--epochs", text, 1); });
  add_option(app, "--rate", "FIRST:LAST", "With --training online: share of the way to a row, above 0 and at most 1",
             fmt::format("{}:{}", map.rate.first, map.rate.last),
             [&options](const std::string& text) { options.rate = parse_range("--rate", text, 0, true); });
  add_choice(app, "--rate-decay", options.rate_decay, decay_choices(), "With --training online: way of the rate",
             word_for(decay_choices(), map.rate_decay));
  add_init_option(app, options.fit, words_of(initialization_choices()));
  add_result_options(app, options.fit);
  add_device_options(app, options.run);
  add_run_options(app, options.run);
}

namespace {

// What the words and the start say of the map's shape. The start decides where words are silent, and may not be
// contradicted.
void settle_shape(const som_options& options, const model_file<som::model>* start, som::options& library) {
  if (start == nullptr) {
    if (!options.width) throw bad_argument("--width is missing: say how many units a row has, as in --width 20");
    if (!options.height) throw bad_argument("--height is missing: say how many rows the map has, as in --height 15");
    library.width = *options.width;
    library.height = *options.height;
    library.lattice = options.lattice.value_or(som::lattice::rectangular);
    library.toroidal = options.toroidal;
    library.metric = options.metric.value_or(som::metric::euclidean);
    return;
  }
  const som::model& model = start->model;
  const auto refuse = [&](const char* option, const std::string& asked, const std::string& there) {
    throw bad_argument(
        fmt::format("{} is {}, but that of the map in {} is {}", option, asked, options.fit.init, there));
  };
  if (options.width.value_or(model.width) != model.width) {
    refuse("--width", std::to_string(*options.width), std::to_string(model.width));
  }
  if (options.height.value_or(model.height) != model.height) {
    refuse("--height", std::to_string(*options.height), std::to_string(model.height));
  }
  if (options.lattice.value_or(model.lattice) != model.lattice) {
    refuse("--lattice", word_for(lattice_choices(), *options.lattice), word_for(lattice_choices(), model.lattice));
  }
  if (options.metric.value_or(model.metric) != model.metric) {
    refuse("--metric", word_for(metric_choices(), *options.metric), word_for(metric_choices(), model.metric));
  }
  if (options.toroidal && !model.toroidal) {
    throw bad_argument(
        fmt::format("--toroidal needs a map without border, and the map in {} has one", options.fit.init));
  }
  library.width = model.width;
  library.height = model.height;
  library.lattice = model.lattice;
  library.toroidal = model.toroidal;
  library.metric = model.metric;
}

}  // namespace

som_request library_options(const som_options& options, std::size_t threads) {
  som_request request;
  som::options& library = request.library;
  library = options.map;
  library.init = chosen_init(options.fit, initialization_choices(), som::initialization::codebook);
  if (library.init == som::initialization::codebook)
    request.start = read_model_file(options.fit.init, som::parse_model);
  settle_shape(options, request.start ? &*request.start : nullptr, library);
  if (library.training == som::training::batch) {
    for (const auto& [given, option] :
         {std::pair(options.rate.has_value(), "--rate"), std::pair(options.rate_decay.has_value(), "--rate-decay")}) {
      if (given) throw bad_argument(fmt::format("{}: batch training has no rate; add --training online", option));
    }
  }
  library.rate = options.rate.value_or(library.rate);
  library.rate_decay = options.rate_decay.value_or(library.rate_decay);
  set_shared_options(library, options.fit, options.run, threads);
  return request;
}

std::string shape_words(const som::model& model) {
  return fmt::format("{} × {} unit{}, {}{}", model.width, model.height, model.units() == 1 ? "" : "s",
                     word_for(lattice_choices(), model.lattice), model.toroidal ? ", toroidal" : "");
}

}  // namespace shoal::app
